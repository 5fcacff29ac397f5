//! Learning curves: what trainings recorded, epoch by epoch.
//!
//! What: for each column a panel, for each label of one axis a line through the means over runs,
//! with a band from the lowest to the highest run.
//! Assumptions: a mean is over the runs that measured the column in that epoch, so runs of unequal
//! length are compared as far as they go. A logarithmic scale leaves means out that are not above
//! zero; a band that reaches below goes down to the foot of the panel.
//! Checked against: hand-computed means in the tests below.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::report::axes::check_roles;
use crate::report::figures::value_axis::four_digits;
use crate::report::figures::{FigureError, Scale};
use crate::report::frame::FrameError;
use crate::report::record::Labels;

/// The column that counts epochs.
const EPOCH: &str = "epoch";

/// Learning curves as declared in a pipeline file.
///
/// ```ron
/// LearningCurves(caption: "Losses", label: "Figure 2", columns: ["total", "reconstruction"],
///                scale: Log, series: "model", over: ["seed"], titles: {"total": "Total loss"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningCurvesSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 1`.
    pub label: String,
    /// Columns of the record of training, such as `total` or a loss term; each gets a panel.
    #[serde(default = "total")]
    pub columns: Vec<String>,
    /// Scale of the vertical axes.
    #[serde(default)]
    pub scale: Scale,
    /// The axis whose labels each get a line.
    pub series: String,
    /// Axes whose runs make the mean and the band.
    #[serde(default)]
    pub over: Vec<String>,
    /// Display names of columns and of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

fn total() -> Vec<String> {
    vec!["total".to_owned()]
}

/// What one training recorded: a table with a row for each epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The axis labels of the training.
    pub labels: Labels,
    /// Names of the columns, `epoch` among them.
    pub columns: Vec<String>,
    /// One row for each epoch; what was not measured is not a number.
    pub rows: Vec<Vec<f64>>,
}

impl Course {
    /// Returns the epochs in which a column was measured, with its values.
    fn measured(&self, column: &str) -> impl Iterator<Item = (usize, f64)> {
        let place = |name: &str| self.columns.iter().position(|known| known == name);
        let places = place(EPOCH).zip(place(column));
        let cells = places.into_iter().flat_map(|(epoch, column)| {
            let cell = move |row: &Vec<f64>| Some((*row.get(epoch)?, *row.get(column)?));
            self.rows.iter().filter_map(cell)
        });
        let known = |(epoch, value): &(f64, f64)| epoch.is_finite() && value.is_finite();
        cells.filter(known).map(|(epoch, value)| (epoch as usize, value))
    }
}

/// The runs of one series in one epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The epoch, counting from 1.
    pub epoch: usize,
    /// Mean over the runs.
    pub mean: f64,
    /// The lowest run.
    pub low: f64,
    /// The highest run.
    pub high: f64,
    /// Number of runs.
    pub runs: usize,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What the line shows.
    pub title: String,
    /// The epochs in which there is something to show; none if the series lacks the column.
    pub points: Vec<CurvePoint>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePanel {
    /// Title of the panel.
    pub title: String,
    /// One line for each series, the same in every panel.
    pub curves: Vec<Curve>,
}

/// Finished learning curves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearningCurves {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Scale of the vertical axes.
    pub scale: Scale,
    /// One panel for each column.
    pub panels: Vec<CurvePanel>,
}

impl LearningCurves {
    /// Returns one line for each curve: where it ends.
    pub(super) fn summaries(&self) -> Vec<String> {
        let curves = self.panels.iter().flat_map(|panel| {
            panel.curves.iter().map(|curve| (&panel.title, &curve.title, curve.points.last()))
        });
        let line = |(panel, curve, last): (&String, &String, Option<&CurvePoint>)| match last {
            Some(CurvePoint { epoch, mean, low, high, runs }) => {
                let [mean, low, high] = [*mean, *low, *high].map(four_digits);
                format!("{panel}, {curve}: {mean} ({low} to {high}) in epoch {epoch}, n = {runs}")
            }
            None => format!("{panel}, {curve}: nothing to show"),
        };
        curves.map(line).collect()
    }
}

impl LearningCurvesSpec {
    /// Computes means and bands for each column and series.
    pub fn build(&self, courses: &[Course]) -> Result<LearningCurves, FigureError> {
        self.check(courses, &["series", "over"])?;
        let mut labels: Vec<&String> = Vec::new();
        for course in courses {
            let label = course.labels.get(&self.series);
            let recorded = self.columns.iter().any(|column| course.measured(column).count() > 0);
            // A model that has nothing to train has no curve either.
            labels.extend(label.filter(|label| recorded && !labels.contains(label)));
        }
        let panel = |column: &String| {
            let curves: Vec<Curve> =
                labels.iter().map(|label| self.curve(courses, column, label)).collect();
            if curves.iter().all(|curve| curve.points.is_empty()) {
                return Err(FigureError::EmptyColumn { column: column.clone(), scale: self.scale });
            }
            Ok(CurvePanel { title: self.title(column), curves })
        };
        Ok(LearningCurves {
            caption: self.caption.clone(),
            label: self.label.clone(),
            scale: self.scale,
            panels: self.columns.iter().map(panel).collect::<Result<_, _>>()?,
        })
    }

    fn title(&self, name: &str) -> String {
        self.titles.get(name).map_or(name, String::as_str).to_owned()
    }

    /// Computes the means and bands of one column and series.
    pub(super) fn curve(&self, courses: &[Course], column: &str, label: &String) -> Curve {
        let mut epochs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for course in courses.iter().filter(|run| run.labels.get(&self.series) == Some(label)) {
            for (epoch, value) in course.measured(column) {
                epochs.entry(epoch).or_default().push(value);
            }
        }
        let point = |(epoch, values): (usize, Vec<f64>)| CurvePoint {
            epoch,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            runs: values.len(),
        };
        let shown = |point: &CurvePoint| self.scale == Scale::Linear || point.mean > 0.0;
        let points = epochs.into_iter().map(point).filter(shown).collect();
        Curve { title: self.title(label), points }
    }

    /// Checks that columns and axes are those of the trainings, and that no two are the same;
    /// `places` are the settings that name the axis of labels and the axes of runs.
    pub(super) fn check(
        &self,
        courses: &[Course],
        places: &'static [&'static str; 2],
    ) -> Result<(), FigureError> {
        if courses.is_empty() {
            return Err(FigureError::NoTrainings);
        }
        let recorded: Vec<&String> = courses.iter().flat_map(|course| &course.columns).collect();
        for column in &self.columns {
            if !recorded.contains(&column) {
                let known = families(&recorded);
                return Err(FigureError::UnknownColumn { column: column.clone(), known });
            }
        }
        let known: BTreeSet<&String> = courses.iter().flat_map(|run| run.labels.keys()).collect();
        let roles = [(places[0], std::slice::from_ref(&self.series)), (places[1], &self.over[..])];
        check_roles(&known, &roles, places)?;
        for (index, course) in courses.iter().enumerate() {
            if !course.labels.contains_key(&self.series) {
                let (field, axis) = (self.columns.join("`, `"), self.series.clone());
                return Err(FrameError::Unlabeled { field, record: index, axis }.into());
            }
            if let Some(first) = courses[..index].iter().position(|run| run.labels == course.labels)
            {
                let pairs = course.labels.iter().map(|(axis, label)| format!("{axis}={label}"));
                let labels = pairs.collect::<Vec<_>>().join(", ");
                return Err(FigureError::SameTraining { first, second: index, labels });
            }
        }
        Ok(())
    }
}

/// Lists names once each, numbered ones such as `gamma_1` as a range.
fn families(names: &[&String]) -> Vec<String> {
    let mut found: Vec<(String, Option<(usize, usize)>)> = Vec::new();
    for name in names {
        let numbered =
            name.rsplit_once('_').and_then(|(stem, end)| Some((stem, end.parse::<usize>().ok()?)));
        let (stem, number) = match numbered {
            Some((stem, number)) => (stem.to_owned(), Some(number)),
            None => ((*name).clone(), None),
        };
        let known = found
            .iter_mut()
            .find(|(other, range)| *other == stem && range.is_some() == number.is_some());
        match (known, number) {
            (Some((_, Some((low, high)))), Some(number)) => {
                (*low, *high) = (number.min(*low), number.max(*high));
            }
            (Some(_), _) => {}
            (None, number) => found.push((stem, number.map(|number| (number, number)))),
        }
    }
    let name = |(stem, range): (String, Option<(usize, usize)>)| match range {
        None => stem,
        Some((low, high)) if low == high => format!("{stem}_{low}"),
        Some((low, high)) => format!("{stem}_{low} .. {high}"),
    };
    found.into_iter().map(name).collect()
}

#[cfg(test)]
pub(in crate::report) mod tests {
    use super::*;

    /// Returns a training that measured `total` in each epoch and `validation` in the second.
    pub(in crate::report) fn course(model: &str, seed: &str, totals: &[f64]) -> Course {
        let labels = [("model", model), ("seed", seed)];
        let row = |(at, total): (usize, &f64)| {
            let validation = if at == 1 { 2.0 * total } else { f64::NAN };
            vec![(at + 1) as f64, 12.0, *total, validation]
        };
        Course {
            labels: labels.map(|(axis, label)| (axis.to_owned(), label.to_owned())).into(),
            columns: ["epoch", "steps", "total", "validation"].map(str::to_owned).into(),
            rows: totals.iter().enumerate().map(row).collect(),
        }
    }

    /// Two runs of one model and a shorter one of another.
    pub(in crate::report) fn courses() -> Vec<Course> {
        vec![
            course("pcae", "s0", &[8.0, 4.0, 2.0]),
            course("pcae", "s1", &[4.0, 2.0, 0.0]),
            course("ae", "s0", &[9.0, 3.0]),
        ]
    }

    /// Reads a declaration.
    pub(in crate::report) fn spec(more: &str) -> LearningCurvesSpec {
        let text = format!(
            r#"(caption: "c", label: "Figure 2", series: "model", over: ["seed"], {more})"#
        );
        ron::from_str(&text).unwrap()
    }

    fn numbers(curve: &Curve) -> Vec<(usize, f64, f64, f64, usize)> {
        let numbers = |p: &CurvePoint| (p.epoch, p.mean, p.low, p.high, p.runs);
        curve.points.iter().map(numbers).collect()
    }

    #[test]
    fn a_line_has_the_mean_of_the_runs_and_a_band_from_the_lowest_to_the_highest() {
        let figure = spec(r#"titles: {"pcae": "PCAE", "total": "Total loss"}"#);
        let figure = figure.build(&courses()).unwrap();
        assert_eq!(figure.panels.len(), 1);
        assert_eq!(figure.panels[0].title, "Total loss");
        let curves = &figure.panels[0].curves;
        assert_eq!(curves.iter().map(|curve| &curve.title).collect::<Vec<_>>(), ["PCAE", "ae"]);
        assert_eq!(
            numbers(&curves[0]),
            [(1, 6.0, 4.0, 8.0, 2), (2, 3.0, 2.0, 4.0, 2), (3, 1.0, 0.0, 2.0, 2)]
        );
        assert_eq!(numbers(&curves[1]), [(1, 9.0, 9.0, 9.0, 1), (2, 3.0, 3.0, 3.0, 1)]);
        assert_eq!(
            figure.summaries(),
            [
                "Total loss, PCAE: 1 (0 to 2) in epoch 3, n = 2",
                "Total loss, ae: 3 (3 to 3) in epoch 2, n = 1"
            ]
        );
    }

    #[test]
    fn epochs_without_a_measurement_and_models_without_a_training_are_left_out() {
        let mut courses = courses();
        courses.push(Course { columns: Vec::new(), rows: Vec::new(), ..course("pca", "s0", &[]) });
        let figure = spec(r#"columns: ["validation"]"#).build(&courses).unwrap();
        let curves = &figure.panels[0].curves;
        assert_eq!(curves.len(), 2);
        assert_eq!(numbers(&curves[0]), [(2, 6.0, 4.0, 8.0, 2)]);
    }

    #[test]
    fn a_logarithmic_scale_leaves_out_what_is_not_above_zero() {
        let courses = [course("pcae", "s0", &[1.0, 0.0, -1.0, 2.0])];
        let figure = spec("scale: Log").build(&courses).unwrap();
        let epochs: Vec<_> = figure.panels[0].curves[0].points.iter().map(|p| p.epoch).collect();
        assert_eq!(epochs, [1, 4]);
        let none = [course("pcae", "s0", &[0.0, -1.0])];
        insta::assert_snapshot!(spec("scale: Log").build(&none).unwrap_err(),
            @"no training has a number above 0 in `total`, which a logarithmic scale needs");
        assert!(spec("scale: Linear").build(&none).is_ok());
    }

    #[test]
    fn trainings_that_can_not_be_shown_are_refused() {
        let message = |settings: &str, courses: &[Course]| {
            spec(settings).build(courses).unwrap_err().to_string()
        };
        let mut courses = courses();
        courses[2].columns.extend(["gamma_1", "gamma_2", "gamma_16"].map(str::to_owned));
        insta::assert_snapshot!(message(r#"columns: ["totl"]"#, &courses),
            @"no training has recorded `totl`, expected one of `epoch`, `steps`, `total`, `validation`, `gamma_1 .. 16`");
        insta::assert_snapshot!(message(r#"columns: ["gamma_1"]"#, &courses),
            @"no training has measured `gamma_1` in any epoch");
        insta::assert_snapshot!(message("", &[]), @"there are no trainings to show");
        courses.push(course("pcae", "s0", &[1.0]));
        insta::assert_snapshot!(message("", &courses),
            @"trainings 0 and 3 both stand for model=pcae, seed=s0");
        courses[3].labels.insert("set".to_owned(), "digits".to_owned());
        insta::assert_snapshot!(message("", &courses),
            @"the records have the axis `set`, which has no role: name it in one of `series`, `over`");
    }
}
