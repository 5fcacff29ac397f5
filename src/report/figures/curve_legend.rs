//! The key below learning curves, and the pens that tell their lines apart.
//!
//! Entries are set in as many lines as they need. Lines are drawn as in the panels.

use crate::report::figures::learning_curves::{CurvePoint, LearningCurves};
use crate::report::figures::scene::{Align, GRAY, Ink, Mark, PALETTE, Scene};
use crate::report::figures::typeface::Typeface;

/// Em of tick labels and of the key.
pub(super) const LABEL_SIZE: f64 = 11.5;

const LINE_WIDTH: f64 = 1.5;
const BAND_STRENGTH: f64 = 0.2;
const LINE_HEIGHT: f64 = 19.0;
const SYMBOL: f64 = 24.0;
const SYMBOL_GAP: f64 = 6.0;
const ENTRY_GAP: f64 = 20.0;
/// Lengths of dash and gap, once all colors are used.
const DASHES: [(f64, f64); 2] = [(6.0, 3.0), (1.5, 2.5)];

/// What a series is drawn with.
#[derive(Clone, Copy)]
pub(super) struct Pen {
    pub(super) ink: Ink,
    dashes: Option<(f64, f64)>,
}

impl Pen {
    /// Returns the pen of the series with this index.
    pub(super) fn of(index: usize) -> Self {
        let round = index / PALETTE.len();
        let dashes = round.checked_sub(1).map(|round| DASHES[round % DASHES.len()]);
        Self { ink: PALETTE[index % PALETTE.len()], dashes }
    }

    /// Returns the color of a band, through which lines and other bands can be seen.
    pub(super) const fn band(self) -> Ink {
        Ink { alpha: BAND_STRENGTH, ..self.ink }
    }

    /// Draws a line.
    pub(super) fn draw(self, scene: &mut Scene, points: Vec<(f64, f64)>) {
        let parts = match self.dashes {
            None => vec![points],
            Some((dash, gap)) => dashed(&points, dash, gap),
        };
        for points in parts.into_iter().filter(|points| points.len() > 1) {
            scene.marks.push(Mark::Curve { points, width: LINE_WIDTH, ink: self.ink });
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

/// One entry: the index of a series if it has a line, its text, and its place.
struct Entry {
    series: Option<usize>,
    text: String,
    at: (f64, f64),
}

/// The entries with their places.
pub(super) struct CurveLegend {
    entries: Vec<Entry>,
    lines: usize,
    has_bands: bool,
}

impl CurveLegend {
    /// Places the entries that this figure needs in lines of at most this width.
    pub(super) fn of(figure: &LearningCurves, typeface: &Typeface, room: f64) -> Self {
        let curves = figure.panels.first().map_or(&[][..], |panel| &panel.curves);
        let all = figure.panels.iter().flat_map(|panel| &panel.curves);
        let has_bands =
            all.flat_map(|curve| &curve.points).any(|CurvePoint { runs, .. }| *runs > 1);
        let explained =
            has_bands.then(|| (None, "line: mean, band: lowest to highest run".to_owned()));
        let series =
            curves.iter().enumerate().map(|(index, curve)| (Some(index), curve.title.clone()));
        let (mut x, mut lines) = (0.0, 1);
        let mut entries = Vec::new();
        for (series, text) in series.chain(explained) {
            let symbol = if series.is_some() { SYMBOL + SYMBOL_GAP } else { 0.0 };
            let text = typeface.fitted(&text, LABEL_SIZE, room - symbol);
            let width = symbol + typeface.width(&text, LABEL_SIZE);
            if x > 0.0 && x + width > room {
                x = 0.0;
                lines += 1;
            }
            entries.push(Entry { series, text, at: (x, (lines - 1) as f64 * LINE_HEIGHT) });
            x += width + ENTRY_GAP;
        }
        Self { entries, lines, has_bands }
    }

    /// Returns the height of all lines.
    pub(super) fn height(&self) -> f64 {
        self.lines as f64 * LINE_HEIGHT
    }

    /// Draws the entries.
    pub(super) fn draw(&self, scene: &mut Scene, left: f64, top: f64) {
        for Entry { series, text, at: (x, y) } in &self.entries {
            let (from, baseline) = (left + x, top + y + 13.0);
            let mut start = from;
            if let Some(index) = series {
                let (pen, middle) = (Pen::of(*index), baseline - 4.0);
                let (to, half) = (from + SYMBOL, 5.0);
                if self.has_bands {
                    let (from, to) = ((from, middle - half), (to, middle + half));
                    scene.marks.push(Mark::Rect { from, to, ink: pen.band() });
                }
                pen.draw(scene, vec![(from, middle), (to, middle)]);
                start = to + SYMBOL_GAP;
            }
            scene.text(text, (start, baseline), LABEL_SIZE, Align::Start, GRAY);
        }
    }
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
        let pens: Vec<Pen> = (0..13).map(Pen::of).collect();
        assert_eq!(pens[0].ink, pens[6].ink);
        assert_eq!(pens[0].dashes, None);
        assert_ne!(pens[6].dashes, pens[12].dashes);
    }
}
