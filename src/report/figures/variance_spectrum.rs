//! The variance spectrum: how much of the latent variance each coordinate carries.
//!
//! What: per run, variances divided by their sum, and the running sum in coordinate order;
//! then mean and spread over runs, one series per label of one axis.
//! Reference: PCAE paper, section 5.1 and its figure on bottleneck sizes; how many coordinates
//! reach the threshold is counted in each run (see needed.rs).
//! Assumptions: coordinates are comparable across runs by position; they are not sorted here.
//! Checked against: hand-computed shares in the tests below.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::numerics::units::Fraction;
use crate::report::axes::check_axes;
use crate::report::figures::needed::{Needed, count};
use crate::report::figures::share_axis::percent;
use crate::report::figures::{FigureError, Scale};
use crate::report::frame::{Frame, FrameError, Spread};
use crate::report::join::{JoinError, check_fields};
use crate::report::record::{Record, RecordError, RecordValue, Values};
use crate::report::tabulate::appearance;

/// The axis added for coordinates; no pipeline axis can have this name.
const COORDINATE: &str = "#coordinate";

/// A variance spectrum as declared in a pipeline file.
///
/// ```ron
/// VarianceSpectrum(caption: "Variance of latent coordinates", label: "Figure 1",
///                  series: "model", over: ["seed"], threshold: 0.99, scale: Linear)
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VarianceSpectrumSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 1`.
    pub label: String,
    /// Name of the list of variances in the records.
    #[serde(default = "variances")]
    pub field: String,
    /// The axis whose labels each get a panel.
    pub series: String,
    /// Axes averaged over.
    #[serde(default)]
    pub over: Vec<String>,
    /// Share of variance that counts as enough.
    #[serde(default = "ninety_nine_percent")]
    pub threshold: Fraction,
    /// Scale of the share axis.
    #[serde(default)]
    pub scale: Scale,
    /// How the runs' scatter is shown.
    #[serde(default)]
    pub scatter: Scatter,
    /// Divisor of the standard deviation.
    #[serde(default)]
    pub spread: Spread,
    /// Display names of axes and of their labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

fn variances() -> String {
    "variances".to_owned()
}

fn ninety_nine_percent() -> Fraction {
    Fraction::new(0.99).unwrap_or_else(|_| unreachable!("0.99 lies between 0 and 1"))
}

/// How the scatter between runs is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scatter {
    /// One standard deviation up and down.
    #[default]
    ErrorBars,
    /// A small dot for every run.
    Dots,
}

/// The numbers behind one bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    /// Mean share of the variance, between 0 and 1.
    pub share: f64,
    /// Standard deviation of the share; none for a single run.
    pub share_std: Option<f64>,
    /// Mean share of this and all earlier coordinates.
    pub cumulative: f64,
    /// The share in every run, in record order.
    pub runs: Vec<f64>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Title of the panel.
    pub title: String,
    /// The coordinates in their own order.
    pub coordinates: Vec<Coordinate>,
    /// How many leading coordinates hold the threshold's share.
    pub needed: Needed,
}

impl Series {
    /// Writes how many coordinates reach the threshold, of how many, in how many runs.
    pub(super) fn summary(&self, threshold: f64) -> String {
        let (needed, count) = (self.needed.text(), self.coordinates.len());
        let runs = self.needed.runs.len();
        format!("{} % in {needed} of {count} coordinates, n = {runs}", percent(threshold))
    }
}

/// One run of a series.
struct Run {
    shares: Vec<f64>,
    needed: usize,
}

/// A finished variance spectrum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceSpectrum {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Share of variance that counts as enough, between 0 and 1.
    pub threshold: f64,
    /// Scale of the share axis.
    pub scale: Scale,
    /// How the runs' scatter is shown.
    pub scatter: Scatter,
    /// One panel per label, in the order of the records.
    pub series: Vec<Series>,
}

impl VarianceSpectrumSpec {
    /// Computes shares per run, then mean and spread per series and coordinate.
    pub fn build(&self, records: &[Record]) -> Result<VarianceSpectrum, FigureError> {
        let fields = [self.field.as_str()];
        check_fields(records, &fields).map_err(FrameError::from)?;
        let series_axis = std::slice::from_ref(&self.series);
        let roles: [(&'static str, &[String]); 2] = [("series", series_axis), ("over", &self.over)];
        check_axes(records, &fields, &roles, &["series", "over"])?;

        let mut runs: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
        let (mut cells, mut counts) = (Vec::new(), Vec::new());
        for (index, record) in records.iter().enumerate() {
            let Some(value) = record.values().get(&self.field) else {
                continue;
            };
            let Some(label) = record.labels().get(&self.series) else {
                let (field, axis) = (self.field.clone(), self.series.clone());
                return Err(FrameError::Unlabeled { field, record: index, axis }.into());
            };
            self.refuse_twins(&records[..index], record, index)?;
            let run = self.run(value, index)?;
            cells.extend(per_coordinate(record, &run.shares)?);
            let needed = RecordValue::Number(run.needed as f64);
            let needed = Values::from([("needed".to_owned(), needed)]);
            counts.push(Record::new(record.labels().clone(), needed)?);
            let known = runs.entry(label).or_default();
            let (first, second) = (known.first().map(|run| run.shares.len()), run.shares.len());
            if let Some(first) = first.filter(|first| *first != second) {
                return Err(FigureError::UnequalLengths { series: label.clone(), first, second });
            }
            known.push(run);
        }

        let frame = Frame::of(&cells, &["share", "cumulative"])?;
        let by = [self.series.clone(), COORDINATE.to_owned()];
        let mut means = BTreeMap::new();
        for summary in frame.summarize("share", &by, self.spread)? {
            means.insert(summary.labels, (summary.mean, summary.std));
        }
        let mut cumulative = BTreeMap::new();
        for summary in frame.summarize("cumulative", &by, self.spread)? {
            cumulative.insert(summary.labels, summary.mean);
        }

        let mut needed = BTreeMap::new();
        let counts = Frame::of(&counts, &["needed"])?;
        for summary in counts.summarize("needed", series_axis, self.spread)? {
            needed.insert(summary.labels, (summary.mean, summary.std));
        }

        let labels = appearance(records, &fields, &self.series);
        let series = labels.into_iter().map(|label| {
            let runs = runs.get(label).map_or(&[][..], Vec::as_slice);
            let width = runs.first().map_or(0, |run| run.shares.len());
            let coordinates: Vec<Coordinate> = (0..width)
                .map(|k| {
                    let place = vec![label.to_owned(), k.to_string()];
                    let (share, share_std) = means.get(&place).copied().unwrap_or_default();
                    let cumulative = cumulative.get(&place).copied().unwrap_or_default();
                    let runs = runs.iter().map(|run| run.shares[k]).collect();
                    Coordinate { share, share_std, cumulative, runs }
                })
                .collect();
            let title = self.titles.get(label).map_or(label, String::as_str).to_owned();
            let (mean, std) =
                needed.get([label.to_owned()].as_slice()).copied().unwrap_or_default();
            let runs = runs.iter().map(|run| run.needed).collect();
            Series { title, coordinates, needed: Needed { runs, mean, std } }
        });
        Ok(VarianceSpectrum {
            caption: self.caption.clone(),
            label: self.label.clone(),
            threshold: self.threshold.get(),
            scale: self.scale,
            scatter: self.scatter,
            series: series.collect(),
        })
    }

    /// Divides the variances of one run by their sum, and counts how many reach the threshold.
    fn run(&self, value: &RecordValue, record: usize) -> Result<Run, FigureError> {
        let field = self.field.clone();
        let RecordValue::List(variances) = value else {
            let (expected, found) = ("a list", value.kind());
            let error = JoinError::WrongKind { field, record, expected, found };
            return Err(FrameError::from(error).into());
        };
        if let Some(index) = variances.iter().position(|variance| *variance < 0.0) {
            let value = variances[index];
            return Err(FigureError::NegativeVariance { field, record, index, value });
        }
        let total: f64 = variances.iter().sum();
        if total <= 0.0 {
            return Err(FigureError::NoVariance { field, record });
        }
        let shares = variances.iter().map(|variance| variance / total).collect();
        Ok(Run { shares, needed: count(variances, self.threshold.get()) })
    }

    /// Refuses a second record with the labels of an earlier one.
    fn refuse_twins(
        &self,
        earlier: &[Record],
        record: &Record,
        second: usize,
    ) -> Result<(), FrameError> {
        let twin = |other: &Record| {
            other.labels() == record.labels() && other.values().contains_key(&self.field)
        };
        let Some(first) = earlier.iter().position(twin) else {
            return Ok(());
        };
        let labels: Vec<String> =
            record.labels().iter().map(|(axis, label)| format!("{axis}={label}")).collect();
        let (field, labels) = (self.field.clone(), labels.join(", "));
        Err(JoinError::Conflict { field, labels, first, second }.into())
    }
}

/// Turns one run into one record per coordinate, so that the frame can average them.
fn per_coordinate(record: &Record, shares: &[f64]) -> Result<Vec<Record>, RecordError> {
    let mut sum = 0.0;
    let coordinates = shares.iter().enumerate().map(|(k, share)| {
        sum += share;
        let mut labels = record.labels().clone();
        labels.insert(COORDINATE.to_owned(), k.to_string());
        let values = Values::from([
            ("share".to_owned(), RecordValue::Number(*share)),
            ("cumulative".to_owned(), RecordValue::Number(sum)),
        ]);
        Record::new(labels, values)
    });
    coordinates.collect()
}

#[cfg(test)]
pub(in crate::report) mod tests {
    use super::*;
    use crate::report::record::Labels;

    /// Returns the variances of one run.
    pub(in crate::report) fn run(model: &str, seed: &str, variances: &[f64]) -> Record {
        let labels = [("model", model), ("seed", seed)];
        let labels: Labels = labels.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let values = Values::from([("variances".to_owned(), RecordValue::List(variances.into()))]);
        Record::new(labels, values).unwrap()
    }

    /// Reads a declaration the way pipeline files are read.
    pub(in crate::report) fn spec(more: &str) -> VarianceSpectrumSpec {
        use ron::extensions::Extensions;
        let text = format!(
            r#"(caption: "c", label: "Figure 1", series: "model", over: ["seed"], {more})"#
        );
        ron::Options::default()
            .with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES | Extensions::IMPLICIT_SOME)
            .from_str(&text)
            .unwrap()
    }

    /// Two models with three and two coordinates.
    pub(in crate::report) fn runs() -> Vec<Record> {
        vec![
            run("pcae", "s0", &[6.0, 3.0, 1.0]),
            run("pcae", "s1", &[16.0, 2.0, 2.0]),
            run("hae", "s0", &[1.0, 1.0]),
        ]
    }

    #[test]
    fn shares_are_averaged_over_runs_with_their_spread() {
        let figure = spec("").build(&runs()).unwrap();
        let titles: Vec<&str> = figure.series.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, ["pcae", "hae"]);
        // Shares 0.6, 0.3, 0.1 and 0.8, 0.1, 0.1.
        let first = &figure.series[0].coordinates[0];
        assert!((first.share - 0.7).abs() < 1e-12);
        assert!((first.share_std.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(first.runs, [0.6, 0.8]);
        let second = &figure.series[0].coordinates[1];
        assert!((second.cumulative - 0.9).abs() < 1e-12);
        assert_eq!(figure.series[1].coordinates[0].share_std, None);
    }

    #[test]
    fn the_needed_coordinates_are_counted_in_each_run_not_in_the_mean_spectrum() {
        let figure = spec("threshold: 0.7").build(&runs()).unwrap();
        // The mean share of the first coordinate is 0.7 already, but one run needs two.
        assert_eq!(figure.series[0].needed.runs, [2, 1]);
        let summaries = |settings: &str| -> Vec<String> {
            let figure = spec(settings).build(&runs()).unwrap();
            figure.series.iter().map(|series| series.summary(figure.threshold)).collect()
        };
        let two = "70 % in 2 of 2 coordinates, n = 1";
        assert_eq!(summaries("threshold: 0.7"), ["70 % in 1.5 ± 0.5 of 3 coordinates, n = 2", two]);
        assert_eq!(
            summaries("threshold: 0.7, spread: Sample"),
            ["70 % in 1.5 ± 0.7 of 3 coordinates, n = 2", two]
        );
        assert_eq!(summaries("threshold: 1.0")[0], "100 % in 3 of 3 coordinates, n = 2");
    }

    #[test]
    fn runs_that_cannot_be_averaged_are_refused() {
        let message = |more: Record| {
            let records = [runs(), vec![more]].concat();
            spec("").build(&records).unwrap_err().to_string()
        };
        insta::assert_snapshot!(message(run("pcae", "s2", &[1.0])),
            @"`pcae` has runs with 3 and with 1 coordinates, expected one number");
        insta::assert_snapshot!(message(run("pcae", "s2", &[1.0, -0.5, 0.0])),
            @"element 1 of `variances` in record 3 is -0.5, expected at least 0");
        insta::assert_snapshot!(message(run("pcae", "s2", &[0.0, 0.0, 0.0])),
            @"the variances `variances` of record 3 sum to zero, so they have no shares");
        insta::assert_snapshot!(message(run("pcae", "s0", &[1.0, 1.0, 1.0])),
            @"records 0 and 3 both give `variances` for model=pcae, seed=s0");
    }
}
