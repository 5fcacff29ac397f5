//! Measured values: `record.json`, a flat object that any program can write too.

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::report::{Values, values_from_json, values_to_json};

impl Artifact for Values {
    // A conclusion has a record, too.
    const KINDS: &'static [ArtifactKind] = &["record", "conclusion"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        let text =
            values_to_json(self).map_err(|error| ArtifactError::malformed("record.json", error))?;
        writer.write("record.json", text.as_bytes())
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let text = String::from_utf8_lossy(&reader.read("record.json")?).into_owned();
        values_from_json(&text).map_err(|error| ArtifactError::malformed("record.json", error))
    }
}
