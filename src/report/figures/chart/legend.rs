//! The legend below panels: what each line, mark and color stands for.

use crate::report::figures::chart::line_style::{LineStyle, Marker, ramp, ring};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Align, BLACK, Color, Drawing, GRAY, Mark};

/// Em of tick labels, notes and legends.
pub(crate) const LABEL_SIZE: f64 = 11.5;
/// Radius of the dot of one run.
pub(crate) const RUN_DOT: f64 = 1.25;
/// Largest radius of a dot on the running sum.
pub(crate) const SUM_DOT: f64 = 2.75;

const SYMBOL_GAP: f64 = 6.0;
/// From the upper edge of a line of entries to its baseline.
const BASELINE: f64 = 13.0;
/// Rectangles that a ramp is drawn with.
const RAMP_STEPS: usize = 26;

/// What stands before the text of an entry.
#[derive(Clone, Copy)]
pub(crate) enum Symbol {
    /// A line with a dot.
    Line(LineStyle),
    /// A line, on its band if there are bands.
    Curve { style: LineStyle, has_band: bool },
    /// A point of a class.
    Point(Marker),
    /// An area.
    Area(Color),
    /// A bar.
    Bar(Color),
    /// The running sum of bars.
    RunningSum,
    /// A dashed rule of this length.
    Dashes(f64),
    /// A larger dot.
    Ring,
    /// One standard deviation to the left and right.
    LevelErrorBar,
    /// One standard deviation up and down.
    ErrorBar,
    /// A dot for a run.
    RunDot,
    /// All colors of the ramp.
    Ramp,
    /// Nothing: the entry is an explanation.
    Nothing,
}

impl Symbol {
    const fn width(self) -> f64 {
        match self {
            Self::Line(_) => 22.0,
            Self::Curve { .. } => 24.0,
            Self::Point(_) | Self::Ring => 8.0,
            Self::Area(_) | Self::LevelErrorBar => 12.0,
            Self::Bar(_) => 10.0,
            Self::RunningSum => 21.0,
            Self::Dashes(length) => length,
            Self::ErrorBar => 7.0,
            Self::RunDot => 2.0 * RUN_DOT,
            Self::Ramp => 78.0,
            Self::Nothing => -SYMBOL_GAP,
        }
    }

    fn draw(self, drawing: &mut Drawing, from: f64, middle: f64) {
        let (to, center) = (from + self.width(), from + self.width() / 2.0);
        let area = ((from, middle - 5.0), (to, middle + 5.0));
        let dot = |radius: f64, color: Color| Mark::Dot { at: (center, middle), radius, color };
        match self {
            Self::Line(style) => {
                style.draw(drawing, vec![(from, middle), (to, middle)]);
                drawing.marks.push(dot(2.4, style.color));
            }
            Self::Curve { style, has_band } => {
                if has_band {
                    let color = style.band();
                    drawing.marks.push(Mark::Rect { from: area.0, to: area.1, color });
                }
                style.draw(drawing, vec![(from, middle), (to, middle)]);
            }
            Self::Point(marker) => marker.draw(drawing, (center, middle), 3.4),
            Self::Area(color) | Self::Bar(color) => {
                drawing.marks.push(Mark::Rect { from: area.0, to: area.1, color });
            }
            Self::RunningSum => {
                drawing.horizontal_rule((from, to), middle, 1.5, BLACK);
                drawing.marks.push(dot(SUM_DOT, BLACK));
            }
            Self::Dashes(_) => drawing.dashed_rule((from, to), middle, 1.0, GRAY),
            Self::Ring => ring(drawing, (center, middle), GRAY),
            Self::LevelErrorBar => {
                drawing.horizontal_rule((from, to), middle, 1.0, BLACK);
                drawing.vertical_rule(from, (middle - 3.5, middle + 3.5), 1.0, BLACK);
                drawing.vertical_rule(to, (middle - 3.5, middle + 3.5), 1.0, BLACK);
            }
            Self::ErrorBar => {
                drawing.vertical_rule(center, (middle - 6.0, middle + 6.0), 1.0, BLACK);
                for y in [middle - 6.0, middle + 6.0] {
                    drawing.horizontal_rule((from, to), y, 1.0, BLACK);
                }
            }
            Self::RunDot => drawing.marks.push(dot(RUN_DOT, BLACK)),
            Self::Ramp => {
                let step = self.width() / RAMP_STEPS as f64;
                for place in 0..RAMP_STEPS {
                    let left = from + place as f64 * step;
                    let color = ramp(place as f64 / (RAMP_STEPS - 1) as f64);
                    let (from, to) = ((left, middle - 5.0), (left + step, middle + 5.0));
                    drawing.marks.push(Mark::Rect { from, to, color });
                }
            }
            Self::Nothing => {}
        }
    }
}

/// Distances between the entries of a legend.
#[derive(Clone, Copy)]
pub(crate) struct LegendSpacing {
    pub(crate) line_height: f64,
    pub(crate) entry_gap: f64,
}

/// The entries with their places, seen from the left upper corner.
pub(crate) struct Legend {
    entries: Vec<(Symbol, String, (f64, f64))>,
    lines: usize,
    line_height: f64,
}

impl Legend {
    /// Places entries in lines of at most this width.
    pub(crate) fn wrapped(
        entries: Vec<(Symbol, String)>,
        spacing: LegendSpacing,
        typeface: &Typeface,
        room: f64,
    ) -> Self {
        let LegendSpacing { line_height, entry_gap } = spacing;
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
            placed.push((symbol, text, (x, (lines - 1) as f64 * line_height)));
            x += width + entry_gap;
        }
        Self { entries: placed, lines, line_height }
    }

    /// Places entries in a single line that begins at `left`; returns it with its length.
    pub(crate) fn line(
        entries: Vec<(Symbol, String)>,
        spacing: LegendSpacing,
        typeface: &Typeface,
        left: f64,
    ) -> (Self, f64) {
        let width = |(symbol, text): &(Symbol, String)| {
            symbol.width() + SYMBOL_GAP + typeface.width(text, LABEL_SIZE)
        };
        let gaps = spacing.entry_gap * entries.len().saturating_sub(1) as f64;
        let length = entries.iter().map(width).sum::<f64>() + gaps;
        let mut x = left;
        let mut placed = Vec::new();
        for entry in entries {
            let at = (x, 0.0);
            x += width(&entry) + spacing.entry_gap;
            placed.push((entry.0, entry.1, at));
        }
        (Self { entries: placed, lines: 1, line_height: spacing.line_height }, length)
    }

    /// Returns the height of all lines.
    pub(crate) fn height(&self) -> f64 {
        self.lines as f64 * self.line_height
    }

    /// Draws the entries.
    pub(crate) fn draw(&self, drawing: &mut Drawing, (left, top): (f64, f64)) {
        for (symbol, text, (x, y)) in &self.entries {
            let (from, baseline) = (left + x, top + y + BASELINE);
            symbol.draw(drawing, from, baseline - 4.0);
            let start = from + symbol.width() + SYMBOL_GAP;
            drawing.text(text, (start, baseline), LABEL_SIZE, Align::Start, GRAY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_do_not_fit_go_into_the_next_line() {
        let typeface = Typeface::embedded().unwrap();
        let entries = |count| {
            let entry = |index| (Symbol::Line(LineStyle::of(index)), "a series".to_owned());
            let spacing = LegendSpacing { line_height: 18.0, entry_gap: 18.0 };
            Legend::wrapped((0..count).map(entry).collect(), spacing, &typeface, 300.0)
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
