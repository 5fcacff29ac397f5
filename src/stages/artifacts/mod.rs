//! How science values become files, and back: NumPy arrays, safetensors, JSON, tables, pictures.

mod arrays;
mod distances;
mod figure;
mod images;
mod latents;
mod model;
mod record;
mod table;

pub(super) use images::images_kind;
pub use images::{AnyImages, TrainImages};

use crate::engine::artifact::{Artifact, ArtifactError, ArtifactWriter};
use crate::engine::context::StageError;
use crate::geometry::Distances;
use crate::numerics::Points;
use crate::report::Values;
use crate::training::TrainedModel;

/// Returns the files that an artifact of a kind must have; `None` for kinds that only our own
/// stages make.
pub(super) fn required_files(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "files" => Some(&[]),
        "record" => Some(&["record.json"]),
        "points" => Some(&["points.npy"]),
        "distances" => Some(&["about.json", "distances.npy"]),
        "model" => Some(&["model.json", "weights.safetensors"]),
        "train-images" | "validation-images" | "test-images" => {
            Some(&["about.json", "factors.npy", "images.npy"])
        }
        _ => None,
    }
}

/// Reads what a program left as what it declared: a bad file is its own fault, not its reader's.
pub(super) fn check(kind: &str, writer: &ArtifactWriter) -> Result<(), StageError> {
    let reader = writer.reader(required_files(kind).unwrap_or_default())?;
    let read: Result<(), ArtifactError> = match kind {
        "record" => Values::read(&reader).map(drop),
        "points" => Points::read(&reader).map(drop),
        "distances" => Distances::read(&reader).map(drop),
        "model" => TrainedModel::read(&reader).map(drop),
        "train-images" | "validation-images" | "test-images" => AnyImages::read(&reader).map(drop),
        _ => Ok(()),
    };
    Ok(read?)
}
