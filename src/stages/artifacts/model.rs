//! Trained models: `model.json` and `weights.safetensors`, and the `history.csv` of training.

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::training::{ModelFiles, TrainedModel};

impl Artifact for TrainedModel {
    const KINDS: &'static [ArtifactKind] = &["model"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        let files =
            self.to_files().map_err(|error| ArtifactError::malformed("model.json", error))?;
        writer.write("model.json", &files.description)?;
        writer.write("weights.safetensors", &files.weights)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let files = ModelFiles {
            description: reader.read("model.json")?,
            weights: reader.read("weights.safetensors")?,
        };
        Self::from_files(&files)
            .map_err(|error| ArtifactError::malformed("weights.safetensors", error))
    }
}
