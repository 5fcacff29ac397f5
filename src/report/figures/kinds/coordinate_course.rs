//! Each latent coordinate over the training: its weight or its variance, epoch by epoch.
//!
//! What: for each label of one axis a panel, in it a line for each coordinate through the means
//! over runs, colored by the number of the coordinate.
//! Assumptions: as for learning curves, whose means these are; models that have not recorded the
//! column have no panel.
//! Checked against: hand-computed means in the tests below.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::Symbol;
use crate::report::figures::chart::line_style::ramp;
use crate::report::figures::chart::value_axis::{ValueAxis, four_digits, span};
use crate::report::figures::chart::{Chart, Layout, Panel};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Drawing, Mark};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FigureMistake, FinishedFigure,
    TrainingLog,
};
use crate::report::figures::kinds::learning_curves::{
    Curve, CurvePanel, CurvePoint, LearningCurvesSpec, points,
};
use crate::report::figures::titles::display_name;
use crate::report::figures::{FigureError, Scale};

const LINE_WIDTH: f64 = 1.2;
const DOT: f64 = 1.9;

/// A line per coordinate over the epochs, as declared in a pipeline.
///
/// ```ron
/// CoordinateCourse(caption: "Weights of the coordinates", label: "Figure 4", column: "gamma",
///                  scale: Log, panels: "model", over: ["seed"])
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoordinateCourseSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// What was recorded for each coordinate, without its number: `gamma` or `variance`.
    pub column: String,
    /// Scale of the vertical axes.
    #[serde(default)]
    pub scale: Scale,
    /// The axis whose labels each get a panel.
    pub panels: String,
    /// Axes whose runs make the mean.
    #[serde(default)]
    pub over: Vec<String>,
    /// Panels side by side, at most three; a single one fits a column of a paper.
    #[serde(default)]
    pub columns: Option<NonZeroUsize>,
    /// Display names of the column and of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

/// A finished course of coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateCourse {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// What is shown of each coordinate.
    pub quantity: String,
    /// Scale of the vertical axes.
    pub scale: Scale,
    /// Panels side by side, if chosen.
    pub columns: Option<usize>,
    /// One panel for each label, with a line for each coordinate.
    pub panels: Vec<CurvePanel>,
}

impl CoordinateCourseSpec {
    /// Computes means for each coordinate and panel.
    fn build(&self, trainings: &[TrainingLog]) -> Result<CoordinateCourse, FigureError> {
        let numbers: BTreeSet<usize> = trainings
            .iter()
            .flat_map(|training| &training.columns)
            .filter_map(|name| name.strip_prefix(&self.column)?.strip_prefix('_')?.parse().ok())
            .collect();
        let column = |number: &usize| format!("{}_{number}", self.column);
        let first = BTreeSet::from([1]);
        let asked = if numbers.is_empty() { &first } else { &numbers };
        let means = LearningCurvesSpec {
            caption: String::new(),
            label: String::new(),
            columns: asked.iter().map(column).collect(),
            scale: self.scale,
            series: self.panels.clone(),
            over: self.over.clone(),
            titles: BTreeMap::new(),
        };
        means.check(trainings, &["panels", "over"])?;
        let mut labels: Vec<&String> = Vec::new();
        for training in trainings {
            labels
                .extend(training.labels.get(&self.panels).filter(|label| !labels.contains(label)));
        }
        let line = |number: &usize, label: &String| {
            let Curve { points, .. } = means.curve(trainings, &column(number), label);
            (!points.is_empty()).then(|| Curve { title: number.to_string(), points })
        };
        let panel = |label: &&String| {
            let curves = numbers.iter().filter_map(|number| line(number, label)).collect();
            CurvePanel { title: display_name(&self.titles, label), curves }
        };
        let panels: Vec<CurvePanel> =
            labels.iter().map(panel).filter(|panel| !panel.curves.is_empty()).collect();
        if panels.is_empty() {
            let (column, scale) = (self.column.clone(), self.scale);
            return Err(FigureError::EmptyColumn { column, scale });
        }
        Ok(CoordinateCourse {
            caption: self.caption.clone(),
            label: self.label.clone(),
            quantity: display_name(&self.titles, &self.column),
            scale: self.scale,
            columns: self.columns.map(NonZeroUsize::get),
            panels,
        })
    }
}

impl FigureKind for CoordinateCourseSpec {
    type Finished = CoordinateCourse;

    const SHOWS: &'static str = "a plot of coordinates over epochs shows models";
    const INPUTS: &'static [&'static str] = &["models"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        let mut checks = FigureChecks::labeled(FigureFamily::Models, &self.titles);
        checks.other_titles = std::slice::from_ref(&self.column);
        checks.roles = vec![("panels", std::slice::from_ref(&self.panels)), ("over", &self.over)];
        let numbered = self.column.rsplit_once('_').filter(|(_, end)| end.parse::<usize>().is_ok());
        if let Some((stem, _)) = numbered {
            checks.mistakes.push(FigureMistake {
                setting: "column",
                message: format!("`{}` is a single coordinate", self.column),
                help: format!("write `column: \"{stem}\"` for all of them"),
            });
        }
        Some(checks)
    }

    fn finish(&self, inputs: &FigureInputs) -> Result<CoordinateCourse, FigureError> {
        self.build(&inputs.trainings)
    }
}

impl FinishedFigure for CoordinateCourse {
    /// Returns one line for each panel: where its first and its last coordinate end.
    fn summaries(&self) -> Vec<String> {
        let end = |curve: &Curve| {
            let last = curve.points.last().map_or(f64::NAN, |point| point.mean);
            format!("{} of coordinate {}", four_digits(last), curve.title)
        };
        let line = |panel: &CurvePanel| {
            let ends: Vec<String> = match &panel.curves[..] {
                [first, .., last] => vec![end(first), end(last)],
                curves => curves.iter().map(end).collect(),
            };
            format!("{}: {} ends at {}", panel.title, self.quantity, ends.join(" and "))
        };
        self.panels.iter().map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let epochs = span(self.panels.iter().flat_map(points).map(|point| point.epoch as f64));
        let panel = |panel: &CurvePanel| {
            let (lowest, highest) = span(points(panel).map(|point| point.mean));
            Panel {
                title: panel.title.clone(),
                notes: Vec::new(),
                x: HorizontalAxis::Counted(epochs.0 as usize, epochs.1 as usize),
                y: ValueAxis::fitted(self.scale, lowest, highest),
            }
        };
        let panels: Vec<Panel> = self.panels.iter().map(panel).collect();
        let number = |curve: &Curve| curve.title.parse::<usize>().unwrap_or(1);
        let numbers = self.panels.iter().flat_map(|panel| &panel.curves).map(number);
        let last = numbers.max().unwrap_or(1);
        let runs = self.panels.iter().flat_map(points).map(|point| point.runs).max();
        let mut legend = vec![(Symbol::Ramp, format!("coordinate 1 to {last}"))];
        if runs.is_some_and(|runs| runs > 1) {
            legend.push((Symbol::Nothing, "lines: means over runs".to_owned()));
        }
        let chart = Chart {
            panels: &panels,
            layout: Layout::page(&panels, self.columns, 0.7, legend, typeface),
            x_title: "Epoch",
            y_title: Some(&self.quantity),
        };
        chart.draw(typeface, |drawing, index, area| {
            // The first coordinates carry the most and lie on top.
            for curve in self.panels[index].curves.iter().rev() {
                let color = ramp((number(curve) - 1) as f64 / (last - 1).max(1) as f64);
                let at =
                    |point: &CurvePoint| panels[index].at(area, point.epoch as f64, point.mean);
                let line: Vec<(f64, f64)> = curve.points.iter().map(at).collect();
                match line[..] {
                    [at] => drawing.marks.push(Mark::Dot { at, radius: DOT, color }),
                    _ => drawing.marks.push(Mark::Curve { points: line, width: LINE_WIDTH, color }),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;

    fn training(model: &str, seed: &str, gammas: &[[f64; 2]]) -> TrainingLog {
        let labels = [("model", model), ("seed", seed)];
        let row = |(at, pair): (usize, &[f64; 2])| vec![(at + 1) as f64, pair[0], pair[1]];
        TrainingLog {
            labels: labels.map(|(axis, label)| (axis.to_owned(), label.to_owned())).into(),
            columns: ["epoch", "gamma_1", "gamma_2"].map(str::to_owned).into(),
            rows: gammas.iter().enumerate().map(row).collect(),
        }
    }

    fn spec(settings: &str) -> CoordinateCourseSpec {
        let text =
            format!(r#"(caption: "c", label: "l", panels: "model", over: ["seed"], {settings})"#);
        ron::from_str(&text).unwrap()
    }

    fn trainings() -> Vec<TrainingLog> {
        let mut without = training("ae", "s0", &[[1.0, 1.0]]);
        without.columns = ["epoch", "total", "other_2"].map(str::to_owned).into();
        vec![
            training("pcae", "s0", &[[1.0, 1.0], [0.2, 4.0]]),
            training("pcae", "s1", &[[1.0, 1.0], [0.4, 0.0]]),
            without,
        ]
    }

    #[test]
    fn each_coordinate_is_a_line_and_models_without_the_column_have_no_panel() {
        let figure = spec(r#"column: "gamma", titles: {"gamma": "Weight"}"#);
        let figure = figure.build(&trainings()).unwrap();
        assert_eq!(figure.panels.len(), 1);
        let means: Vec<Vec<f64>> = figure.panels[0]
            .curves
            .iter()
            .map(|curve| curve.points.iter().map(|point| point.mean).collect())
            .collect();
        assert!((means[0][1] - 0.3).abs() < 1e-12);
        assert_eq!(means[1], [1.0, 2.0]);
        let figure = Figure::CoordinateCourse(figure);
        assert_eq!(
            figure.summaries(),
            ["pcae: Weight ends at 0.3 of coordinate 1 and 2 of coordinate 2"]
        );
        let svg = figure.svg().unwrap();
        for text in ["Weight", "Epoch", "coordinate 1 to 2", "lines: means over runs"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg.matches("<polyline ").count(), 2);
    }

    #[test]
    fn a_column_that_was_not_recorded_is_told_with_those_that_were() {
        let refused = spec(r#"column: "gama""#).build(&trainings()).unwrap_err().to_string();
        assert!(refused.starts_with("no training run recorded `gama_1`, expected one of"));
        assert!(refused.contains("`gamma_1 .. 2`"), "{refused}");
    }

    #[test]
    fn many_coordinates_and_epochs_find_their_place() {
        let columns = (1..=64).map(|k| format!("variance_{k}"));
        let columns = std::iter::once("epoch".to_owned()).chain(columns).collect();
        let row = |epoch: usize| {
            let variance = |k: i32| 0.8_f64.powi(k) * epoch as f64;
            std::iter::once(epoch as f64).chain((0..64).map(variance)).collect()
        };
        let labels = [("model", "a model with a name that is rather long"), ("seed", "0")];
        let labels = labels.map(|(axis, label)| (axis.to_owned(), label.to_owned())).into();
        let training = TrainingLog { labels, columns, rows: (1..=1000).map(row).collect() };
        let figure = spec(r#"column: "variance", scale: Log"#).build(&[training]).unwrap();
        assert_inside(&figure.draw(&Typeface::embedded().unwrap()));
    }
}
