//! What a conclusion rests on: estimates without a model, and what each model counted and lost.

use std::collections::BTreeMap;

use crate::report::figures::titles::display_name;
use crate::report::records::record::{Labels, Record, RecordValue};

/// A 90 % interval of a dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end; none if the data set no upper bound.
    pub high: Option<f64>,
}

impl Interval {
    /// Returns whether it holds a dimension.
    pub(super) fn holds(&self, dimension: f64) -> bool {
        self.low <= dimension && self.high.is_none_or(|high| dimension <= high)
    }

    /// Returns whether any dimension is in both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let starts_in_time = |one: &Self, two: &Self| two.high.is_none_or(|high| one.low <= high);
        starts_in_time(self, other) && starts_in_time(other, self)
    }
}

/// A dimension estimated without a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFreeEstimate {
    /// How the estimator is shown.
    pub title: String,
    /// The estimate.
    pub dimension: f64,
    /// Its standard error, which does not include bias.
    pub spread: f64,
    /// Its interval with the bias included, if that is known.
    pub interval: Option<Interval>,
    /// How many points it rests on, if that is known.
    pub points: Option<usize>,
}

/// One model: what its code counted in every run, and how well it reconstructs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelResult {
    /// How the model is shown.
    pub title: String,
    /// The count of every run.
    pub counts: Vec<f64>,
    /// Coordinates of the code, if that is known.
    pub coordinates: Option<usize>,
    /// Total variance of the code in every run.
    pub variances: Vec<f64>,
    /// Reconstruction error of every run.
    pub errors: Vec<f64>,
    /// Whether it is the model that others are measured by, such as PCA.
    pub is_baseline: bool,
}

/// Everything that a conclusion rests on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Estimates without a model.
    pub estimates: Vec<ModelFreeEstimate>,
    /// Models.
    pub models: Vec<ModelResult>,
    /// How many values a sample has, if that is known.
    pub width: Option<usize>,
}

/// How the labels and values of records are to be understood.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Axes that number the runs.
    pub over: &'a [String],
    /// The label of the model that others are measured by.
    pub baseline: &'a str,
    /// Name of the error in the records.
    pub error: &'a str,
    /// Display names of labels.
    pub titles: &'a BTreeMap<String, String>,
    /// How many values a sample has.
    pub width: Option<usize>,
}

impl Evidence {
    /// Gathers records; those of counts and errors belong together where their labels agree.
    pub fn of(
        reading: Reading<'_>,
        estimates: &[Record],
        counts: &[Record],
        errors: &[Record],
    ) -> Self {
        let mut models = Vec::new();
        let groups = grouped(counts, reading.over);
        let varying = varying_axes(groups.iter().map(|(labels, _)| labels));
        for (labels, runs) in &groups {
            let own = |error: &&Record| {
                let fits = |(axis, label): (&String, &String)| {
                    reading.over.contains(axis)
                        || labels.get(axis).is_none_or(|known| known == label)
                };
                error.labels().iter().all(fits)
            };
            let errors = errors.iter().filter(own);
            models.push(ModelResult {
                title: title(&reading, labels, &varying),
                counts: runs.iter().filter_map(|run| number(run, "dimension")).collect(),
                coordinates: runs.iter().filter_map(|run| run.coordinates()).max(),
                variances: runs.iter().filter_map(|run| number(run, "total_variance")).collect(),
                errors: errors.filter_map(|run| number(run, reading.error)).collect(),
                is_baseline: labels.values().any(|label| label == reading.baseline),
            });
        }
        let plain: Vec<Labels> =
            estimates.iter().map(|record| without(record.labels(), reading.over)).collect();
        let varying = varying_axes(plain.iter());
        let estimates = estimates.iter().zip(&plain).filter_map(|(record, labels)| {
            Some(ModelFreeEstimate {
                title: title(&reading, labels, &varying),
                dimension: number(record, "dimension")?,
                spread: number(record, "spread").unwrap_or_default(),
                interval: number(record, "interval_low").map(|low| {
                    let is_open = number(record, "interval_open") == Some(1.0);
                    let high = number(record, "interval_high").filter(|_| !is_open);
                    Interval { low, high }
                }),
                points: number(record, "points_used").map(|points| points as usize),
            })
        });
        Self { estimates: estimates.collect(), models, width: reading.width }
    }
}

fn number(record: &Record, field: &str) -> Option<f64> {
    match record.values().get(field) {
        Some(RecordValue::Number(number)) => Some(*number),
        _ => None,
    }
}

fn without(labels: &Labels, axes: &[String]) -> Labels {
    labels
        .iter()
        .filter(|(axis, _)| !axes.contains(axis))
        .map(|(axis, label)| (axis.clone(), label.clone()))
        .collect()
}

/// Returns the records of equal labels together, apart from the axes of runs, in their own order.
fn grouped<'a>(records: &'a [Record], over: &[String]) -> Vec<(Labels, Vec<&'a Record>)> {
    let mut groups: Vec<(Labels, Vec<&Record>)> = Vec::new();
    for record in records {
        let labels = without(record.labels(), over);
        match groups.iter_mut().find(|(known, _)| *known == labels) {
            Some((_, runs)) => runs.push(record),
            None => groups.push((labels, vec![record])),
        }
    }
    groups
}

/// Returns the axes on which labels differ.
fn varying_axes<'a>(all: impl Iterator<Item = &'a Labels>) -> Vec<String> {
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (axis, label) in all.flatten() {
        let known = seen.entry(axis).or_default();
        if !known.contains(&label.as_str()) {
            known.push(label);
        }
    }
    seen.into_iter()
        .filter(|(_, labels)| labels.len() > 1)
        .map(|(axis, _)| axis.to_owned())
        .collect()
}

/// Names a group by what tells it from the others; a single one by all its labels.
fn title(reading: &Reading<'_>, labels: &Labels, varying: &[String]) -> String {
    let telling = labels.iter().filter(|(axis, _)| varying.is_empty() || varying.contains(axis));
    let shown = telling.map(|(_, label)| display_name(reading.titles, label));
    shown.collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;

    #[test]
    fn runs_of_a_model_and_its_errors_are_found_by_their_labels() {
        let labels = |model, seed| [("count", "axes"), ("model", model), ("seed", seed)];
        let counts = [
            record(&labels("pcae", "0"), &[("dimension", 4.0), ("total_variance", 2.0)]),
            record(&labels("pcae", "1"), &[("dimension", 5.0), ("total_variance", 2.5)]),
            record(&labels("pca", "0"), &[("dimension", 9.0), ("total_variance", 3.0)]),
        ];
        let errors = [
            record(&[("model", "pca"), ("seed", "0")], &[("squared_error", 0.5)]),
            record(&[("model", "pcae"), ("seed", "0")], &[("squared_error", 0.25)]),
            record(&[("model", "pcae"), ("seed", "1")], &[("squared_error", 0.75)]),
        ];
        let estimates = [
            record(
                &[("estimator", "mle")],
                &[("dimension", 3.9), ("interval_low", 3.5), ("points_used", 300.0)],
            ),
            record(&[("estimator", "two")], &[("dimension", 4.1), ("spread", 0.1)]),
            record(
                &[("estimator", "local-pca")],
                &[
                    ("dimension", 40.0),
                    ("interval_low", 30.0),
                    ("interval_high", 784.0),
                    ("interval_open", 1.0),
                ],
            ),
        ];
        let titles = BTreeMap::from([("pcae".to_owned(), "PCAE".to_owned())]);
        let over = ["seed".to_owned()];
        let reading = Reading {
            over: &over,
            baseline: "pca",
            error: "squared_error",
            titles: &titles,
            width: None,
        };
        let found = Evidence::of(reading, &estimates, &counts, &errors);
        assert_eq!(found.models[0].title, "PCAE");
        assert_eq!(found.models[0].counts, [4.0, 5.0]);
        assert_eq!(found.models[0].errors, [0.25, 0.75]);
        assert!(found.models[1].is_baseline && !found.models[0].is_baseline);
        assert_eq!(found.estimates[0].interval, Some(Interval { low: 3.5, high: None }));
        assert_eq!(found.estimates[0].points, Some(300));
        assert_eq!(found.estimates[2].interval, Some(Interval { low: 30.0, high: None }));
        assert_eq!((found.estimates[1].interval, found.estimates[1].spread), (None, 0.1));
    }
}
