//! What the stages know of their artifacts and of their work before anything runs.
//!
//! Counts are simple on purpose: they are divided by the rates of earlier runs of the same kind, so
//! only how they grow with the settings matters. Without such runs the rate is that of training,
//! and a count is the number of training operations that would take the same time.

use super::train::Train;
use crate::data::{Extent, ImageShape, Recipe, SampleForm};
use crate::engine::stage::Inputs;
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::models::{Flops, ModelSpec};
use crate::numerics::PrincipalAxes;
use crate::training::{Length, per_epoch};

/// Operations of the Inception network for one image of 299 x 299 pixels.
pub(super) const INCEPTION: Work = Work(11.4e9);

/// Operations that take as long as visiting one edge in a search for shortest paths, which mostly
/// waits for memory.
const PER_VISIT: f64 = 100.0;

/// Estimates samples of a known extent.
pub(super) fn sample_estimate(extent: &Extent) -> ArtifactEstimate {
    let shape = match extent.form {
        SampleForm::Image(ImageShape { channels, height, width }) => vec![channels, height, width],
        SampleForm::Vector { width } => vec![width],
    };
    ArtifactEstimate { rows: Some(extent.count), shape, ..ArtifactEstimate::default() }
}

/// Estimates what a recipe makes of samples.
pub(super) fn prepared_estimate(
    samples: &ArtifactEstimate,
    recipe: &Recipe<'_>,
) -> ArtifactEstimate {
    match (samples.rows, form(samples)) {
        (Some(rows), Some(form)) => sample_estimate(&Extent::new(rows, form).after(recipe)),
        _ => ArtifactEstimate::default(),
    }
}

/// Returns the form of samples, if it is known.
pub(super) fn form(samples: &ArtifactEstimate) -> Option<SampleForm> {
    match samples.shape[..] {
        [channels, height, width] => {
            Some(SampleForm::Image(ImageShape { channels, height, width }))
        }
        [width] => Some(SampleForm::Vector { width }),
        _ => None,
    }
}

/// Returns the work of applying a model to samples.
pub(super) fn application(
    model: Option<&ArtifactEstimate>,
    samples: Option<&ArtifactEstimate>,
) -> Option<Work> {
    let work = model?.application.times(samples?.rows? as f64);
    (work.0 > 0.0).then_some(work)
}

/// Estimates a trained model: the shape of its codes, and the work of applying it to one sample.
pub(super) fn model_estimate(
    model: &ModelSpec,
    samples: Option<&ArtifactEstimate>,
) -> ArtifactEstimate {
    let flops = samples.and_then(form).and_then(|form| model.flops(form).ok());
    let application =
        flops.map_or(Work::default(), |Flops { encode, decode }| Work(encode + decode));
    ArtifactEstimate { rows: None, shape: vec![model.latent()], application }
}

/// Returns the work of a training.
pub(super) fn training(train: &Train, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
    let samples = inputs.one("data")?;
    let (rows, form) = (samples.rows?, form(samples)?);
    if train.model.is_closed_form() {
        return Some(Work(PrincipalAxes::operations(rows, form.values())));
    }
    let batch = train.batch_size.get().min(rows);
    let learned = train.model.training_flops(form, batch).ok()?;
    let tested = inputs.one("validation").and_then(|samples| samples.rows);
    let Flops { encode, decode } = train.model.flops(form).ok()?;
    let mut epochs = epochs(train.length, rows, train.batch_size.get());
    if let Some(stopping) = train.early_stopping {
        // Where it stops is not known before: half of the longest time is a guess.
        epochs = 0.5 * epochs + stopping.cooldown.map_or(0.0, |epochs| epochs.get() as f64);
    }
    let validated = (encode + decode) * train.model.stages() as f64;
    Some(Work(epochs * (learned * rows as f64 + validated * tested.unwrap_or(0) as f64)))
}

/// Returns the number of passes over the samples; a number of steps may cut the last one short.
fn epochs(length: Length, rows: usize, batch: usize) -> f64 {
    let per_epoch = per_epoch(rows, batch);
    length.steps(per_epoch) as f64 / per_epoch as f64
}

/// Returns the work of comparing `queries` points, or all, with all points.
pub(super) fn neighbor_search(
    points: Option<&ArtifactEstimate>,
    queries: Option<usize>,
) -> Option<Work> {
    let points = points?;
    let (rows, width) = (points.rows?, points.width()?);
    let queries = queries.map_or(rows, |queries| queries.min(rows));
    Some(Work(queries as f64 * comparing(rows, width)))
}

/// Returns the operations of comparing one point with `points` others.
pub(super) const fn comparing(points: usize, width: usize) -> f64 {
    points as f64 * 2.0 * width as f64
}

/// Returns the operations of finding the paths from one of `points` to all others.
pub(super) const fn visiting(points: usize, neighbors: usize) -> f64 {
    PER_VISIT * points as f64 * neighbors as f64
}

/// Returns the work of all shortest paths on a neighbor graph of all points, or of anchors only.
pub(super) fn shortest_paths(
    points: Option<&ArtifactEstimate>,
    neighbors: usize,
    anchors: Option<usize>,
) -> Option<Work> {
    let rows = points?.rows?;
    let nodes = anchors.unwrap_or(rows).min(rows);
    let search = neighbor_search(points, Some(nodes))?;
    Some(Work(search.0 + nodes as f64 * visiting(nodes, neighbors)))
}
