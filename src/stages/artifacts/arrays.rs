//! Numeric arrays as `.npy` files.

use crate::data::formats::npy::{self, Number};
use crate::engine::stage::artifact::{ArtifactError, ArtifactReader, ArtifactWriter};

/// Writes an array in row-major order.
pub(super) fn write_array<T: Number>(
    writer: &mut ArtifactWriter,
    name: &str,
    shape: &[usize],
    values: &[T],
) -> Result<(), ArtifactError> {
    npy::write(&mut writer.create(name)?, shape, values).map_err(ArtifactError::file(name))
}

/// Reads an array of a known number of dimensions, in row-major order.
pub(super) fn read_array<T: Number, const DIMENSIONS: usize>(
    reader: &ArtifactReader,
    name: &str,
) -> Result<([usize; DIMENSIONS], Vec<T>), ArtifactError> {
    npy::read(reader.open(name)?).map_err(|reason| ArtifactError::malformed(name, reason))
}

/// Reads an array of bytes: the same, but at the speed of the disk.
pub(super) fn read_bytes<const DIMENSIONS: usize>(
    reader: &ArtifactReader,
    name: &str,
) -> Result<([usize; DIMENSIONS], Vec<u8>), ArtifactError> {
    npy::read_bytes(reader.open(name)?).map_err(|reason| ArtifactError::malformed(name, reason))
}
