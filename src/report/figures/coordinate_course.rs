//! The course of each latent coordinate: its weight or its variance, epoch by epoch.
//!
//! What: for each label of one axis a panel, in it a line for each coordinate through the means
//! over runs, colored by the number of the coordinate.
//! Assumptions: as for learning curves, whose means these are; models that have not recorded the
//! column have no panel.
//! Checked against: hand-computed means in the tests below.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::report::figures::chart::{Across, Chart, Panel};
use crate::report::figures::key::{Symbol, ramp};
use crate::report::figures::learning_curves::{
    Course, Curve, CurvePanel, CurvePoint, LearningCurvesSpec,
};
use crate::report::figures::scene::{Mark, Scene};
use crate::report::figures::typeface::Typeface;
use crate::report::figures::value_axis::{ValueAxis, four_digits};
use crate::report::figures::{FigureError, Scale};

const LINE_WIDTH: f64 = 1.2;
const DOT: f64 = 1.9;

/// The course of coordinates as declared in a pipeline file.
///
/// ```ron
/// CoordinateCourse(caption: "Weights of the coordinates", label: "Figure 4", column: "gamma",
///                  scale: Log, panels: "model", over: ["seed"])
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinateCourseSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 1`.
    pub label: String,
    /// What was recorded of each coordinate, without its number: `gamma` or `variance`.
    pub column: String,
    /// Scale of the vertical axes.
    #[serde(default)]
    pub scale: Scale,
    /// The axis whose labels each get a panel.
    pub panels: String,
    /// Axes whose runs make the mean.
    #[serde(default)]
    pub over: Vec<String>,
    /// Panels side by side, at most three; one stays within a column of a paper.
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
    pub fn build(&self, courses: &[Course]) -> Result<CoordinateCourse, FigureError> {
        let numbers: BTreeSet<usize> = courses
            .iter()
            .flat_map(|course| &course.columns)
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
        means.check(courses, &["panels", "over"])?;
        let mut labels: Vec<&String> = Vec::new();
        for course in courses {
            labels.extend(course.labels.get(&self.panels).filter(|label| !labels.contains(label)));
        }
        let line = |number: &usize, label: &String| {
            let Curve { points, .. } = means.curve(courses, &column(number), label);
            (!points.is_empty()).then(|| Curve { title: number.to_string(), points })
        };
        let panel = |label: &&String| {
            let curves = numbers.iter().filter_map(|number| line(number, label)).collect();
            CurvePanel { title: self.title(label), curves }
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
            quantity: self.title(&self.column),
            scale: self.scale,
            columns: self.columns.map(NonZeroUsize::get),
            panels,
        })
    }

    fn title(&self, name: &str) -> String {
        self.titles.get(name).map_or(name, String::as_str).to_owned()
    }
}

impl CoordinateCourse {
    /// Returns one line for each panel: where its first and its last coordinate end.
    pub(super) fn summaries(&self) -> Vec<String> {
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
}

fn points(panel: &CurvePanel) -> impl Iterator<Item = &CurvePoint> {
    panel.curves.iter().flat_map(|curve| &curve.points)
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (value.min(low), value.max(high))
    })
}

/// Draws all panels and the key.
pub(super) fn draw(figure: &CoordinateCourse, typeface: &Typeface) -> Scene {
    let epochs = span(figure.panels.iter().flat_map(points).map(|point| point.epoch as f64));
    let panel = |panel: &CurvePanel| {
        let (lowest, highest) = span(points(panel).map(|point| point.mean));
        Panel {
            title: panel.title.clone(),
            notes: Vec::new(),
            across: Across::Counted(epochs.0 as usize, epochs.1 as usize),
            up: ValueAxis::fitted(figure.scale, lowest, highest),
        }
    };
    let panels: Vec<Panel> = figure.panels.iter().map(panel).collect();
    let number = |curve: &Curve| curve.title.parse::<usize>().unwrap_or(1);
    let numbers = figure.panels.iter().flat_map(|panel| &panel.curves).map(number);
    let last = numbers.max().unwrap_or(1);
    let runs = figure.panels.iter().flat_map(points).map(|point| point.runs).max();
    let mut key = vec![(Symbol::Ramp, format!("coordinate 1 to {last}"))];
    if runs.is_some_and(|runs| runs > 1) {
        key.push((Symbol::Nothing, "lines: means over runs".to_owned()));
    }
    let chart = Chart {
        panels: &panels,
        columns: figure.columns,
        across_title: "Epoch",
        up_title: &figure.quantity,
        aspect: 0.7,
        key,
    };
    chart.draw(typeface, |scene, index, frame| {
        let Panel { across, up, .. } = &panels[index];
        // The first coordinates carry the most and lie on top.
        for curve in figure.panels[index].curves.iter().rev() {
            let ink = ramp((number(curve) - 1) as f64 / (last - 1).max(1) as f64);
            let at = |point: &CurvePoint| {
                frame.at(across.place(point.epoch as f64), up.height(point.mean))
            };
            let points: Vec<(f64, f64)> = curve.points.iter().map(at).collect();
            match points[..] {
                [at] => scene.marks.push(Mark::Dot { at, radius: DOT, ink }),
                _ => scene.marks.push(Mark::Curve { points, width: LINE_WIDTH, ink }),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;

    fn course(model: &str, seed: &str, gammas: &[[f64; 2]]) -> Course {
        let labels = [("model", model), ("seed", seed)];
        let row = |(at, pair): (usize, &[f64; 2])| vec![(at + 1) as f64, pair[0], pair[1]];
        Course {
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

    fn courses() -> Vec<Course> {
        let mut without = course("ae", "s0", &[[1.0, 1.0]]);
        without.columns = ["epoch", "total", "other_2"].map(str::to_owned).into();
        vec![
            course("pcae", "s0", &[[1.0, 1.0], [0.2, 4.0]]),
            course("pcae", "s1", &[[1.0, 1.0], [0.4, 0.0]]),
            without,
        ]
    }

    #[test]
    fn each_coordinate_is_a_line_and_models_without_the_column_have_no_panel() {
        let figure = spec(r#"column: "gamma", titles: {"gamma": "Weight"}"#);
        let figure = figure.build(&courses()).unwrap();
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
        let refused = spec(r#"column: "gama""#).build(&courses()).unwrap_err().to_string();
        assert!(refused.starts_with("no training has recorded `gama_1`, expected one of"));
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
        let course = Course { labels, columns, rows: (1..=1000).map(row).collect() };
        let figure = spec(r#"column: "variance", scale: Log"#).build(&[course]).unwrap();
        assert_inside(&draw(&figure, &Typeface::embedded().unwrap()));
    }
}
