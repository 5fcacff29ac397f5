//! Numeric arrays as `.npy` files.

use std::io;

use crate::data::formats::npy::{self, Number, ReadError};
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
    npy::read(reader.open(name)?).map_err(|error| refusal(name, &error))
}

/// Reads an array of bytes: the same, but at the speed of the disk.
pub(super) fn read_bytes<const DIMENSIONS: usize>(
    reader: &ArtifactReader,
    name: &str,
) -> Result<([usize; DIMENSIONS], Vec<u8>), ArtifactError> {
    npy::read_bytes(reader.open(name)?).map_err(|error| refusal(name, &error))
}

/// A sound array that is too large for this machine is not called invalid.
fn refusal(name: &str, error: &ReadError) -> ArtifactError {
    match error {
        ReadError::Invalid(reason) => ArtifactError::malformed(name, reason),
        ReadError::TooLarge(_) => {
            let advice = format!("{error}: choose fewer samples, or use more memory");
            ArtifactError::file(name)(io::Error::new(io::ErrorKind::OutOfMemory, advice))
        }
    }
}
