//! Whole arrays of a known type, as the artifacts of stages hold them.
//!
//! The bytes that are written are part of an artifact's content: they never change.

use std::fs::File;
use std::io::{BufReader, Read, Write};

use thiserror::Error;

use super::header::{Element, Header};
use crate::numerics::memory::{self, TooLarge};

/// Values that are converted at a time.
const BLOCK: usize = 1 << 14;

/// Says why an array could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ReadError {
    /// It is not what it should be.
    #[error("{0}")]
    Invalid(String),
    /// It would not fit into memory.
    #[error("it {0}")]
    TooLarge(#[from] TooLarge),
}

impl From<String> for ReadError {
    fn from(reason: String) -> Self {
        Self::Invalid(reason)
    }
}

/// A number type of array values.
pub(crate) trait Number: Copy {
    /// NumPy's name of the type, as it is written.
    const DTYPE: &'static str;

    /// Appends the value's bytes, lowest first.
    fn append_to(self, bytes: &mut Vec<u8>);

    /// Returns the value that bytes stand for.
    fn from_bytes(bytes: &[u8], big_endian: bool) -> Self;
}

macro_rules! numbers {
    ($($number:ty: $dtype:literal),*) => {$(
        impl Number for $number {
            const DTYPE: &'static str = $dtype;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8], big_endian: bool) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                if big_endian { Self::from_be_bytes(own) } else { Self::from_le_bytes(own) }
            }
        }
    )*};
}

numbers!(u8: "|u1", u16: "<u2", u32: "<u4", f32: "<f4", f64: "<f8");

/// Writes an array in row-major order.
pub(crate) fn write<T: Number>(
    file: &mut impl Write,
    shape: &[usize],
    values: &[T],
) -> std::io::Result<()> {
    let lengths =
        shape.iter().fold(String::new(), |lengths, length| lengths + &format!("{length}, "));
    let dict =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({lengths}), }}", T::DTYPE);
    let length = (Header::START + dict.len() + 1).next_multiple_of(64);
    file.write_all(&Header::encode(&dict, length))?;
    let mut bytes = Vec::new();
    for block in values.chunks(BLOCK) {
        bytes.clear();
        for value in block {
            value.append_to(&mut bytes);
        }
        file.write_all(&bytes)?;
    }
    file.flush()
}

/// Reads an array of a known type and number of dimensions, or says what is wrong with it.
pub(crate) fn read<T: Number, const DIMENSIONS: usize>(
    mut file: BufReader<File>,
) -> Result<([usize; DIMENSIONS], Vec<T>), ReadError> {
    let (shape, element) = start::<T, DIMENSIONS>(&mut file)?;
    let mut values = memory::room_for(shape.iter().product())?;
    let mut bytes = vec![0; BLOCK * element.size];
    let mut left: usize = shape.iter().product();
    while left > 0 {
        let block = &mut bytes[..left.min(BLOCK) * element.size];
        file.read_exact(block).map_err(|cause| cause.to_string())?;
        let block = block.chunks_exact(element.size);
        left -= block.len();
        values.extend(block.map(|bytes| T::from_bytes(bytes, element.is_big_endian())));
    }
    Ok((shape, values))
}

/// Reads an array of bytes: the same, but at the speed of the disk.
pub(crate) fn read_bytes<const DIMENSIONS: usize>(
    mut file: BufReader<File>,
) -> Result<([usize; DIMENSIONS], Vec<u8>), ReadError> {
    let (shape, _) = start::<u8, DIMENSIONS>(&mut file)?;
    let mut values = memory::room_for(shape.iter().product())?;
    file.read_to_end(&mut values).map_err(|cause| cause.to_string())?;
    Ok((shape, values))
}

/// Reads the header of a file whose data must be what the header says, to the last byte.
fn start<T: Number, const DIMENSIONS: usize>(
    file: &mut BufReader<File>,
) -> Result<([usize; DIMENSIONS], Element), String> {
    let length = file.get_ref().metadata().map_err(|cause| cause.to_string())?.len();
    let header = Header::read(file)?;
    let expected = Element::parse(T::DTYPE)?;
    let found = header.element;
    if (found.kind, found.size) != (expected.kind, expected.size) {
        return Err(format!("expected values of type {expected}, found {found}"));
    }
    let shape = <[usize; DIMENSIONS]>::try_from(header.shape.as_slice()).map_err(|_| {
        let found = header.shape.len();
        format!("expected {DIMENSIONS} dimensions, found {found}")
    })?;
    header.check_length(length)?;
    Ok((shape, found))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::numerics::memory::pretended::with_available;

    /// Reads bytes as a file.
    fn with_file<R>(bytes: &[u8], read: impl Fn(BufReader<File>) -> R) -> R {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.npy");
        fs::write(&path, bytes).unwrap();
        read(BufReader::new(File::open(path).unwrap()))
    }

    fn written<T: Number>(shape: &[usize], values: &[T]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, shape, values).unwrap();
        bytes
    }

    fn reference(name: &str) -> Vec<u8> {
        let folder = [env!("CARGO_MANIFEST_DIR"), "tests/reference/arrays"];
        fs::read(folder.iter().collect::<PathBuf>().join(name)).unwrap()
    }

    #[test]
    fn the_bytes_of_an_array_are_pinned() {
        let header = |dict: &str| {
            let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
            bytes.extend(format!("{dict:<117}\n").as_bytes());
            assert_eq!(bytes.len(), 128);
            bytes
        };
        let mut expected = header("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, ), }");
        expected.extend([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        assert_eq!(written(&[1, 2], &[1.0_f32, -2.0]), expected);
        let mut expected = header("{'descr': '|u1', 'fortran_order': False, 'shape': (3, ), }");
        expected.extend([1, 2, 3]);
        assert_eq!(written(&[3], &[1_u8, 2, 3]), expected);
    }

    #[test]
    fn arrays_of_all_types_come_back_also_when_they_are_empty_or_large() {
        fn comes_back<T: Number + PartialEq + std::fmt::Debug>(values: &[T]) {
            let bytes = written(&[values.len(), 1], values);
            let (shape, found) = with_file(&bytes, read::<T, 2>).unwrap();
            assert_eq!((shape, &found[..]), ([values.len(), 1], values));
        }
        comes_back(&[0_u8, 255]);
        comes_back(&[1_u16, u16::MAX]);
        comes_back(&[1_u32, u32::MAX]);
        comes_back(&[0.1_f64, -1e300]);
        comes_back::<f32>(&[]);
        let many: Vec<f32> = (0..=3 * BLOCK).map(|value| value as f32).collect();
        comes_back(&many);
        let bytes = written(&[2, 2], &[1_u8, 2, 3, 4]);
        assert_eq!(with_file(&bytes, read_bytes::<2>), Ok(([2, 2], vec![1, 2, 3, 4])));
    }

    #[test]
    fn what_numpy_wrote_in_either_byte_order_is_read() {
        let (shape, values) =
            with_file(&reference("vectors_f4_big_endian.npy"), read::<f32, 2>).unwrap();
        assert_eq!((shape, values[3], values[8]), ([3, 4], -0.125, 0.5));
    }

    #[test]
    fn arrays_of_other_types_shapes_and_lengths_are_refused() {
        let refusal = |bytes: &[u8]| with_file(bytes, read::<f64, 2>).unwrap_err().to_string();
        let bytes = written(&[2, 1], &[1.0_f64, 2.0]);
        assert_eq!(
            refusal(&written(&[2, 1], &[1.0_f32, 2.0])),
            "expected values of type f64, found f32"
        );
        assert_eq!(refusal(&written(&[2], &[1.0, 2.0])), "expected 2 dimensions, found 1");
        assert_eq!(
            refusal(&bytes[..bytes.len() - 1]),
            "shape (2, 1) of f64 needs 16 bytes of data, found 15"
        );
        assert!(refusal(&reference("fortran.npy")).starts_with("it is in Fortran order"));
        let huge = Header::encode(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
            128,
        );
        assert!(refusal(&huge).contains("needs more than 2^64 bytes"));
    }

    #[test]
    fn an_array_that_does_not_fit_into_memory_is_refused_with_its_size_before_it_is_read() {
        let bytes = written(&[1000, 2], &vec![1.0_f64; 2000]);
        let refused = with_available(15_999, || with_file(&bytes, read::<f64, 2>));
        let size = TooLarge { needed: 16_000, available: 15_999 };
        assert_eq!(refused, Err(ReadError::TooLarge(size)));
        assert!(with_available(16_000, || with_file(&bytes, read::<f64, 2>)).is_ok());
        let bytes = written(&[1000, 2], &vec![1_u8; 2000]);
        let refused = with_available(1_999, || with_file(&bytes, read_bytes::<2>));
        assert!(matches!(refused, Err(ReadError::TooLarge(_))), "{refused:?}");
    }
}
