//! Points: codes (`points.npy`, one row per point), vectors, or images taken pixel by pixel.

use super::arrays::{read_array, write_array};
use super::images::{self, PIXELS};
use super::vectors::SAMPLES;
use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::numerics::Points;

impl Artifact for Points {
    const KINDS: &'static [ArtifactKind] = &{
        let mut kinds = ["points"; SAMPLES.len() + 1];
        let (_, samples) = kinds.split_at_mut(1);
        samples.copy_from_slice(&SAMPLES);
        kinds
    };

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write_array(writer, "points.npy", &[self.rows(), self.width()], self.values())
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        if reader.files().contains_key(PIXELS) {
            return Ok(images::read(reader)?.to_points());
        }
        let ([rows, width], values) = read_array::<f32, 2>(reader, "points.npy")?;
        Self::new(rows, width, values)
            .map_err(|error| ArtifactError::malformed("points.npy", error))
    }
}
