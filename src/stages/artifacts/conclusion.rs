//! Conclusions: the sentences as `conclusion.json`, `.md` and `.tex`, the numbers as `record.json`.

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::report::Conclusion;

impl Artifact for Conclusion {
    const KINDS: &'static [ArtifactKind] = &["conclusion"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        writer.write_json("conclusion.json", self)?;
        writer.write("conclusion.md", self.markdown().as_bytes())?;
        writer.write("conclusion.tex", self.latex().as_bytes())?;
        self.values().write(writer)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        reader.read_json("conclusion.json")
    }
}
