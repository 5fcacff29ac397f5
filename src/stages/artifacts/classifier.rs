//! Classifiers of images: `classifier.json` and `weights.safetensors`.

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::evaluation::probe::{ClassifierFiles, ImageClassifier};

const DESCRIPTION: &str = "classifier.json";
/// The file of the weights.
pub(in crate::stages) const CLASSIFIER_WEIGHTS: &str = "weights.safetensors";

impl Artifact for ImageClassifier {
    const KINDS: &'static [ArtifactKind] = &["classifier"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        let files =
            self.to_files().map_err(|error| ArtifactError::malformed(DESCRIPTION, error))?;
        writer.write(DESCRIPTION, &files.description)?;
        writer.write(CLASSIFIER_WEIGHTS, &files.weights)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let files = ClassifierFiles {
            description: reader.read(DESCRIPTION)?,
            weights: reader.read(CLASSIFIER_WEIGHTS)?,
        };
        Self::from_files(&files)
            .map_err(|error| ArtifactError::malformed(CLASSIFIER_WEIGHTS, error))
    }
}
