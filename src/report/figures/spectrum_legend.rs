//! The key below a variance spectrum: one line that names bars, line, rule and scatter.
//!
//! Symbols are drawn with the same sizes and inks as in the panels, only without the series
//! color, since each panel has its own.

use crate::report::figures::needed::Demand;
use crate::report::figures::scene::{Align, BLACK, GRAY, Ink, Mark, Scene};
use crate::report::figures::share_axis::percent;
use crate::report::figures::typeface::Typeface;
use crate::report::figures::variance_spectrum::{Scatter, Series, VarianceSpectrum};

/// Em of tick labels, summaries and the legend.
pub(super) const LABEL_SIZE: f64 = 11.5;
/// Radius of the dot of one run.
pub(super) const RUN_DOT: f64 = 1.25;
/// Largest radius of a dot on the running sum.
pub(super) const SUM_DOT: f64 = 2.75;

const SYMBOL_GAP: f64 = 6.0;
const ENTRY_GAP: f64 = 20.0;

/// Returns the strength of the color of a coordinate.
pub(super) const fn strength(demand: Demand) -> f64 {
    match demand {
        Demand::Every => 1.0,
        Demand::Some => 0.6,
        Demand::None => 0.25,
    }
}

#[derive(Clone, Copy)]
enum Symbol {
    Bar(Ink),
    Line,
    Dashes,
    ErrorBar,
    Dot,
}

impl Symbol {
    const fn width(self) -> f64 {
        match self {
            Self::Bar(_) => 10.0,
            Self::Line | Self::Dashes => 21.0,
            Self::ErrorBar => 7.0,
            Self::Dot => 2.0 * RUN_DOT,
        }
    }
}

/// The entries with their texts.
pub(super) struct Legend {
    entries: Vec<(Symbol, String, f64)>,
    /// Length of the whole line.
    pub(super) width: f64,
}

impl Legend {
    /// Collects the entries that this figure needs.
    pub(super) fn of(figure: &VarianceSpectrum, typeface: &Typeface) -> Self {
        let threshold = percent(figure.threshold);
        let bar = |demand| Symbol::Bar(GRAY.tint(strength(demand)));
        let mut entries = vec![(bar(Demand::Every), format!("needed for {threshold} %"))];
        let disagree = |series: &Series| {
            (0..series.coordinates.len()).any(|k| series.needed.demand(k) == Demand::Some)
        };
        if figure.series.iter().any(disagree) {
            entries.push((bar(Demand::Some), "in some runs".to_owned()));
        }
        entries.push((bar(Demand::None), "not needed".to_owned()));
        entries.push((Symbol::Line, "cumulative".to_owned()));
        entries.push((Symbol::Dashes, format!("{threshold} % threshold")));
        let mut coordinates = figure.series.iter().flat_map(|series| &series.coordinates);
        if coordinates.any(|coordinate| coordinate.share_std.is_some()) {
            entries.push(match figure.scatter {
                Scatter::ErrorBars => (Symbol::ErrorBar, "± 1 std".to_owned()),
                Scatter::Dots => (Symbol::Dot, "single run".to_owned()),
            });
        }
        let measured = |(symbol, text): (Symbol, String)| {
            let width = symbol.width() + SYMBOL_GAP + typeface.width(&text, LABEL_SIZE);
            (symbol, text, width)
        };
        let entries: Vec<_> = entries.into_iter().map(measured).collect();
        let gaps = ENTRY_GAP * entries.len().saturating_sub(1) as f64;
        let width = entries.iter().map(|entry| entry.2).sum::<f64>() + gaps;
        Self { entries, width }
    }

    /// Draws the line from `left`, with its texts on `baseline`.
    pub(super) fn draw(&self, scene: &mut Scene, left: f64, baseline: f64) {
        let mut x = left;
        for (symbol, text, width) in &self.entries {
            draw_symbol(scene, *symbol, x, baseline - 4.0);
            let start = x + symbol.width() + SYMBOL_GAP;
            scene.text(text, (start, baseline), LABEL_SIZE, Align::Start, GRAY);
            x += width + ENTRY_GAP;
        }
    }
}

fn draw_symbol(scene: &mut Scene, symbol: Symbol, from: f64, middle: f64) {
    let (to, center) = (from + symbol.width(), from + symbol.width() / 2.0);
    match symbol {
        Symbol::Bar(ink) => {
            let (from, to) = ((from, middle - 5.0), (to, middle + 5.0));
            scene.marks.push(Mark::Rect { from, to, ink });
        }
        Symbol::Line => {
            scene.rule((from, to), middle, 1.5, BLACK);
            scene.marks.push(Mark::Dot { at: (center, middle), radius: SUM_DOT, ink: BLACK });
        }
        Symbol::Dashes => scene.dashes((from, to), middle, 1.0, GRAY),
        Symbol::ErrorBar => {
            scene.post(center, (middle - 6.0, middle + 6.0), 1.0, BLACK);
            for y in [middle - 6.0, middle + 6.0] {
                scene.rule((from, to), y, 1.0, BLACK);
            }
        }
        Symbol::Dot => {
            scene.marks.push(Mark::Dot { at: (center, middle), radius: RUN_DOT, ink: BLACK });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Record;
    use crate::report::figures::variance_spectrum::tests::{runs, spec};

    fn texts(settings: &str, records: &[Record]) -> Vec<String> {
        let figure = spec(settings).build(records).unwrap();
        let legend = Legend::of(&figure, &Typeface::embedded().unwrap());
        legend.entries.into_iter().map(|entry| entry.1).collect()
    }

    #[test]
    fn scatter_is_explained_only_where_there_is_some() {
        let mut expected =
            vec!["needed for 99.9 %", "not needed", "cumulative", "99.9 % threshold", "± 1 std"];
        assert_eq!(texts("threshold: 0.999", &runs()), expected);
        expected.pop();
        assert_eq!(texts("threshold: 0.999", &runs()[2..]), expected);
    }

    #[test]
    fn coordinates_that_only_some_runs_need_have_an_entry_where_there_are_any() {
        let entries = texts("threshold: 0.7", &runs());
        assert_eq!(entries[..3], ["needed for 70 %", "in some runs", "not needed"]);
    }
}
