//! Numeric arrays as `.npy` files.

use std::io::{Read, Write};

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
    let shape = shape_of(&file, name)?;
    let values = file.into_vec().map_err(|e| ArtifactError::malformed(name, e))?;
    Ok((shape, values))
}

/// Reads an array of bytes: the same, but at the speed of the disk.
pub(super) fn read_bytes<const DIMENSIONS: usize>(
    reader: &ArtifactReader,
    name: &str,
) -> Result<([usize; DIMENSIONS], Vec<u8>), ArtifactError> {
    let malformed = |reason: String| ArtifactError::malformed(name, reason);
    let file = NpyFile::new(reader.open(name)?).map_err(|e| malformed(e.to_string()))?;
    let shape = shape_of(&file, name)?;
    let kind = file.dtype().descr();
    if !kind.contains("u1") {
        return Err(malformed(format!("expected bytes, found {kind}")));
    }
    let count = shape.iter().try_fold(1_usize, |count, &length| count.checked_mul(length));
    let mut values = Vec::new();
    file.into_inner().read_to_end(&mut values).map_err(ArtifactError::file(name))?;
    if count == Some(values.len()) {
        Ok((shape, values))
    } else {
        Err(malformed(format!("{} bytes do not fill {shape:?}", values.len())))
    }
}

fn shape_of<R: Read, const DIMENSIONS: usize>(
    file: &NpyFile<R>,
    name: &str,
) -> Result<[usize; DIMENSIONS], ArtifactError> {
    let lengths: Vec<usize> = file.shape().iter().map(|&length| length as usize).collect();
    let shape = <[usize; DIMENSIONS]>::try_from(lengths).map_err(|lengths| {
        let found = lengths.len();
        ArtifactError::malformed(name, format!("{found} dimensions instead of {DIMENSIONS}"))
    })?;
    if file.order() == Order::Fortran && DIMENSIONS > 1 {
        return Err(ArtifactError::malformed(name, "columns come first; save it in C order"));
    }
    Ok(shape)
}
