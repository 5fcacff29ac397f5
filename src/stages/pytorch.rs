//! Trained models as files of plain PyTorch.
//!
//! Any stage will do that leaves a model or a classifier, also a program of the user's own.

use ron::ser::PrettyConfig;
use serde::Serialize;
use thiserror::Error;

use super::settings_in_words::loss_in_words;
use crate::engine::pipeline::values::dialect;
use crate::engine::stage::artifact::{Artifact, ArtifactError, ArtifactReader};
use crate::engine::stage::{Inputs, StageSet};
use crate::evaluation::probe::{ClassificationError, ImageClassifier};
use crate::models::pytorch::{Origin, PytorchFiles};
use crate::training::{TrainError, TrainedModel};

/// Says why a model can't be written for PyTorch.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum PytorchError {
    /// The artifact can't be read.
    Artifact(#[from] ArtifactError),
    /// The model can't be loaded or written.
    Model(#[from] TrainError),
    /// The classifier can't be loaded or written.
    Classifier(#[from] ClassificationError),
    /// The settings can't be written.
    Settings(#[from] ron::Error),
}

/// Returns whether artifacts of a kind are models that PyTorch can rebuild.
pub fn is_model(artifact_kind: &str) -> bool {
    TrainedModel::KINDS.contains(&artifact_kind) || ImageClassifier::KINDS.contains(&artifact_kind)
}

/// Returns whether a stage leaves a model that PyTorch can rebuild.
pub fn leaves_model(stage: &impl StageSet) -> bool {
    let no_inputs: Inputs<'_, str> = [].into_iter().collect();
    is_model(&stage.as_stage().output(&no_inputs))
}

/// Returns the files from which plain PyTorch rebuilds the model in an artifact, given its name and
/// facts about it.
pub fn pytorch_files(
    artifact_kind: &str,
    reader: &ArtifactReader,
    title: &str,
    mut facts: Vec<(&'static str, String)>,
) -> Result<PytorchFiles, PytorchError> {
    let origin = |facts, settings| Origin { title: title.to_owned(), facts, settings };
    if ImageClassifier::KINDS.contains(&artifact_kind) {
        let classifier = ImageClassifier::read(reader)?;
        let settings = in_ron(classifier.spec())?;
        return Ok(classifier.to_pytorch(&origin(facts, settings))?);
    }
    let model = TrainedModel::read(reader)?;
    facts.push(("Loss", loss_in_words(model.loss()).to_owned()));
    let settings = in_ron(model.spec())?;
    Ok(model.to_pytorch(&origin(facts, settings))?)
}

/// Returns settings as a pipeline file has them, with all defaults filled in.
fn in_ron(settings: &impl Serialize) -> Result<String, PytorchError> {
    let layout = PrettyConfig::new().compact_arrays(true);
    Ok(dialect().to_string_pretty(settings, layout)?)
}
