//! The stage kind [`Figure`].

mod problems;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, AnySamples, TrainingHistory};
use super::records::labeled_records;
use crate::engine::stage::artifact::Artifact;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Inputs, Kind, Labels, Problem, Producer, Stage, StageRef};
use crate::geometry::Distances;
use crate::numerics::Points;
use crate::report::{FigureInputs, FigureSpec, TrainingLog, Values};

/// A figure of records, images, codes or training histories.
///
/// ```ron
/// "variance-spectrum": Figure(
///     records: [Each("dimension-{model}-{seed}")],
///     picture: VarianceSpectrum(caption: "..", label: "Figure 1", series: "model", over: ["seed"]),
/// ),
/// "digits": Figure(
///     images: "train-images",
///     picture: ContactSheet(caption: "..", label: "Figure 2", columns: 10, count: 50,
///                           pick: Spread, under: ["class"]),   // or First, Random(seed)
/// ),
/// "interpolation": Figure(
///     paths: [Each("paths-{model}")],                          // of `Interpolate` stages
///     images: "test-images",                                   // their `data`, for the real ends
///     picture: Interpolation(caption: "..", label: "Figure 2", titles: {"pcae": "PCAE"}),
/// ),
/// "losses": Figure(
///     models: [Each("train-{model}-{seed}")],
///     picture: LearningCurves(caption: "..", label: "Figure 3", columns: ["total", "reconstruction"],
///                             scale: Log, series: "model", over: ["seed"]),
/// ),
/// "bottlenecks": Figure(
///     records: [Each("dimension-{model}-{seed}")],
///     picture: VarianceCurves(caption: "..", label: "Figure 4", show: Cumulative,   // or Shares
///                             series: "model", over: ["seed"], thresholds: [0.99, 0.999]),
/// ),
/// "gamma": Figure(
///     models: [Each("train-{model}-{seed}")],
///     picture: CoordinateCourse(caption: "..", label: "Figure 5", column: "gamma",  // or "variance"
///                               scale: Log, panels: "model", over: ["seed"]),
/// ),
/// "traversals": Figure(
///     paths: [Each("traversals-{model}")],              // of `Interpolate(between: Traversal(..))`
///     picture: Traversals(caption: "..", label: "Figure 6"),
/// ),
/// "reconstructions": Figure(
///     paths: [Each("decoded-{model}")],                 // of `Interpolate(between: Samples(..))`
///     images: "test-images",                            // their `data`
///     picture: Reconstructions(caption: "..", label: "Figure 7"),
/// ),
/// "codes": Figure(
///     codes: [Each("codes-{model}")],                   // of `Encode` stages
///     samples: "test-images",                           // their `data`, for the color
///     picture: CodeScatter(caption: "..", label: "Figure 8", coordinates: (1, 2), color: "scale"),
/// ),
/// "isometry": Figure(
///     codes: [Each("train-codes-{model}")],
///     distances: "distances",                           // of `Geodesic`, on the same samples
///     picture: DistanceScatter(caption: "..", label: "Figure 9", pairs: 2000, unit: Fitted),
/// ),
/// "runtime": Figure(
///     records: [Each("runtime-{model}-{seed}")],
///     picture: Bars(caption: "..", label: "Figure 10", field: "seconds_per_epoch",
///                   title: "Seconds per epoch", bars: "model", over: ["seed"], scale: Log),
/// )
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Families of records; those with equal labels are joined.
    #[serde(default, skip_serializing)]
    pub records: Vec<Each<Values>>,
    /// Images, for pictures that show images; with `paths`, those that the paths lie between.
    #[serde(default, skip_serializing)]
    pub images: Option<StageRef<AnyImages>>,
    /// Families of trained models, for pictures that show how they were trained.
    #[serde(default, skip_serializing)]
    pub models: Vec<Each<TrainingHistory>>,
    /// Families of interpolated images, for pictures that show paths.
    #[serde(default, skip_serializing)]
    pub paths: Vec<Each<AnyImages>>,
    /// Families of codes, for pictures that show codes as points.
    #[serde(default, skip_serializing)]
    pub codes: Vec<Each<Points>>,
    /// The samples that were encoded to `codes`, for their factors and classes.
    #[serde(default, skip_serializing)]
    pub samples: Option<StageRef<AnySamples>>,
    /// Distances between the samples that were encoded to `codes`.
    #[serde(default, skip_serializing)]
    pub distances: Option<StageRef<Distances>>,
    /// The figure to draw.
    pub picture: FigureSpec,
}

impl Stage for Figure {
    fn kind(&self) -> Kind {
        Kind { name: "Figure", version: 3 }
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = each("records", &self.records);
        inputs.extend(self.images.iter().map(|images| images.input("images")));
        inputs.extend(each("models", &self.models));
        inputs.extend(each("paths", &self.paths));
        inputs.extend(each("codes", &self.codes));
        inputs.extend(self.samples.iter().map(|samples| samples.input("samples")));
        inputs.extend(self.distances.iter().map(|distances| distances.input("distances")));
        inputs
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "figure".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        problems::of(self, inputs)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let figure = self.picture.finish(&self.load(context)?)?;
        for panel in figure.summaries() {
            context.log(&panel);
        }
        context.store(&figure)
    }
}

/// Returns the inputs of families.
fn each<T: Artifact>(field: &str, families: &[Each<T>]) -> Vec<Input> {
    let families = families.iter().enumerate();
    families.map(|(at, family)| family.input(&format!("{field}[{at}]"))).collect()
}

/// Loads all families, with the labels of the stages that made them.
fn load_all<T: Artifact>(
    context: &RunContext,
    families: &[Each<T>],
) -> Result<Vec<(Labels, T)>, StageError> {
    let mut loaded = Vec::new();
    for family in families {
        loaded.extend(context.load_each(family)?);
    }
    Ok(loaded)
}

/// Loads families whose members get a panel each, with the labels by which these differ.
fn load_panels<T: Artifact>(
    context: &RunContext,
    families: &[Each<T>],
) -> Result<Vec<(Labels, T)>, StageError> {
    load_all(context, families).map(with_differing_labels)
}

/// Keeps the labels by which members differ: what all have in common is no title.
fn with_differing_labels<T>(mut members: Vec<(Labels, T)>) -> Vec<(Labels, T)> {
    let Some((first, _)) = members.first() else {
        return members;
    };
    let first = first.clone();
    let is_common = |axis: &str, label: &str| {
        members.iter().all(|(labels, _)| labels.get(axis).is_some_and(|other| other == label))
    };
    let common: Vec<String> = first
        .iter()
        .filter(|(axis, label)| members.len() > 1 && is_common(axis, label))
        .map(|(axis, _)| axis.clone())
        .collect();
    for (labels, _) in &mut members {
        labels.retain(|axis, _| !common.contains(axis));
    }
    members
}

impl Figure {
    /// Loads everything that is given, which is what the picture shows.
    fn load(&self, context: &RunContext) -> Result<FigureInputs, StageError> {
        let images = self.images.as_ref().map(|images| context.load(images)).transpose()?;
        let samples = self.samples.as_ref().map(|samples| context.load(samples)).transpose()?;
        let distances = self.distances.as_ref().map(|distances| context.load(distances));
        let training = |(labels, TrainingHistory(history)): (Labels, TrainingHistory)| {
            TrainingLog { labels, columns: history.columns, rows: history.rows }
        };
        let paths = load_panels(context, &self.paths)?.into_iter();
        let inputs = FigureInputs {
            records: labeled_records(context, &self.records)?,
            images: images.map(|AnyImages(images)| images),
            trainings: load_all(context, &self.models)?.into_iter().map(training).collect(),
            paths: paths.map(|(labels, AnyImages(images))| (labels, images)).collect(),
            codes: load_panels(context, &self.codes)?,
            samples: samples.map(|AnySamples(samples)| samples),
            distances: distances.transpose()?,
        };
        if !self.records.is_empty() {
            context.log(&format!("{} records", inputs.records.len()));
        }
        if !self.models.is_empty() {
            context.log(&format!("{} training runs", inputs.trainings.len()));
        }
        Ok(inputs)
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r#"Figure(
    records: [Each("dimension-{seed}")],
    picture: VarianceSpectrum(caption: "c", label: "l", series: "seed"),
)"#,
    "dd3c699b",
);
