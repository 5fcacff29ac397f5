//! What tells series and classes of points apart: colors, dashes, markers, and a ramp for numbers.
//!
//! Ordered numbers are told apart by a ramp from dark violet to green, which also grows lighter
//! steadily, so that it reads without color; it ends before the yellow that is too faint on white.

use crate::report::figures::drawing::{Color, Drawing, Mark, PALETTE};

const LINE_WIDTH: f64 = 1.5;
const BAND_STRENGTH: f64 = 0.2;
/// Lengths of dash and gap, once all colors are used.
const DASHES: [(f64, f64); 2] = [(6.0, 3.0), (1.5, 2.5)];

/// What the line of a series is drawn with.
#[derive(Clone, Copy)]
pub(crate) struct LineStyle {
    pub(crate) color: Color,
    dashes: Option<(f64, f64)>,
}

impl LineStyle {
    /// Returns the style of the series with this index.
    pub(crate) fn of(index: usize) -> Self {
        let round = index / PALETTE.len();
        let dashes = round.checked_sub(1).map(|round| DASHES[round % DASHES.len()]);
        Self { color: PALETTE[index % PALETTE.len()], dashes }
    }

    /// Returns the color of a band, through which lines and other bands can be seen.
    pub(crate) const fn band(self) -> Color {
        Color { alpha: BAND_STRENGTH, ..self.color }
    }

    /// Draws a line.
    pub(crate) fn draw(self, drawing: &mut Drawing, points: Vec<(f64, f64)>) {
        let parts = match self.dashes {
            None => vec![points],
            Some((dash, gap)) => dashed(&points, dash, gap),
        };
        for points in parts.into_iter().filter(|points| points.len() > 1) {
            drawing.marks.push(Mark::Curve { points, width: LINE_WIDTH, color: self.color });
        }
    }
}

/// Cuts a line into dashes.
fn dashed(points: &[(f64, f64)], dash: f64, gap: f64) -> Vec<Vec<(f64, f64)>> {
    let mut parts = vec![points.first().copied().into_iter().collect::<Vec<_>>()];
    let (mut is_drawn, mut left) = (true, dash);
    for pair in points.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let length = (to_x - x).hypot(to_y - y);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = (x + (to_x - x) * done / length, y + (to_y - y) * done / length);
            match parts.last_mut() {
                Some(part) if is_drawn => part.push(at),
                _ => parts.push(vec![at]),
            }
            is_drawn = !is_drawn;
            left = if is_drawn { dash } else { gap };
        }
        left -= length - done;
        if let Some(part) = parts.last_mut().filter(|_| is_drawn) {
            part.push((to_x, to_y));
        }
    }
    parts
}

/// Anchors of the ramp, at equal distances.
const RAMP: [Color; 4] = [
    Color::new(68, 1, 84),
    Color::new(59, 82, 139),
    Color::new(33, 145, 140),
    Color::new(94, 201, 98),
];

/// Returns the color of a number between 0 and 1.
pub(crate) fn ramp(share: f64) -> Color {
    let place = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let index = (place as usize).min(RAMP.len() - 2);
    let (from, to, weight) = (RAMP[index].rgb, RAMP[index + 1].rgb, place - index as f64);
    let mix = |from: u8, to: u8| {
        (f64::from(from) * (1.0 - weight) + f64::from(to) * weight).round() as u8
    };
    Color::new(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// The mark of a class of points: eight colors, then the same as rings, then as squares.
#[derive(Clone, Copy)]
pub(crate) struct Marker {
    index: usize,
}

impl Marker {
    /// Returns the marker of the class with this index.
    pub(crate) const fn of(index: usize) -> Self {
        Self { index }
    }

    /// Draws one point.
    pub(crate) fn draw(self, drawing: &mut Drawing, at: (f64, f64), radius: f64) {
        let color = PALETTE[self.index % PALETTE.len()];
        match self.index / PALETTE.len() % 3 {
            0 => drawing.marks.push(Mark::Dot { at, radius, color }),
            1 => {
                drawing.marks.push(Mark::Dot { at, radius, color });
                let white = Color::new(255, 255, 255);
                drawing.marks.push(Mark::Dot { at, radius: radius * 0.5, color: white });
            }
            _ => {
                let (from, to) = ((at.0 - radius, at.1 - radius), (at.0 + radius, at.1 + radius));
                drawing.marks.push(Mark::Rect { from, to, color });
            }
        }
    }
}

/// Draws a ring, for a number that is marked on a line.
pub(crate) fn ring(drawing: &mut Drawing, at: (f64, f64), color: Color) {
    drawing.marks.push(Mark::Dot { at, radius: 4.4, color });
    drawing.marks.push(Mark::Dot { at, radius: 2.8, color: Color::new(255, 255, 255) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_around_corners_and_keep_their_length() {
        let corner = [(0.0, 0.0), (4.0, 0.0), (4.0, 10.0)];
        assert_eq!(
            dashed(&corner, 6.0, 3.0),
            [vec![(0.0, 0.0), (4.0, 0.0), (4.0, 2.0)], vec![(4.0, 5.0), (4.0, 10.0)]]
        );
    }

    #[test]
    fn past_the_last_color_lines_are_dashed() {
        let styles: Vec<LineStyle> = (0..17).map(LineStyle::of).collect();
        assert_eq!(styles[0].color, styles[8].color);
        assert_eq!(styles[7].dashes, None);
        assert_ne!(styles[8].dashes, styles[16].dashes);
    }

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
}
