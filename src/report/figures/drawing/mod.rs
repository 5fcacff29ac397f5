//! A drawing as plain marks in page coordinates, before any file format.
//!
//! Figures are laid out once into a [`Drawing`]; `render.rs` turns the same marks into SVG and
//! PNG. One unit is one CSS pixel, y grows downward, text is placed by its baseline.

pub(crate) mod render;
pub(crate) mod typeface;

/// An opaque or translucent color.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Color {
    pub(crate) rgb: (u8, u8, u8),
    pub(crate) alpha: f64,
}

impl Color {
    /// Returns an opaque color.
    pub(crate) const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { rgb: (red, green, blue), alpha: 1.0 }
    }

    /// Returns the opaque color that this one would give on white at the given strength.
    pub(crate) fn tint(self, strength: f64) -> Self {
        let fade = |part: u8| (255.0 - (255.0 - f64::from(part)) * strength).round() as u8;
        let (red, green, blue) = self.rgb;
        Self::new(fade(red), fade(green), fade(blue))
    }
}

/// Colors that stay apart under all common color-vision deficiencies (Okabe and Ito 2008),
/// without the yellow, which is too faint on white; a dark violet and a gray follow them.
pub(crate) const PALETTE: [Color; 8] = [
    Color::new(0, 114, 178),
    Color::new(213, 94, 0),
    Color::new(0, 158, 115),
    Color::new(204, 121, 167),
    Color::new(86, 180, 233),
    Color::new(230, 159, 0),
    Color::new(106, 76, 147),
    Color::new(128, 128, 128),
];

/// Text and data drawn on top of bars.
pub(crate) const BLACK: Color = Color::new(26, 26, 26);
/// Secondary text and axes.
pub(crate) const GRAY: Color = Color::new(89, 89, 89);
/// Grid lines.
pub(crate) const FAINT: Color = Color::new(228, 228, 228);

/// Which end of a text stands at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Start,
    Middle,
    End,
}

/// Direction a text runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Left to right.
    Level,
    /// Bottom to top.
    Upward,
}

/// One line of text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub(crate) content: String,
    /// Position of the aligned end on the baseline.
    pub(crate) at: (f64, f64),
    /// The em.
    pub(crate) size: f64,
    pub(crate) align: Align,
    pub(crate) direction: Direction,
    pub(crate) color: Color,
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    /// A filled rectangle; straight rules are thin rectangles, which keeps them crisp.
    Rect { from: (f64, f64), to: (f64, f64), color: Color },
    /// A line through points.
    Path { points: Vec<(f64, f64)>, width: f64, color: Color },
    /// A line through points with round corners, for data that go up and down sharply.
    Curve { points: Vec<(f64, f64)>, width: f64, color: Color },
    /// The area between two lines whose points have the same places from left to right.
    Band { upper: Vec<(f64, f64)>, lower: Vec<(f64, f64)>, color: Color },
    /// A filled disc.
    Dot { at: (f64, f64), radius: f64, color: Color },
    /// A text.
    Text(Text),
    /// A picture; in an SVG it lies on top of all other marks.
    Bitmap(Bitmap),
}

/// Pixels in a frame, enlarged without smoothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bitmap {
    pub(crate) from: (f64, f64),
    pub(crate) to: (f64, f64),
    /// Pixels in a row.
    pub(crate) columns: usize,
    /// Red, green and blue of each pixel, row by row.
    pub(crate) rgb: Vec<u8>,
}

/// Marks on a white page, drawn in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) marks: Vec<Mark>,
}

impl Drawing {
    /// Adds a horizontal rule centered on `y`.
    pub(crate) fn horizontal_rule(&mut self, x: (f64, f64), y: f64, width: f64, color: Color) {
        let half = width / 2.0;
        self.marks.push(Mark::Rect { from: (x.0, y - half), to: (x.1, y + half), color });
    }

    /// Adds a vertical rule centered on `x`.
    pub(crate) fn vertical_rule(&mut self, x: f64, y: (f64, f64), width: f64, color: Color) {
        let half = width / 2.0;
        self.marks.push(Mark::Rect { from: (x - half, y.0), to: (x + half, y.1), color });
    }

    /// Adds a dashed horizontal rule, ending with whatever part of a dash fits.
    pub(crate) fn dashed_rule(&mut self, x: (f64, f64), y: f64, width: f64, color: Color) {
        const DASH: f64 = 5.0;
        const PERIOD: f64 = 8.0;
        let mut start = x.0;
        while start < x.1 {
            self.horizontal_rule((start, (start + DASH).min(x.1)), y, width, color);
            start += PERIOD;
        }
    }

    /// Adds a level text.
    pub(crate) fn text(
        &mut self,
        content: &str,
        at: (f64, f64),
        size: f64,
        align: Align,
        color: Color,
    ) {
        let content = content.to_owned();
        self.marks.push(Mark::Text(Text {
            content,
            at,
            size,
            align,
            direction: Direction::Level,
            color,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_never_pass_the_end() {
        let mut drawing = Drawing { width: 20.0, height: 1.0, marks: Vec::new() };
        drawing.dashed_rule((0.0, 18.0), 0.5, 1.0, BLACK);
        let ends: Vec<f64> = drawing
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
