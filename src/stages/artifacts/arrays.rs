//! Numeric arrays as `.npy` files.

use std::io::Write;

use npyz::{AutoSerialize, Deserialize, NpyFile, Order, Serialize, WriterBuilder};

use crate::engine::artifact::{ArtifactError, ArtifactReader, ArtifactWriter};

/// Writes an array in row-major order.
pub(super) fn write_array<T: AutoSerialize + Serialize + Copy>(
    writer: &mut ArtifactWriter,
    name: &str,
    shape: &[usize],
    values: &[T],
) -> Result<(), ArtifactError> {
    let shape: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
    let mut file = writer.create(name)?;
    let written = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&shape)
        .writer(&mut file)
        .begin_nd()
        .and_then(|mut array| {
            array.extend(values.iter().copied())?;
            array.finish()
        })
        .and_then(|()| file.flush());
    written.map_err(ArtifactError::file(name))
}

/// Reads an array of a known number of dimensions, in row-major order.
pub(super) fn read_array<T: Deserialize, const DIMENSIONS: usize>(
    reader: &ArtifactReader,
    name: &str,
) -> Result<([usize; DIMENSIONS], Vec<T>), ArtifactError> {
    let file = NpyFile::new(reader.open(name)?).map_err(|e| ArtifactError::malformed(name, e))?;
    let lengths: Vec<usize> = file.shape().iter().map(|&length| length as usize).collect();
    let shape = <[usize; DIMENSIONS]>::try_from(lengths).map_err(|lengths| {
        let found = lengths.len();
        ArtifactError::malformed(name, format!("{found} dimensions instead of {DIMENSIONS}"))
    })?;
    if file.order() == Order::Fortran && DIMENSIONS > 1 {
        return Err(ArtifactError::malformed(name, "columns come first; save it in C order"));
    }
    let values = file.into_vec().map_err(|e| ArtifactError::malformed(name, e))?;
    Ok((shape, values))
}
