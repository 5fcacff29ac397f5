//! `Figure`: records, images, codes or the trainings of models as a picture.
//!
//! ```ron
//! "variance-spectrum": Figure(
//!     records: [Each("dimension-{model}-{seed}")],
//!     picture: VarianceSpectrum(caption: "..", label: "Figure 1", series: "model", over: ["seed"]),
//! ),
//! "digits": Figure(
//!     images: "train-images",
//!     picture: ContactSheet(caption: "..", label: "Figure 2", columns: 10, count: 50,
//!                           pick: Spread, under: ["class"]),   // or First, Random(seed)
//! ),
//! "interpolation": Figure(
//!     paths: [Each("paths-{model}")],                          // of `Interpolate` stages
//!     images: "test-images",                                   // their `data`, for the real ends
//!     picture: Interpolation(caption: "..", label: "Figure 2", titles: {"pcae": "PCAE"}),
//! ),
//! "losses": Figure(
//!     models: [Each("train-{model}-{seed}")],
//!     picture: LearningCurves(caption: "..", label: "Figure 3", columns: ["total", "reconstruction"],
//!                             scale: Log, series: "model", over: ["seed"]),
//! ),
//! "bottlenecks": Figure(
//!     records: [Each("dimension-{model}-{seed}")],
//!     picture: VarianceCurves(caption: "..", label: "Figure 4", show: Cumulative,   // or Shares
//!                             series: "model", over: ["seed"], thresholds: [0.99, 0.999]),
//! ),
//! "gamma": Figure(
//!     models: [Each("train-{model}-{seed}")],
//!     picture: CoordinateCourse(caption: "..", label: "Figure 5", column: "gamma",  // or "variance"
//!                               scale: Log, panels: "model", over: ["seed"]),
//! ),
//! "traversals": Figure(
//!     paths: [Each("traversals-{model}")],              // of `Interpolate(between: Traversal(..))`
//!     picture: Traversals(caption: "..", label: "Figure 6"),
//! ),
//! "reconstructions": Figure(
//!     paths: [Each("decoded-{model}")],                 // of `Interpolate(between: Samples(..))`
//!     images: "test-images",                            // their `data`
//!     picture: Reconstructions(caption: "..", label: "Figure 7"),
//! ),
//! "codes": Figure(
//!     codes: [Each("codes-{model}")],                   // of `Encode` stages
//!     samples: "test-images",                           // their `data`, for the color
//!     picture: CodeScatter(caption: "..", label: "Figure 8", coordinates: (1, 2), color: "scale"),
//! ),
//! "isometry": Figure(
//!     codes: [Each("train-codes-{model}")],
//!     distances: "distances",                           // of `Geodesic`, on the same samples
//!     picture: DistanceScatter(caption: "..", label: "Figure 9", pairs: 2000, unit: Fitted),
//! ),
//! "runtime": Figure(
//!     records: [Each("runtime-{model}-{seed}")],
//!     picture: Bars(caption: "..", label: "Figure 10", field: "seconds_per_epoch",
//!                   title: "Seconds per epoch", bars: "model", over: ["seed"], scale: Log),
//! )
//! ```

mod codes;
mod problems;
mod review;
mod rows;
mod sheet;
mod strips;

use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, AnySamples, TrainingHistory};
use super::records::labeled_records;
use crate::engine::artifact::Artifact;
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Kind, Labels, Problem, Producer, Stage, StageRef};
use crate::geometry::Distances;
use crate::numerics::Points;
use crate::report::{Course, Figure as Drawn, FigureSpec, Record, Values};

/// Settings of a figure stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// The samples that `codes` are of, for what is known of them.
    #[serde(default, skip_serializing)]
    pub samples: Option<StageRef<AnySamples>>,
    /// Distances between the samples that `codes` are of.
    #[serde(default, skip_serializing)]
    pub distances: Option<StageRef<Distances>>,
    /// What is drawn.
    pub picture: FigureSpec,
}

impl Stage for Figure {
    fn kind(&self) -> Kind {
        Kind { name: "Figure", version: 1 }
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

    fn output(&self, _inputs: &[Vec<&str>]) -> String {
        "figure".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
        problems::of(self, inputs)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let figure = self.drawn(context)?;
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

/// Loads families whose members get a panel each, with the labels that tell these apart.
fn load_panels<T: Artifact>(
    context: &RunContext,
    families: &[Each<T>],
) -> Result<Vec<(Labels, T)>, StageError> {
    load_all(context, families).map(told_apart)
}

/// Keeps the labels by which members differ: what all have in common is no title.
fn told_apart<T>(mut members: Vec<(Labels, T)>) -> Vec<(Labels, T)> {
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
    /// Loads what the picture shows, and builds it.
    fn drawn(&self, context: &RunContext) -> Result<Drawn, StageError> {
        let images = |context: &RunContext| {
            let images = self.images.as_ref().map(|images| context.load(images)).transpose();
            images.map(|images| images.map(|AnyImages(images)| images))
        };
        Ok(match &self.picture {
            FigureSpec::Bars(spec) => Drawn::Bars(spec.build(&self.load_records(context)?)?),
            FigureSpec::CodeScatter(spec) => {
                let samples = self.samples.as_ref().map(|samples| context.load(samples));
                let samples = samples.transpose()?.map(|AnySamples(samples)| samples);
                let codes = load_panels(context, &self.codes)?;
                Drawn::CodeScatter(codes::code_scatter(spec, &codes, samples.as_ref())?)
            }
            FigureSpec::ContactSheet(spec) => {
                let images = images(context)?.ok_or("there are no images")?;
                Drawn::ContactSheet(sheet::sheet(spec, &images)?)
            }
            FigureSpec::CoordinateCourse(spec) => {
                Drawn::CoordinateCourse(spec.build(&self.load_courses(context)?)?)
            }
            FigureSpec::DistanceScatter(spec) => {
                let distances = self.distances.as_ref().ok_or("there are no distances")?;
                let (codes, distances) =
                    (load_panels(context, &self.codes)?, context.load(distances)?);
                Drawn::DistanceScatter(codes::distance_scatter(spec, &codes, &distances)?)
            }
            FigureSpec::Interpolation(spec) => {
                let (paths, ends) = (load_panels(context, &self.paths)?, images(context)?);
                Drawn::Interpolation(strips::strips(spec, &paths, ends.as_ref())?)
            }
            FigureSpec::LearningCurves(spec) => {
                Drawn::LearningCurves(spec.build(&self.load_courses(context)?)?)
            }
            FigureSpec::Reconstructions(spec) => {
                let real = images(context)?.ok_or("there are no images")?;
                let decoded = load_panels(context, &self.paths)?;
                Drawn::Reconstructions(rows::reconstructions(spec, &decoded, &real)?)
            }
            FigureSpec::Traversals(spec) => {
                Drawn::Traversals(rows::traversals(spec, &load_panels(context, &self.paths)?)?)
            }
            FigureSpec::VarianceCurves(spec) => {
                Drawn::VarianceCurves(spec.build(&self.load_records(context)?)?)
            }
            FigureSpec::VarianceSpectrum(spec) => {
                Drawn::VarianceSpectrum(spec.build(&self.load_records(context)?)?)
            }
        })
    }

    fn load_records(&self, context: &RunContext) -> Result<Vec<Record>, StageError> {
        let records = labeled_records(context, &self.records)?;
        context.log(&format!("{} records", records.len()));
        Ok(records)
    }

    /// Loads what trainings recorded.
    fn load_courses(&self, context: &RunContext) -> Result<Vec<Course>, StageError> {
        let course = |(labels, TrainingHistory(history)): (Labels, TrainingHistory)| Course {
            labels,
            columns: history.columns,
            rows: history.rows,
        };
        let courses: Vec<Course> =
            load_all(context, &self.models)?.into_iter().map(course).collect();
        context.log(&format!("{} trainings", courses.len()));
        Ok(courses)
    }
}
