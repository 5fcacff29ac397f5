//! What the stages know of their artifacts and of their work before anything runs.
//!
//! Counts are simple on purpose: they are divided by rates that earlier runs of the same kind had,
//! so only how they grow with the settings matters. Where there were no such runs the rate is that
//! of a training, and a count is what the stage's time is worth in operations of one.

use super::train::Train;
use crate::data::{Extent, ImageShape, Recipe, SampleForm};
use crate::engine::cost::{Outlook, Work};
use crate::models::{Effort, ModelSpec};
use crate::training::Length;

/// Operations of the Inception network for one image of 299 x 299 pixels.
pub(super) const INCEPTION: Work = Work(11.4e9);

/// What one visit of an edge in a search for shortest ways is worth: mostly waiting for memory.
const PER_VISIT: f64 = 100.0;

/// Returns the only artifact behind an input.
pub(super) fn of_input(inputs: &[Vec<Outlook>], place: usize) -> Option<&Outlook> {
    inputs.get(place)?.first()
}

/// Returns what samples are known by.
pub(super) fn of_extent(extent: &Extent) -> Outlook {
    let shape = match extent.form {
        SampleForm::Image(ImageShape { channels, height, width }) => vec![channels, height, width],
        SampleForm::Vector { width } => vec![width],
    };
    Outlook { rows: Some(extent.count), shape, ..Outlook::default() }
}

/// Returns what samples become that a recipe is followed with.
pub(super) fn prepared(samples: &Outlook, recipe: &Recipe<'_>) -> Outlook {
    match (samples.rows, form(samples)) {
        (Some(rows), Some(form)) => of_extent(&Extent::new(rows, form).after(recipe)),
        _ => Outlook::default(),
    }
}

/// Returns the form of samples, if it is known.
pub(super) fn form(samples: &Outlook) -> Option<SampleForm> {
    match samples.shape[..] {
        [channels, height, width] => {
            Some(SampleForm::Image(ImageShape { channels, height, width }))
        }
        [width] => Some(SampleForm::Vector { width }),
        _ => None,
    }
}

/// Returns the work of applying a model to samples.
pub(super) fn application(model: Option<&Outlook>, samples: Option<&Outlook>) -> Option<Work> {
    let work = model?.application.times(samples?.rows? as f64);
    (work.0 > 0.0).then_some(work)
}

/// Returns what a trained model is known by: the shape of its codes, and the work of one sample.
pub(super) fn of_model(model: &ModelSpec, samples: Option<&Outlook>) -> Outlook {
    let effort = samples.and_then(form).and_then(|form| model.effort(form).ok());
    let application =
        effort.map_or(Work::default(), |Effort { encode, decode }| Work(encode + decode));
    Outlook { rows: None, shape: vec![model.latent()], application }
}

/// Returns the work of a training.
pub(super) fn training(train: &Train, inputs: &[Vec<Outlook>]) -> Option<Work> {
    let samples = of_input(inputs, 0)?;
    let (rows, form) = (samples.rows?, form(samples)?);
    if let ModelSpec::Pca(_) = train.model {
        // A product of the data with themselves, and the axes of the result.
        let (short, long) = (rows.min(form.values()) as f64, rows.max(form.values()) as f64);
        return Some(Work(2.0 * short * short * (long + 10.0 * short)));
    }
    let batch = train.batch_size.get().min(rows);
    let learned = train.model.learning_effort(form, batch).ok()?;
    let tested = train.validation.as_ref().and_then(|_| inputs.last()?.first()?.rows);
    let Effort { encode, decode } = train.model.effort(form).ok()?;
    let epochs = epochs(train.length, rows, train.batch_size.get());
    let tried = (encode + decode) * train.model.stages() as f64;
    Some(Work(epochs * (learned * rows as f64 + tried * tested.unwrap_or(0) as f64)))
}

/// Returns the passes over the samples, which a number of steps may cut short.
fn epochs(length: Length, rows: usize, batch: usize) -> f64 {
    let per_epoch = rows.div_ceil(batch).max(1);
    length.steps(per_epoch) as f64 / per_epoch as f64
}

/// Returns the work of comparing points with each other, `queries` with all.
pub(super) fn neighbor_search(points: Option<&Outlook>, queries: Option<usize>) -> Option<Work> {
    let points = points?;
    let (rows, width) = (points.rows? as f64, points.width()? as f64);
    let queries = queries.map_or(rows, |queries| (queries as f64).min(rows));
    Some(Work(queries * rows * 2.0 * width))
}

/// Returns the work of all shortest ways on a graph of neighbors, perhaps of anchors only.
pub(super) fn shortest_ways(
    points: Option<&Outlook>,
    neighbors: usize,
    anchors: Option<usize>,
) -> Option<Work> {
    let rows = points?.rows?;
    let nodes = anchors.unwrap_or(rows).min(rows);
    let search = neighbor_search(points, Some(nodes))?;
    let nodes = nodes as f64;
    let visits = nodes * nodes * neighbors as f64;
    Some(Work(search.0 + PER_VISIT * visits))
}
