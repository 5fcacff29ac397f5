//! How science values become files, and back: NumPy arrays, safetensors, JSON, tables, pictures.

mod annotations;
mod arrays;
mod classifier;
mod conclusion;
mod distances;
mod figure;
mod history;
mod images;
mod model;
mod neighbors;
mod points;
mod record;
mod table;
mod vectors;

pub(super) use annotations::SampleMetadata;
pub(super) use classifier::CLASSIFIER_WEIGHTS;
pub use history::TrainingHistory;
pub use images::{AnyImages, TrainImages};
pub(super) use images::{ImageFile, images_kind};
pub use vectors::{AnySamples, TrainSamples};
pub(super) use vectors::{open_samples, vectors_kind, write_vectors};

use crate::engine::stage::artifact::{Artifact, ArtifactError, ArtifactWriter};
use crate::engine::stage::context::StageError;
use crate::evaluation::probe::ImageClassifier;
use crate::geometry::{Distances, Neighbors};
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
        "neighbors" => Some(&["asked.npy", "distances.npy", "indices.npy", "about.json"]),
        "model" => Some(&["model.json", "weights.safetensors"]),
        "classifier" => Some(&["classifier.json", "weights.safetensors"]),
        kind if AnyImages::KINDS.contains(&kind) => {
            Some(&["about.json", "factors.npy", "images.npy"])
        }
        kind if AnySamples::KINDS.contains(&kind) => {
            Some(&["about.json", "factors.npy", "points.npy"])
        }
        _ => None,
    }
}

/// Reads the files of a program as the kind it declares, so that a malformed file fails the program's own
/// stage, not its reader.
pub(super) fn check(
    kind: &str,
    writer: &ArtifactWriter,
    outputs: &[String],
) -> Result<(), StageError> {
    let names: Vec<_> = outputs.iter().map(String::as_str).collect();
    let reader = writer.reader(&names)?;
    let read: Result<(), ArtifactError> = match kind {
        "record" => Values::read(&reader).map(drop),
        "points" => Points::read(&reader).map(drop),
        "distances" => Distances::read(&reader).map(drop),
        "neighbors" => Neighbors::read(&reader).map(drop),
        "model" => TrainedModel::read(&reader).map(drop),
        "classifier" => ImageClassifier::read(&reader).map(drop),
        kind if AnySamples::KINDS.contains(&kind) => AnySamples::read(&reader).map(drop),
        _ => Ok(()),
    };
    Ok(read?)
}
