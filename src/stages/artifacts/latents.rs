//! Codes or other points: `points.npy`, one row per point.

use super::arrays::{read_array, write_array};
use crate::engine::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::numerics::Points;

impl Artifact for Points {
    const KINDS: &'static [ArtifactKind] = &["points"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write_array(writer, "points.npy", &[self.rows(), self.width()], self.values())
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let ([rows, width], values) = read_array::<f32, 2>(reader, "points.npy")?;
        Self::new(rows, width, values)
            .map_err(|error| ArtifactError::malformed("points.npy", error))
    }
}
