//! Lays variance curves out: lines through shares or running sums, thresholds and counts.
//!
//! A series has the same color in every panel, and all panels have the same axes.

use crate::report::figures::Scale;
use crate::report::figures::chart::{Across, Chart, Frame, Panel};
use crate::report::figures::curve_legend::Pen;
use crate::report::figures::key::{Symbol, ring};
use crate::report::figures::scene::{GRAY, Mark, Scene};
use crate::report::figures::share_axis::percent;
use crate::report::figures::typeface::Typeface;
use crate::report::figures::value_axis::ValueAxis;
use crate::report::figures::variance_curves::{Show, VarianceCurve, VarianceCurves, VariancePanel};
use crate::report::figures::variance_spectrum::Coordinate;

/// Shares below this are not told apart on a logarithmic axis.
const LOG_FLOOR: f64 = 1e-6;
const DOT: f64 = 2.4;

impl VarianceCurves {
    fn value(&self, coordinate: &Coordinate) -> f64 {
        match self.show {
            Show::Shares => 100.0 * coordinate.share,
            Show::Cumulative => 100.0 * coordinate.cumulative,
        }
    }

    fn coordinates(&self) -> impl Iterator<Item = &Coordinate> {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        curves.flat_map(|curve| &curve.coordinates)
    }

    fn up(&self) -> ValueAxis {
        let shown: Vec<f64> = self.coordinates().map(|shown| self.value(shown)).collect();
        let highest = shown.iter().copied().fold(0.0, f64::max);
        match (self.scale, self.show) {
            (Scale::Linear, Show::Shares) => ValueAxis::fitted(Scale::Linear, 0.0, highest),
            (Scale::Linear, Show::Cumulative) => ValueAxis::fitted(Scale::Linear, 0.0, 100.0),
            (Scale::Log, _) => {
                let above = shown.into_iter().filter(|share| *share > 100.0 * LOG_FLOOR);
                let lowest = above.fold(highest, f64::min);
                ValueAxis::fitted(Scale::Log, lowest, highest)
            }
        }
    }
}

/// Draws all panels and the key.
pub(super) fn draw(figure: &VarianceCurves, typeface: &Typeface) -> Scene {
    let all = figure.panels.iter().flat_map(|panel| &panel.curves);
    let longest = all.map(|curve| curve.coordinates.len()).max().unwrap_or_default().max(1);
    let panel = |panel: &VariancePanel| Panel {
        title: panel.title.clone(),
        notes: notes(figure, panel),
        across: Across::Counted(1, longest),
        up: figure.up(),
    };
    let panels: Vec<Panel> = figure.panels.iter().map(panel).collect();
    let chart = Chart {
        panels: &panels,
        columns: figure.columns,
        across_title: "Latent coordinate",
        up_title: match figure.show {
            Show::Shares => "Share of variance (%)",
            Show::Cumulative => "Cumulative variance (%)",
        },
        aspect: 0.7,
        key: key(figure),
    };
    chart.draw(typeface, |scene, index, frame| {
        let plot = Plot { figure, panel: &panels[index], frame };
        if figure.show == Show::Cumulative {
            for threshold in &figure.thresholds {
                let (_, y) = plot.at(1.0, 100.0 * threshold);
                scene.dashes((frame.left, frame.right()), y, 1.0, GRAY);
            }
        }
        // The first series lies on top: it is what a figure is about.
        for (series, curve) in figure.panels[index].curves.iter().enumerate().rev() {
            plot.draw(scene, curve, Pen::of(series));
        }
    })
}

/// Returns how many coordinates reach each threshold, by series.
fn notes(figure: &VarianceCurves, panel: &VariancePanel) -> Vec<Vec<String>> {
    let note = |(at, threshold): (usize, &f64)| {
        let known = panel.curves.iter().filter_map(|curve| Some((curve, curve.needed.get(at)?)));
        let counts: Vec<String> =
            known.map(|(curve, needed)| format!("{} {}", curve.title, needed.text())).collect();
        let mut phrases = counts.into_iter();
        let first = phrases.next().unwrap_or_default();
        let lead = format!("{} % in: {first}", percent(*threshold));
        std::iter::once(lead).chain(phrases).collect()
    };
    figure.thresholds.iter().enumerate().map(note).collect()
}

fn key(figure: &VarianceCurves) -> Vec<(Symbol, String)> {
    let curves = figure.panels.first().map_or(&[][..], |panel| &panel.curves);
    let mut entries: Vec<(Symbol, String)> = curves
        .iter()
        .enumerate()
        .map(|(index, curve)| (Symbol::Line(Pen::of(index)), curve.title.clone()))
        .collect();
    match figure.show {
        Show::Cumulative => {
            let thresholds: Vec<String> =
                figure.thresholds.iter().map(|share| format!("{} %", percent(*share))).collect();
            entries.push((Symbol::Dashes, thresholds.join(", ")));
            entries.push((Symbol::Ring, "coordinates needed".to_owned()));
        }
        Show::Shares if figure.coordinates().any(|c| c.share_std.is_some()) => {
            entries.push((Symbol::Area(GRAY.tint(0.25)), "± 1 std".to_owned()));
        }
        Show::Shares => {}
    }
    entries
}

struct Plot<'a> {
    figure: &'a VarianceCurves,
    panel: &'a Panel,
    frame: Frame,
}

impl Plot<'_> {
    fn at(&self, coordinate: f64, percents: f64) -> (f64, f64) {
        self.frame.at(self.panel.across.place(coordinate), self.panel.up.height(percents))
    }

    fn draw(&self, scene: &mut Scene, curve: &VarianceCurve, pen: Pen) {
        let numbered = || curve.coordinates.iter().enumerate();
        let points: Vec<(f64, f64)> =
            numbered().map(|(k, c)| self.at((k + 1) as f64, self.figure.value(c))).collect();
        let has_band = curve.coordinates.iter().any(|c| c.share_std.is_some());
        if self.figure.show == Show::Shares && has_band && points.len() > 1 {
            let edge = |sign: f64| {
                let value = |c: &Coordinate| 100.0 * (c.share + sign * c.share_std.unwrap_or(0.0));
                numbered().map(|(k, c)| self.at((k + 1) as f64, value(c))).collect()
            };
            scene.marks.push(Mark::Band { upper: edge(1.0), lower: edge(-1.0), ink: pen.band() });
        }
        let room = self.frame.width / points.len().max(1) as f64;
        let radius = (room * 0.3).clamp(1.0, DOT);
        for at in &points {
            scene.marks.push(Mark::Dot { at: *at, radius, ink: pen.ink });
        }
        pen.draw(scene, points);
        if self.figure.show == Show::Cumulative {
            for (threshold, needed) in self.figure.thresholds.iter().zip(&curve.needed) {
                ring(scene, self.at(needed.mean, 100.0 * threshold), pen.ink);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Record;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;
    use crate::report::figures::variance_curves::tests::{run, runs, spec};

    #[test]
    fn the_running_sum_has_dashed_thresholds_and_marked_counts() {
        let svg = |settings: &str| {
            Figure::VarianceCurves(spec(settings).build(&runs()).unwrap()).svg().unwrap()
        };
        let cumulative = svg("show: Cumulative, thresholds: [0.9]");
        for text in
            ["Cumulative variance (%)", "90 % in: 3 2, 4 2", "coordinates needed", "sprites"]
        {
            assert!(cumulative.contains(text), "{text}");
        }
        assert!(svg("").contains("Share of variance (%)"));
        let circles = |svg: &str| svg.matches("<circle ").count();
        // Two discs for each of three counts and for the key.
        assert_eq!(circles(&cumulative) - circles(&svg("thresholds: [0.9]")), 2 * 3 + 2);
    }

    #[test]
    fn twelve_series_of_sixty_four_coordinates_find_their_place() {
        let typeface = Typeface::embedded().unwrap();
        let variances: Vec<f64> = (0..64).map(|k| 0.8_f64.powi(k)).collect();
        let named = |index| format!("a model with a long name {index}");
        let runs: Vec<Record> = (0..12).map(|at| run("s", &named(at), &variances)).collect();
        for show in ["Shares, scale: Log", "Cumulative"] {
            let figure = spec(&format!("show: {show}")).build(&runs).unwrap();
            assert_inside(&draw(&figure, &typeface));
        }
    }
}
