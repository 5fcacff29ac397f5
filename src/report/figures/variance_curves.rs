//! Variance curves: the share of each coordinate, or the running sum, several codes in one panel.
//!
//! What: shares as in a variance spectrum (see `variance_spectrum.rs`), one line per label of one
//! axis and one panel per label of another, so that codes of different lengths compare.
//! Reference: PCAE paper, its figure of variances under different bottleneck sizes.
//! Checked against: hand-computed shares in the tests below.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::numerics::units::Fraction;
use crate::report::axes::check_axes;
use crate::report::figures::needed::Needed;
use crate::report::figures::share_axis::percent;
use crate::report::figures::variance_spectrum::{Coordinate, Scatter, VarianceSpectrumSpec};
use crate::report::figures::{FigureError, Scale};
use crate::report::frame::{FrameError, Spread};
use crate::report::join::check_fields;
use crate::report::record::Record;
use crate::report::tabulate::appearance;

/// Variance curves as declared in a pipeline file.
///
/// ```ron
/// VarianceCurves(caption: "Variances under different bottlenecks", label: "Figure 1",
///                series: "latent", panels: "set", over: ["seed"], scale: Log)
/// VarianceCurves(caption: "Cumulative variance", label: "Figure 2", show: Cumulative,
///                series: "model", over: ["seed"], thresholds: [0.99, 0.999])
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VarianceCurvesSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 1`.
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
    /// Shares of variance that count as enough; how many coordinates reach them is written.
    #[serde(default = "ninety_nine_percent")]
    pub thresholds: Vec<Fraction>,
    /// Scale of the share axis.
    #[serde(default)]
    pub scale: Scale,
    /// Divisor of the standard deviation.
    #[serde(default)]
    pub spread: Spread,
    /// Panels side by side, at most three; one stays within a column of a paper.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    pub needed: Vec<Needed>,
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
    pub fn build(&self, records: &[Record]) -> Result<VarianceCurves, FigureError> {
        let fields = [self.field.as_str()];
        check_fields(records, &fields).map_err(FrameError::from)?;
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
            let title = label.map_or_else(String::new, |label| self.title(label));
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

    fn title(&self, label: &str) -> String {
        self.titles.get(label).map_or(label, String::as_str).to_owned()
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
                VarianceCurve { title: self.title(label), coordinates, needed }
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

impl VarianceCurves {
    /// Returns one line for each curve: how many coordinates reach each threshold.
    pub(super) fn summaries(&self) -> Vec<String> {
        let lines = self.panels.iter().flat_map(|panel| {
            panel.curves.iter().filter(|curve| !curve.needed.is_empty()).map(|curve| {
                let counts = self.thresholds.iter().zip(&curve.needed);
                let counts =
                    counts.map(|(t, needed)| format!("{} % in {}", percent(*t), needed.text()));
                let counts: Vec<String> = counts.collect();
                let place = if panel.title.is_empty() { "" } else { ", " };
                let (all, title) = (curve.coordinates.len(), &curve.title);
                format!("{}{place}{title}: {} of {all} coordinates", panel.title, counts.join(", "))
            })
        });
        lines.collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::record::{Labels, RecordValue, Values};

    /// Returns the variances of one run.
    pub(in crate::report::figures) fn run(set: &str, latent: &str, variances: &[f64]) -> Record {
        let labels = [("set", set), ("latent", latent), ("seed", "s0")];
        let labels: Labels = labels.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let values = Values::from([("variances".to_owned(), RecordValue::List(variances.into()))]);
        Record::new(labels, values).unwrap()
    }

    /// Reads a declaration.
    pub(in crate::report::figures) fn spec(settings: &str) -> VarianceCurvesSpec {
        let text = format!(
            r#"(caption: "c", label: "l", series: "latent", panels: Some("set"), over: ["seed"],
               {settings})"#
        );
        ron::from_str(&text).unwrap()
    }

    /// Codes of three and of four coordinates.
    pub(in crate::report::figures) fn runs() -> Vec<Record> {
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
                "sprites, 3: 50 % in 1, 90 % in 2 of 3 coordinates",
                "sprites, four: 50 % in 1, 90 % in 2 of 4 coordinates",
                "shapes, four: 50 % in 2, 90 % in 4 of 4 coordinates",
            ]
        );
    }

    #[test]
    fn an_axis_without_a_role_is_refused() {
        let mut figure = spec("");
        figure.panels = None;
        assert_eq!(
            figure.build(&runs()).unwrap_err().to_string(),
            "the records have the axis `set`, which has no role: \
             name it in one of `series`, `panels`, `over`"
        );
    }
}
