//! Tables: the numbers as `table.json`, and `table.tex`, `.md` and `.csv` made from them.

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::report::{Table, csv, latex, markdown};

impl Artifact for Table {
    const KINDS: &'static [ArtifactKind] = &["table"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        writer.write_json("table.json", self)?;
        writer.write("table.tex", latex::render(self).as_bytes())?;
        writer.write("table.md", markdown::render(self).as_bytes())?;
        writer.write("table.csv", csv::render(self).as_bytes())
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        reader.read_json("table.json")
    }
}
