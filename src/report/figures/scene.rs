//! A drawing as plain marks in page coordinates, before any file format.
//!
//! Figures are laid out once into a [`Scene`]; `paint.rs` turns the same marks into SVG and
//! PNG. One unit is one CSS pixel, y grows downward, text is placed by its baseline.

/// An opaque or translucent color.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ink {
    pub(super) rgb: (u8, u8, u8),
    pub(super) alpha: f64,
}

impl Ink {
    /// Returns an opaque color.
    pub(super) const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { rgb: (red, green, blue), alpha: 1.0 }
    }

    /// Returns the opaque color that this one would give on white at the given strength.
    pub(super) fn tint(self, strength: f64) -> Self {
        let fade = |part: u8| (255.0 - (255.0 - f64::from(part)) * strength).round() as u8;
        let (red, green, blue) = self.rgb;
        Self::new(fade(red), fade(green), fade(blue))
    }
}

/// Colors that stay apart under all common color-vision deficiencies (Okabe and Ito 2008),
/// without the yellow, which is too faint on white.
pub(super) const PALETTE: [Ink; 6] = [
    Ink::new(0, 114, 178),
    Ink::new(213, 94, 0),
    Ink::new(0, 158, 115),
    Ink::new(204, 121, 167),
    Ink::new(86, 180, 233),
    Ink::new(230, 159, 0),
];

/// Text and data drawn on top of bars.
pub(super) const BLACK: Ink = Ink::new(26, 26, 26);
/// Secondary text and axes.
pub(super) const GRAY: Ink = Ink::new(89, 89, 89);
/// Grid lines.
pub(super) const FAINT: Ink = Ink::new(228, 228, 228);

/// Which end of a text stands at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Start,
    Middle,
    End,
}

/// Direction a text runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Left to right.
    Level,
    /// Bottom to top.
    Upward,
}

/// One line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) content: String,
    /// Position of the aligned end on the baseline.
    pub(super) at: (f64, f64),
    /// The em.
    pub(super) size: f64,
    pub(super) align: Align,
    pub(super) turn: Turn,
    pub(super) ink: Ink,
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    /// A filled rectangle; straight rules are thin rectangles, which keeps them crisp.
    Rect { from: (f64, f64), to: (f64, f64), ink: Ink },
    /// A line through points.
    Path { points: Vec<(f64, f64)>, width: f64, ink: Ink },
    /// A line through points with round corners, for data that go up and down sharply.
    Curve { points: Vec<(f64, f64)>, width: f64, ink: Ink },
    /// The area between two lines whose points have the same places from left to right.
    Band { upper: Vec<(f64, f64)>, lower: Vec<(f64, f64)>, ink: Ink },
    /// A filled disc.
    Dot { at: (f64, f64), radius: f64, ink: Ink },
    /// A text.
    Text(Text),
    /// A picture; in an SVG it lies on top of all other marks.
    Picture(Picture),
}

/// Pixels in a frame, enlarged without smoothing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picture {
    pub(super) from: (f64, f64),
    pub(super) to: (f64, f64),
    /// Pixels in a row.
    pub(super) columns: usize,
    /// Red, green and blue of each pixel, row by row.
    pub(super) rgb: Vec<u8>,
}

/// Marks on a white page, drawn in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) marks: Vec<Mark>,
}

impl Scene {
    /// Adds a horizontal rule centered on `y`.
    pub(super) fn rule(&mut self, x: (f64, f64), y: f64, width: f64, ink: Ink) {
        let half = width / 2.0;
        self.marks.push(Mark::Rect { from: (x.0, y - half), to: (x.1, y + half), ink });
    }

    /// Adds a vertical rule centered on `x`.
    pub(super) fn post(&mut self, x: f64, y: (f64, f64), width: f64, ink: Ink) {
        let half = width / 2.0;
        self.marks.push(Mark::Rect { from: (x - half, y.0), to: (x + half, y.1), ink });
    }

    /// Adds a dashed horizontal rule, ending with whatever part of a dash fits.
    pub(super) fn dashes(&mut self, x: (f64, f64), y: f64, width: f64, ink: Ink) {
        const DASH: f64 = 5.0;
        const PERIOD: f64 = 8.0;
        let mut start = x.0;
        while start < x.1 {
            self.rule((start, (start + DASH).min(x.1)), y, width, ink);
            start += PERIOD;
        }
    }

    /// Adds a level text.
    pub(super) fn text(
        &mut self,
        content: &str,
        at: (f64, f64),
        size: f64,
        align: Align,
        ink: Ink,
    ) {
        let content = content.to_owned();
        self.marks.push(Mark::Text(Text { content, at, size, align, turn: Turn::Level, ink }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_never_pass_the_end() {
        let mut scene = Scene { width: 20.0, height: 1.0, marks: Vec::new() };
        scene.dashes((0.0, 18.0), 0.5, 1.0, BLACK);
        let ends: Vec<f64> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Rect { to, .. } => Some(to.0),
                _ => None,
            })
            .collect();
        assert_eq!(ends, [5.0, 13.0, 18.0]);
    }

    #[test]
    fn a_tint_of_full_strength_is_the_color_and_of_none_is_white() {
        assert_eq!(PALETTE[0].tint(1.0), PALETTE[0]);
        assert_eq!(PALETTE[0].tint(0.0).rgb, (255, 255, 255));
    }
}
