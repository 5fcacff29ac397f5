//! Dimension against scale: what the estimated dimension is at small and at large distances.
//!
//! What: for each label of an axis a line through the dimensions that `Estimate` with `Gride` found,
//! over the mean distance to the two neighbors that were compared, with a band of two standard errors
//! to both sides. Several runs: the line is their mean, the band reaches from the lowest of their
//! bands to the highest.
//! Assumptions: runs of a series have the same scales; standard errors take points for independent.
//! Checked against: hand-computed means in the tests below.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::Symbol;
use crate::report::figures::chart::line_style::LineStyle;
use crate::report::figures::chart::value_axis::{ValueAxis, four_digits, span};
use crate::report::figures::chart::{Chart, Layout, Panel, PlotArea};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Drawing, Mark};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FinishedFigure,
};
use crate::report::figures::titles::display_name;
use crate::report::figures::{FigureError, Scale};
use crate::report::records::aggregate::AggregateError;
use crate::report::records::axis_roles::check_axes;
use crate::report::records::joined_rows::check_fields;
use crate::report::records::record::{Record, RecordValue};

/// The lists of a record: distance, dimension and standard error at each scale.
const FIELDS: [&str; 3] = ["scale_distances", "scale_dimensions", "scale_spreads"];
/// Standard errors to both sides of a line.
const BAND: f64 = 2.0;
const DOT: f64 = 2.2;
const ASPECT: f64 = 0.7;

/// Dimension against scale as declared in a pipeline.
///
/// ```ron
/// DimensionByScale(caption: "Dimension at each scale", label: "Scales",
///                  series: "class", over: ["seed"])
/// ```
///
/// The records are those of `Estimate` with `Gride`. A dimension that stays the same over scales is
/// one of the data. One that falls with the distance speaks of noise at small scales, one that rises
/// of curvature, or of parts that lie close together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DimensionByScaleSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// The axis whose labels each get a line; a single line if left out.
    #[serde(default)]
    pub series: Option<String>,
    /// Axes whose runs make the mean and the band.
    #[serde(default)]
    pub over: Vec<String>,
    /// Display names of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

/// The dimension at one scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalePoint {
    /// Mean distance to the neighbors that were compared.
    pub distance: f64,
    /// Mean dimension over runs.
    pub dimension: f64,
    /// Lower edge of the band.
    pub low: f64,
    /// Upper edge of the band.
    pub high: f64,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleCurve {
    /// What the line shows; empty if there is only one.
    pub title: String,
    /// The scales, smallest first.
    pub points: Vec<ScalePoint>,
}

/// Finished dimension against scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DimensionByScale {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// One line for each label, in the order of the records.
    pub curves: Vec<ScaleCurve>,
}

impl DimensionByScaleSpec {
    fn build(&self, records: &[Record]) -> Result<DimensionByScale, FigureError> {
        check_fields(records, &FIELDS).map_err(AggregateError::from)?;
        let roles: [(&'static str, &[String]); 2] =
            [("series", self.series.as_slice()), ("over", &self.over)];
        check_axes(records, &FIELDS, &roles, &["series", "over"])?;
        let mut runs: Vec<(&str, Vec<[&[f64]; 3]>)> = Vec::new();
        for record in records {
            let label = self.series.as_ref().and_then(|axis| record.labels().get(axis));
            let label = label.map_or("", String::as_str);
            let Some(lists) = lists(record) else { continue };
            match runs.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) => known.push(lists),
                None => runs.push((label, vec![lists])),
            }
        }
        let curve = |(label, runs): (&str, Vec<[&[f64]; 3]>)| {
            let title =
                if label.is_empty() { String::new() } else { display_name(&self.titles, label) };
            let length = runs[0][0].len();
            if let Some(other) = runs.iter().find(|run| run[0].len() != length) {
                let (first, second) = (length, other[0].len());
                return Err(FigureError::Inputs(format!(
                    "`{title}` has runs with {first} and with {second} scales, expected one number"
                )));
            }
            Ok(ScaleCurve { title, points: (0..length).map(|at| point(&runs, at)).collect() })
        };
        Ok(DimensionByScale {
            caption: self.caption.clone(),
            label: self.label.clone(),
            curves: runs.into_iter().map(curve).collect::<Result<_, _>>()?,
        })
    }
}

/// Returns the lists of a record; nothing if it lacks one, or if they differ in length.
fn lists(record: &Record) -> Option<[&[f64]; 3]> {
    let list = |name| match record.values().get(name) {
        Some(RecordValue::List(numbers)) => Some(numbers.as_slice()),
        _ => None,
    };
    let [distances, dimensions, spreads] = FIELDS.map(list);
    let found = [distances?, dimensions?, spreads?];
    found.iter().all(|list| list.len() == found[0].len()).then_some(found)
}

fn point(runs: &[[&[f64]; 3]], at: usize) -> ScalePoint {
    let mean =
        |field: usize| runs.iter().map(|run| run[field][at]).sum::<f64>() / runs.len() as f64;
    let (low, _) = span(runs.iter().map(|run| run[1][at] - BAND * run[2][at]));
    let (_, high) = span(runs.iter().map(|run| run[1][at] + BAND * run[2][at]));
    ScalePoint { distance: mean(0), dimension: mean(1), low, high }
}

impl FigureKind for DimensionByScaleSpec {
    type Finished = DimensionByScale;

    const SHOWS: &'static str = "a plot of dimension by scale shows records";
    const INPUTS: &'static [&'static str] = &["records"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        let mut checks = FigureChecks::labeled(FigureFamily::Records, &self.titles);
        checks.value = Some(("records", FIELDS[1]));
        checks.roles = vec![("series", self.series.as_slice()), ("over", &self.over)];
        Some(checks)
    }

    fn finish(&self, inputs: &FigureInputs) -> Result<DimensionByScale, FigureError> {
        self.build(&inputs.records)
    }
}

impl DimensionByScale {
    fn points(&self) -> impl Iterator<Item = &ScalePoint> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }
}

impl FinishedFigure for DimensionByScale {
    /// Returns one line for each curve: the dimension at its ends.
    fn summaries(&self) -> Vec<String> {
        let line = |curve: &ScaleCurve| {
            let colon = if curve.title.is_empty() { "" } else { ": " };
            let end = |point: Option<&ScalePoint>| {
                point.map_or_else(String::new, |point| {
                    let [dimension, distance] = [point.dimension, point.distance].map(four_digits);
                    format!("{dimension} at distance {distance}")
                })
            };
            let [first, last] = [curve.points.first(), curve.points.last()].map(end);
            format!("{}{colon}dimension {first}, {last}", curve.title)
        };
        self.curves.iter().map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let (near, far) = span(self.points().map(|point| point.distance));
        let (low, high) = span(self.points().flat_map(|point| [point.low, point.high]));
        let panel = Panel {
            title: String::new(),
            notes: Vec::new(),
            x: HorizontalAxis::Measured(ValueAxis::fitted(Scale::Log, near, far)),
            y: ValueAxis::fitted(Scale::Linear, low.min(0.0), high),
        };
        let entry = |(index, curve): (usize, &ScaleCurve)| {
            let symbol = Symbol::Curve { style: LineStyle::of(index), has_band: true };
            let several = !curve.title.is_empty();
            let title = if several { &curve.title } else { "estimate ± 2 standard errors" };
            (symbol, title.to_owned())
        };
        let legend = self.curves.iter().enumerate().map(entry).collect();
        let panels = [panel];
        let chart = Chart {
            layout: Layout::page(&panels, None, ASPECT, legend, typeface),
            panels: &panels,
            x_title: "Mean distance of the neighbors compared",
            y_title: Some("Dimension"),
        };
        chart.draw(typeface, |drawing, _, area| {
            for (index, curve) in self.curves.iter().enumerate() {
                draw_curve(drawing, (&panels[0], area), curve, LineStyle::of(index));
            }
        })
    }
}

fn draw_curve(
    drawing: &mut Drawing,
    (panel, area): (&Panel, PlotArea),
    curve: &ScaleCurve,
    style: LineStyle,
) {
    let edge = |value: fn(&ScalePoint) -> f64| -> Vec<(f64, f64)> {
        curve.points.iter().map(|point| panel.at(area, point.distance, value(point))).collect()
    };
    let (upper, lower) = (edge(|point| point.high), edge(|point| point.low));
    drawing.marks.push(Mark::Band { upper, lower, color: style.band() });
    let line = edge(|point| point.dimension);
    let dot = |at: &(f64, f64)| Mark::Dot { at: *at, radius: DOT, color: style.color };
    drawing.marks.extend(line.iter().map(dot));
    style.draw(drawing, line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;
    use crate::report::records::record::{Labels, Values};

    fn record(labels: &[(&str, &str)], dimensions: &[f64]) -> Record {
        let distances = (1..=dimensions.len()).map(|at| at as f64).collect();
        let lists = [distances, dimensions.to_vec(), vec![0.1; dimensions.len()]];
        let values: Values =
            FIELDS.map(str::to_owned).into_iter().zip(lists.map(RecordValue::List)).collect();
        let labels: Labels =
            labels.iter().map(|(axis, label)| ((*axis).to_owned(), (*label).to_owned())).collect();
        Record::new(labels, values).unwrap()
    }

    fn spec(settings: &str) -> DimensionByScaleSpec {
        ron::from_str(&format!(r#"(caption: "c", label: "l", {settings})"#)).unwrap()
    }

    #[test]
    fn a_line_is_the_mean_of_runs_and_its_band_holds_all_of_theirs() {
        let runs = [
            record(&[("class", "a"), ("seed", "0")], &[2.0, 3.0]),
            record(&[("class", "a"), ("seed", "1")], &[4.0, 3.0]),
            record(&[("class", "b"), ("seed", "0")], &[1.0, 1.0, 1.0]),
        ];
        let settings = r#"series: Some("class"), over: ["seed"], titles: {"a": "Class A"}"#;
        let figure = spec(settings).build(&runs).unwrap();
        let ScalePoint { distance, dimension, low, high } = figure.curves[0].points[0];
        assert_eq!((distance, dimension), (1.0, 3.0));
        assert!((low - 1.8).abs() < 1e-12 && (high - 4.2).abs() < 1e-12, "{low} {high}");
        let figure = Figure::DimensionByScale(figure);
        assert_eq!(
            figure.summaries(),
            [
                "Class A: dimension 3 at distance 1, 3 at distance 2",
                "b: dimension 1 at distance 1, 1 at distance 3"
            ]
        );
        let svg = figure.svg().unwrap();
        for text in ["Dimension", "Class A", "Mean distance of the neighbors compared"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn runs_with_different_scales_are_refused_and_a_single_one_needs_no_axis() {
        let runs = [record(&[("seed", "0")], &[2.0]), record(&[("seed", "1")], &[4.0, 3.0])];
        let refused = spec(r#"over: ["seed"]"#).build(&runs).unwrap_err().to_string();
        assert!(refused.contains("runs with 1 and with 2 scales"), "{refused}");
        let figure = spec("").build(&[record(&[], &[2.0, 2.5, 4.0])]).unwrap();
        assert_inside(&figure.draw(&Typeface::embedded().unwrap()));
    }
}
