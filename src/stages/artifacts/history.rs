//! The record of a training: `history.csv` beside the model, one line for each epoch.

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::training::History;

/// The file in a model's artifact.
const FILE: &str = "history.csv";

/// What a training recorded, read from the model that it left.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingHistory(pub History);

impl TrainingHistory {
    /// Reads the record from a model, if it has one: programs of users leave none.
    pub fn of_model(reader: &ArtifactReader) -> Result<Option<History>, ArtifactError> {
        if !reader.files().contains_key(FILE) {
            return Ok(None);
        }
        Self::read(reader).map(|history| Some(history.0))
    }
}

impl Artifact for TrainingHistory {
    const KINDS: &'static [ArtifactKind] = &["model"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        writer.write(FILE, self.0.to_csv().as_bytes())
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let malformed = |error: &dyn std::error::Error| ArtifactError::malformed(FILE, error);
        let text = String::from_utf8(reader.read(FILE)?).map_err(|error| malformed(&error))?;
        History::from_csv(&text).map(Self).map_err(|error| malformed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_a_training_is_read_from_its_model() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArtifactWriter::new(folder.path().to_owned());
        let columns = ["epoch", "total"].map(str::to_owned).into();
        let history = TrainingHistory(History { columns, rows: vec![vec![1.0, 0.5]] });
        history.write(&mut writer).unwrap();
        let reader = writer.reader(&["history.csv"]).unwrap();
        assert_eq!(TrainingHistory::read(&reader).unwrap(), history);
        writer.write("history.csv", b"epoch,total\n1,low\n").unwrap();
        let error = TrainingHistory::read(&reader).unwrap_err();
        assert_eq!(
            error.to_string(),
            "history.csv is invalid: column `total` has `low` on line 2, expected a number"
        );
    }
}
