//! Figures: the numbers as `figure.json`, and `figure.png` and `figure.svg` drawn from them.

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::report::Figure;

impl Artifact for Figure {
    const KINDS: &'static [ArtifactKind] = &["figure"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        writer.write_json("figure.json", self)?;
        let svg = self.svg().map_err(|error| ArtifactError::malformed("figure.svg", error))?;
        writer.write("figure.svg", svg.as_bytes())?;
        self.write_png(&writer.path("figure.png")?)
            .map_err(|error| ArtifactError::malformed("figure.png", error))
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        reader.read_json("figure.json")
    }
}
