//! Variance curves: the share of each coordinate, or the running sum, several codes in one panel.
//!
//! What: shares as in a variance spectrum (see `variance_spectrum.rs`), one line per label of one
//! axis and one panel per label of another, so that codes of different lengths compare.
//! Reference: PCAE paper, its figure of variances under different bottleneck sizes.
//! Checked against: hand-computed shares in the tests below.
//!
//! A series has the same color in every panel, and all panels have the same axes.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numerics::units::Fraction;
use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::Symbol;
use crate::report::figures::chart::line_style::{LineStyle, ring};
use crate::report::figures::chart::value_axis::{LEAST_SHARE, ValueAxis, percent};
use crate::report::figures::chart::{Chart, Layout, Panel, PlotArea};
use crate::report::figures::coordinate_counts::CoordinateCount;
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Drawing, GRAY, Mark};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FigureMistake, FinishedFigure,
};
use crate::report::figures::kinds::variance_spectrum::{Coordinate, Scatter, VarianceSpectrumSpec};
use crate::report::figures::titles::display_name;
use crate::report::figures::{FigureError, Scale};
use crate::report::records::aggregate::{AggregateError, Spread};
use crate::report::records::axis_roles::check_axes;
use crate::report::records::joined_rows::check_fields;
use crate::report::records::record::Record;
use crate::report::tables::tabulate::appearance;

/// Variance curves as declared in a pipeline.
///
/// ```ron
/// VarianceCurves(caption: "Variances under different bottlenecks", label: "Figure 1",
///                series: "latent", panels: "set", over: ["seed"], scale: Log)
/// VarianceCurves(caption: "Cumulative variance", label: "Figure 2", show: Cumulative,
///                series: "model", over: ["seed"], thresholds: [0.99, 0.999])
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VarianceCurvesSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// Name of the list of variances in the records.
    #[serde(default = "variances")]
    pub field: String,
    /// What the lines show.
    #[serde(default)]
    pub show: Show,
    /// The axis whose labels each get a line.
    pub series: String,
    /// The axis whose labels each get a panel.
    #[serde(default)]
    pub panels: Option<String>,
    /// Axes averaged over.
    #[serde(default)]
    pub over: Vec<String>,
    /// Shares of variance that count as enough; the number of coordinates that reach them is shown.
    #[serde(default = "ninety_nine_percent")]
    pub thresholds: Vec<Fraction>,
    /// Scale of the share axis.
    #[serde(default)]
    pub scale: Scale,
    /// Divisor of the standard deviation.
    #[serde(default)]
    pub spread: Spread,
    /// Panels side by side, at most three; a single one fits a column of a paper.
    #[serde(default)]
    pub columns: Option<NonZeroUsize>,
    /// Display names of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

fn variances() -> String {
    "variances".to_owned()
}

fn ninety_nine_percent() -> Vec<Fraction> {
    Fraction::new(0.99).into_iter().collect()
}

/// What the lines of variance curves show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Show {
    /// The share of each coordinate.
    #[default]
    Shares,
    /// The share of each coordinate and all before it, with the thresholds.
    Cumulative,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceCurve {
    /// What the line shows.
    pub title: String,
    /// The coordinates in their own order; none if the panel has no such series.
    pub coordinates: Vec<Coordinate>,
    /// How many leading coordinates reach each threshold.
    pub needed: Vec<CoordinateCount>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariancePanel {
    /// Title of the panel.
    pub title: String,
    /// One line for each series, the same in every panel.
    pub curves: Vec<VarianceCurve>,
}

/// Finished variance curves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceCurves {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// What the lines show.
    pub show: Show,
    /// Shares of variance that count as enough, between 0 and 1.
    pub thresholds: Vec<f64>,
    /// Scale of the share axis.
    pub scale: Scale,
    /// Panels side by side, if chosen.
    pub columns: Option<usize>,
    /// The panels, in the order of the records.
    pub panels: Vec<VariancePanel>,
}

impl VarianceCurvesSpec {
    /// Computes the spectrum of each panel and series.
    fn build(&self, records: &[Record]) -> Result<VarianceCurves, FigureError> {
        let fields = [self.field.as_str()];
        check_fields(records, &fields).map_err(AggregateError::from)?;
        let panels: Vec<String> = self.panels.iter().cloned().collect();
        let roles: [(&'static str, &[String]); 3] = [
            ("panels", &panels),
            ("series", std::slice::from_ref(&self.series)),
            ("over", &self.over),
        ];
        check_axes(records, &fields, &roles, &["series", "panels", "over"])?;
        let series = appearance(records, &fields, &self.series);
        let labels = match &self.panels {
            Some(axis) => appearance(records, &fields, axis).into_iter().map(Some).collect(),
            None => vec![None],
        };
        let panel = |label: Option<&str>| {
            let chosen = self.of_panel(records, label)?;
            let title = label.map_or_else(String::new, |label| display_name(&self.titles, label));
            Ok(VariancePanel { title, curves: self.curves(&chosen, &series)? })
        };
        Ok(VarianceCurves {
            caption: self.caption.clone(),
            label: self.label.clone(),
            show: self.show,
            thresholds: self.thresholds.iter().map(|threshold| threshold.get()).collect(),
            scale: self.scale,
            columns: self.columns.map(NonZeroUsize::get),
            panels: labels.into_iter().map(panel).collect::<Result<_, FigureError>>()?,
        })
    }

    /// Returns the records of a panel, without the label that says so.
    fn of_panel(
        &self,
        records: &[Record],
        panel: Option<&str>,
    ) -> Result<Vec<Record>, FigureError> {
        let Some(axis) = &self.panels else {
            return Ok(records.to_vec());
        };
        let is_here = |record: &&Record| record.labels().get(axis).map(String::as_str) == panel;
        let bare = |record: &Record| {
            let mut labels = record.labels().clone();
            labels.remove(axis);
            Ok(Record::new(labels, record.values().clone())?)
        };
        records.iter().filter(is_here).map(bare).collect()
    }

    /// Computes the lines of one panel.
    fn curves(
        &self,
        records: &[Record],
        series: &[&str],
    ) -> Result<Vec<VarianceCurve>, FigureError> {
        let is_here = |axis: &&String| records.iter().any(|r| r.labels().contains_key(*axis));
        let over: Vec<String> = self.over.iter().filter(is_here).cloned().collect();
        let mut curves: Vec<VarianceCurve> = series
            .iter()
            .map(|label| {
                let (coordinates, needed) = (Vec::new(), Vec::new());
                VarianceCurve { title: display_name(&self.titles, label), coordinates, needed }
            })
            .collect();
        for &threshold in &self.thresholds {
            let spectrum = VarianceSpectrumSpec {
                caption: String::new(),
                label: String::new(),
                field: self.field.clone(),
                series: self.series.clone(),
                over: over.clone(),
                threshold,
                scale: self.scale,
                scatter: Scatter::ErrorBars,
                spread: self.spread,
                unordered: Vec::new(),
                titles: BTreeMap::new(),
            };
            for found in spectrum.build(records)?.series {
                let place = series.iter().position(|label| *label == found.title);
                if let Some(curve) = place.map(|place| &mut curves[place]) {
                    curve.coordinates = found.coordinates;
                    curve.needed.push(found.needed);
                }
            }
        }
        Ok(curves)
    }
}

impl FigureKind for VarianceCurvesSpec {
    type Finished = VarianceCurves;

    const SHOWS: &'static str = "variance curves show records";
    const INPUTS: &'static [&'static str] = &["records"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        let mut checks = FigureChecks::labeled(FigureFamily::Records, &self.titles);
        checks.value = Some(("field", &self.field));
        checks.roles = vec![
            ("series", std::slice::from_ref(&self.series)),
            ("panels", self.panels.as_slice()),
            ("over", &self.over),
        ];
        if self.thresholds.is_empty() {
            checks.mistakes.push(FigureMistake {
                setting: "thresholds",
                message: "there is no variance threshold".to_owned(),
                help: "name at least one: `thresholds: [0.99]`".to_owned(),
            });
        }
        Some(checks)
    }

    fn finish(&self, inputs: &FigureInputs) -> Result<VarianceCurves, FigureError> {
        self.build(&inputs.records)
    }
}

const DOT: f64 = 2.4;

impl FinishedFigure for VarianceCurves {
    /// Returns one line for each curve: how many coordinates reach each threshold.
    fn summaries(&self) -> Vec<String> {
        let lines = self.panels.iter().flat_map(|panel| {
            panel.curves.iter().filter(|curve| !curve.needed.is_empty()).map(|curve| {
                let counts = self.thresholds.iter().zip(&curve.needed);
                let counts =
                    counts.map(|(t, needed)| format!("{} for {} %", needed.text(), percent(*t)));
                let counts: Vec<String> = counts.collect();
                let place = if panel.title.is_empty() { "" } else { ", " };
                let (all, title) = (curve.coordinates.len(), &curve.title);
                format!(
                    "{}{place}{title}: of {all} coordinates, {}",
                    panel.title,
                    counts.join(", ")
                )
            })
        });
        lines.collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let all = self.panels.iter().flat_map(|panel| &panel.curves);
        let longest = all.map(|curve| curve.coordinates.len()).max().unwrap_or_default().max(1);
        let panel = |panel: &VariancePanel| Panel {
            title: panel.title.clone(),
            notes: notes(self, panel),
            x: HorizontalAxis::Counted(1, longest),
            y: self.axis(),
        };
        let panels: Vec<Panel> = self.panels.iter().map(panel).collect();
        let chart = Chart {
            panels: &panels,
            layout: Layout::page(&panels, self.columns, 0.7, legend(self), typeface),
            x_title: "Latent coordinate",
            y_title: Some(match self.show {
                Show::Shares => "Share of variance (%)",
                Show::Cumulative => "Cumulative variance (%)",
            }),
        };
        chart.draw(typeface, |drawing, index, area| {
            let plot = Plot { figure: self, panel: &panels[index], area };
            if self.show == Show::Cumulative {
                for threshold in &self.thresholds {
                    let (_, y) = plot.at(1.0, 100.0 * threshold);
                    drawing.dashed_rule((area.left, area.right()), y, 1.0, GRAY);
                }
            }
            // The first series lies on top: it is what a figure is about.
            for (series, curve) in self.panels[index].curves.iter().enumerate().rev() {
                plot.draw(drawing, curve, LineStyle::of(series));
            }
        })
    }
}

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

    fn axis(&self) -> ValueAxis {
        let shown: Vec<f64> = self.coordinates().map(|shown| self.value(shown)).collect();
        let highest = shown.iter().copied().fold(0.0, f64::max);
        match (self.scale, self.show) {
            (Scale::Linear, Show::Shares) => ValueAxis::fitted(Scale::Linear, 0.0, highest),
            (Scale::Linear, Show::Cumulative) => ValueAxis::fitted(Scale::Linear, 0.0, 100.0),
            (Scale::Log, _) => {
                let above = shown.into_iter().filter(|share| *share > 100.0 * LEAST_SHARE);
                let lowest = above.fold(highest, f64::min);
                ValueAxis::fitted(Scale::Log, lowest, highest)
            }
        }
    }
}

/// Returns how many coordinates reach each threshold, by series.
fn notes(figure: &VarianceCurves, panel: &VariancePanel) -> Vec<Vec<String>> {
    let note = |(at, threshold): (usize, &f64)| {
        let known = panel.curves.iter().filter_map(|curve| Some((curve, curve.needed.get(at)?)));
        let counts: Vec<String> =
            known.map(|(curve, needed)| format!("{} ({})", needed.text(), curve.title)).collect();
        let mut phrases = counts.into_iter();
        let first = phrases.next().unwrap_or_default();
        let lead = format!("needed for {} %: {first}", percent(*threshold));
        std::iter::once(lead).chain(phrases).collect()
    };
    figure.thresholds.iter().enumerate().map(note).collect()
}

fn legend(figure: &VarianceCurves) -> Vec<(Symbol, String)> {
    let curves = figure.panels.first().map_or(&[][..], |panel| &panel.curves);
    let mut entries: Vec<(Symbol, String)> = curves
        .iter()
        .enumerate()
        .map(|(index, curve)| (Symbol::Line(LineStyle::of(index)), curve.title.clone()))
        .collect();
    match figure.show {
        Show::Cumulative => {
            let thresholds: Vec<String> =
                figure.thresholds.iter().map(|share| format!("{} %", percent(*share))).collect();
            entries.push((Symbol::Dashes(22.0), thresholds.join(", ")));
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
    area: PlotArea,
}

impl Plot<'_> {
    fn at(&self, coordinate: f64, percents: f64) -> (f64, f64) {
        self.panel.at(self.area, coordinate, percents)
    }

    fn draw(&self, drawing: &mut Drawing, curve: &VarianceCurve, style: LineStyle) {
        let numbered = || curve.coordinates.iter().enumerate();
        let points: Vec<(f64, f64)> =
            numbered().map(|(k, c)| self.at((k + 1) as f64, self.figure.value(c))).collect();
        let has_band = curve.coordinates.iter().any(|c| c.share_std.is_some());
        if self.figure.show == Show::Shares && has_band && points.len() > 1 {
            let edge = |sign: f64| {
                let value = |c: &Coordinate| 100.0 * (c.share + sign * c.share_std.unwrap_or(0.0));
                numbered().map(|(k, c)| self.at((k + 1) as f64, value(c))).collect()
            };
            drawing.marks.push(Mark::Band {
                upper: edge(1.0),
                lower: edge(-1.0),
                color: style.band(),
            });
        }
        let room = self.area.width / points.len().max(1) as f64;
        let radius = (room * 0.3).clamp(1.0, DOT);
        for at in &points {
            drawing.marks.push(Mark::Dot { at: *at, radius, color: style.color });
        }
        style.draw(drawing, points);
        if self.figure.show == Show::Cumulative {
            for (threshold, needed) in self.figure.thresholds.iter().zip(&curve.needed) {
                ring(drawing, self.at(needed.mean, 100.0 * threshold), style.color);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;
    use crate::report::records::record::{Labels, RecordValue, Values};

    /// Returns the variances of one run.
    fn run(set: &str, latent: &str, variances: &[f64]) -> Record {
        let labels = [("set", set), ("latent", latent), ("seed", "s0")];
        let labels: Labels = labels.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let values = Values::from([("variances".to_owned(), RecordValue::List(variances.into()))]);
        Record::new(labels, values).unwrap()
    }

    /// Reads a declaration.
    fn spec(settings: &str) -> VarianceCurvesSpec {
        let text = format!(
            r#"(caption: "c", label: "l", series: "latent", panels: Some("set"), over: ["seed"],
               {settings})"#
        );
        ron::from_str(&text).unwrap()
    }

    /// Codes of three and of four coordinates.
    fn runs() -> Vec<Record> {
        vec![
            run("sprites", "3", &[6.0, 3.0, 1.0]),
            run("sprites", "4", &[6.0, 3.0, 1.0, 0.0]),
            run("shapes", "4", &[1.0, 1.0, 1.0, 1.0]),
        ]
    }

    #[test]
    fn codes_of_different_lengths_are_lines_of_one_panel() {
        let figure = spec(r#"thresholds: [0.5, 0.9], titles: {"4": "four"}"#);
        let figure = figure.build(&runs()).unwrap();
        let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["sprites", "shapes"]);
        let lengths = |panel: &VariancePanel| -> Vec<usize> {
            panel.curves.iter().map(|curve| curve.coordinates.len()).collect()
        };
        assert_eq!(lengths(&figure.panels[0]), [3, 4]);
        assert_eq!(lengths(&figure.panels[1]), [0, 4], "a series keeps its color in every panel");
        assert!((figure.panels[0].curves[0].coordinates[1].cumulative - 0.9).abs() < 1e-12);
        assert_eq!(
            Figure::VarianceCurves(figure).summaries(),
            [
                "sprites, 3: of 3 coordinates, 1 for 50 %, 2 for 90 %",
                "sprites, four: of 4 coordinates, 1 for 50 %, 2 for 90 %",
                "shapes, four: of 4 coordinates, 2 for 50 %, 4 for 90 %",
            ]
        );
    }

    #[test]
    fn an_axis_without_a_role_is_refused() {
        let mut figure = spec("");
        figure.panels = None;
        assert_eq!(
            figure.build(&runs()).unwrap_err().to_string(),
            "the records have the axis `set`, which is in none of \
             `series`, `panels`, `over`: add it to one of them"
        );
    }

    #[test]
    fn the_running_sum_has_dashed_thresholds_and_marked_counts() {
        let svg = |settings: &str| {
            Figure::VarianceCurves(spec(settings).build(&runs()).unwrap()).svg().unwrap()
        };
        let cumulative = svg("show: Cumulative, thresholds: [0.9]");
        for text in [
            "Cumulative variance (%)",
            "needed for 90 %: 2 (3), 2 (4)",
            "coordinates needed",
            "sprites",
        ] {
            assert!(cumulative.contains(text), "{text}");
        }
        assert!(svg("").contains("Share of variance (%)"));
        let circles = |svg: &str| svg.matches("<circle ").count();
        // Two discs for each of three counts and for the legend.
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
            assert_inside(&figure.draw(&typeface));
        }
    }
}
