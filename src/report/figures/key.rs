//! The key below panels: what each line, mark and color stands for, in as many lines as it takes.
//!
//! Ordered numbers are told apart by a ramp from dark violet to green, which also grows lighter
//! steadily, so that it reads without color; it ends before the yellow that is too faint on white.

use crate::report::figures::curve_legend::Pen;
use crate::report::figures::scene::{Align, BLACK, GRAY, Ink, Mark, PALETTE, Scene};
use crate::report::figures::typeface::Typeface;

/// Em of tick labels, notes and the key.
pub(super) const LABEL_SIZE: f64 = 11.5;

const LINE_HEIGHT: f64 = 18.0;
const SYMBOL_GAP: f64 = 6.0;
const ENTRY_GAP: f64 = 18.0;
/// Rectangles that a ramp is drawn with.
const RAMP_STEPS: usize = 26;

/// Anchors of the ramp, at equal distances.
const RAMP: [Ink; 4] =
    [Ink::new(68, 1, 84), Ink::new(59, 82, 139), Ink::new(33, 145, 140), Ink::new(94, 201, 98)];

/// Returns the color of a number between 0 and 1.
pub(super) fn ramp(share: f64) -> Ink {
    let place = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let index = (place as usize).min(RAMP.len() - 2);
    let (from, to, way) = (RAMP[index].rgb, RAMP[index + 1].rgb, place - index as f64);
    let mix =
        |from: u8, to: u8| (f64::from(from) * (1.0 - way) + f64::from(to) * way).round() as u8;
    Ink::new(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// The mark of a class of points: six colors, then the same as rings, then as squares.
#[derive(Clone, Copy)]
pub(super) struct Marker {
    index: usize,
}

impl Marker {
    /// Returns the marker of the class with this index.
    pub(super) const fn of(index: usize) -> Self {
        Self { index }
    }

    /// Draws one point.
    pub(super) fn draw(self, scene: &mut Scene, at: (f64, f64), radius: f64) {
        let ink = PALETTE[self.index % PALETTE.len()];
        match self.index / PALETTE.len() % 3 {
            0 => scene.marks.push(Mark::Dot { at, radius, ink }),
            1 => {
                scene.marks.push(Mark::Dot { at, radius, ink });
                let white = Ink::new(255, 255, 255);
                scene.marks.push(Mark::Dot { at, radius: radius * 0.5, ink: white });
            }
            _ => {
                let (from, to) = ((at.0 - radius, at.1 - radius), (at.0 + radius, at.1 + radius));
                scene.marks.push(Mark::Rect { from, to, ink });
            }
        }
    }
}

/// What stands before the text of an entry.
#[derive(Clone, Copy)]
pub(super) enum Symbol {
    /// A line with a dot.
    Line(Pen),
    /// A point of a class.
    Point(Marker),
    /// An area.
    Area(Ink),
    /// A dashed rule.
    Dashes,
    /// A larger dot.
    Ring,
    /// One standard deviation up and down.
    ErrorBar,
    /// All colors of the ramp.
    Ramp,
    /// Nothing: the entry is an explanation.
    Nothing,
}

impl Symbol {
    const fn width(self) -> f64 {
        match self {
            Self::Line(_) | Self::Dashes => 22.0,
            Self::Point(_) | Self::Ring => 8.0,
            Self::Area(_) | Self::ErrorBar => 12.0,
            Self::Ramp => 78.0,
            Self::Nothing => -SYMBOL_GAP,
        }
    }

    fn draw(self, scene: &mut Scene, from: f64, middle: f64) {
        let (to, center) = (from + self.width(), from + self.width() / 2.0);
        match self {
            Self::Line(pen) => {
                pen.draw(scene, vec![(from, middle), (to, middle)]);
                scene.marks.push(Mark::Dot { at: (center, middle), radius: 2.4, ink: pen.ink });
            }
            Self::Point(marker) => marker.draw(scene, (center, middle), 3.4),
            Self::Area(ink) => {
                let (from, to) = ((from, middle - 5.0), (to, middle + 5.0));
                scene.marks.push(Mark::Rect { from, to, ink });
            }
            Self::Dashes => scene.dashes((from, to), middle, 1.0, GRAY),
            Self::Ring => ring(scene, (center, middle), GRAY),
            Self::ErrorBar => {
                scene.rule((from, to), middle, 1.0, BLACK);
                scene.post(from, (middle - 3.5, middle + 3.5), 1.0, BLACK);
                scene.post(to, (middle - 3.5, middle + 3.5), 1.0, BLACK);
            }
            Self::Ramp => {
                let step = self.width() / RAMP_STEPS as f64;
                for place in 0..RAMP_STEPS {
                    let left = from + place as f64 * step;
                    let ink = ramp(place as f64 / (RAMP_STEPS - 1) as f64);
                    let (from, to) = ((left, middle - 5.0), (left + step, middle + 5.0));
                    scene.marks.push(Mark::Rect { from, to, ink });
                }
            }
            Self::Nothing => {}
        }
    }
}

/// Draws a ring, for a number that is marked on a line.
pub(super) fn ring(scene: &mut Scene, at: (f64, f64), ink: Ink) {
    scene.marks.push(Mark::Dot { at, radius: 4.4, ink });
    scene.marks.push(Mark::Dot { at, radius: 2.8, ink: Ink::new(255, 255, 255) });
}

/// The entries with their places.
pub(super) struct Key {
    entries: Vec<(Symbol, String, (f64, f64))>,
    lines: usize,
}

impl Key {
    /// Places entries in lines of at most this width.
    pub(super) fn of(entries: Vec<(Symbol, String)>, typeface: &Typeface, room: f64) -> Self {
        let (mut x, mut lines) = (0.0, usize::from(!entries.is_empty()));
        let mut placed = Vec::new();
        for (symbol, text) in entries {
            let symbol_room = symbol.width() + SYMBOL_GAP;
            let text = typeface.fitted(&text, LABEL_SIZE, room - symbol_room);
            let width = symbol_room + typeface.width(&text, LABEL_SIZE);
            if x > 0.0 && x + width > room {
                x = 0.0;
                lines += 1;
            }
            placed.push((symbol, text, (x, (lines - 1) as f64 * LINE_HEIGHT)));
            x += width + ENTRY_GAP;
        }
        Self { entries: placed, lines }
    }

    /// Returns the height of all lines.
    pub(super) fn height(&self) -> f64 {
        self.lines as f64 * LINE_HEIGHT
    }

    /// Draws the entries.
    pub(super) fn draw(&self, scene: &mut Scene, (left, top): (f64, f64)) {
        for (symbol, text, (x, y)) in &self.entries {
            let (from, baseline) = (left + x, top + y + 13.0);
            symbol.draw(scene, from, baseline - 4.0);
            let start = from + symbol.width() + SYMBOL_GAP;
            scene.text(text, (start, baseline), LABEL_SIZE, Align::Start, GRAY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_grows_lighter_from_one_end_to_the_other() {
        let light = |share: f64| {
            let (red, green, blue) = ramp(share).rgb;
            0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue)
        };
        let lights: Vec<f64> = (0..=10).map(|tenth| light(f64::from(tenth) / 10.0)).collect();
        assert!(lights.windows(2).all(|pair| pair[0] < pair[1]), "{lights:?}");
        assert_eq!((ramp(-1.0), ramp(2.0)), (RAMP[0], RAMP[3]));
    }

    #[test]
    fn entries_that_do_not_fit_go_into_the_next_line() {
        let typeface = Typeface::embedded().unwrap();
        let entries = |count| {
            let entry = |index| (Symbol::Line(Pen::of(index)), "a series".to_owned());
            Key::of((0..count).map(entry).collect(), &typeface, 300.0)
        };
        assert_eq!((entries(0).lines, entries(3).lines), (0, 1));
        let many = entries(12);
        assert!(many.lines > 2);
        for (symbol, text, (x, _)) in &many.entries {
            let right = x + symbol.width() + SYMBOL_GAP + typeface.width(text, LABEL_SIZE);
            assert!(right <= 300.0, "{text} ends at {right}");
        }
    }
}
