//! The idx format of MNIST: big-endian magic and sizes, then one byte for each value.
//!
//! Raw or gzipped. Only the two kinds that MNIST has are read: images (three sizes) and labels
//! (one size). Sizes are claims until as many bytes have really been read, so memory grows with
//! the file and never with what its header says; a file longer than it says is refused as well.
//! A claim that the file can keep but the memory can't is refused with its size.

use std::io::{BufRead, ErrorKind, Read};

use super::deflate;
use crate::data::{DataError, DataFile};
use crate::numerics::memory;

/// The magic numbers: two zeros, the type of the values (8: bytes), the number of dimensions.
const IMAGES: u32 = 0x0000_0803;
const LABELS: u32 = 0x0000_0801;

/// Images of equal size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::data) struct IdxImages {
    /// Pixel rows of each image.
    pub height: usize,
    /// Pixel columns of each image.
    pub width: usize,
    /// All pixels, image by image, row by row.
    pub pixels: Vec<u8>,
}

/// Reads a file of images.
pub(in crate::data) fn read_images(file: DataFile<'_>) -> Result<IdxImages, DataError> {
    let ([_, height, width], pixels) =
        read(file, IMAGES, ["images", "pixel rows", "pixel columns"])?;
    Ok(IdxImages { height, width, pixels })
}

/// Reads a file of labels.
pub(in crate::data) fn read_labels(file: DataFile<'_>) -> Result<Vec<u8>, DataError> {
    read(file, LABELS, ["labels"]).map(|(_, labels)| labels)
}

/// Reads sizes, whose meanings are given, and exactly as many bytes as they say.
fn read<const SIZES: usize>(
    file: DataFile<'_>,
    magic: u32,
    meanings: [&str; SIZES],
) -> Result<([usize; SIZES], Vec<u8>), DataError> {
    let mut stream = Stream { file, source: file.open_unpacked()?, position: 0 };
    let found = stream.number("the magic number")?;
    if found != magic {
        let reason = format!(
            "expected the magic number {magic:#010x} ({}), found {found:#010x} ({})",
            kind(magic),
            kind(found)
        );
        return Err(DataError::malformed(file.name, "byte 0", reason));
    }
    let mut sizes = [0; SIZES];
    for (size, meaning) in sizes.iter_mut().zip(meanings) {
        let place = stream.place();
        *size = stream.number(&format!("the number of {meaning}"))? as usize;
        if *size == 0 {
            let reason = format!("expected the number of {meaning} to be at least 1, found 0");
            return Err(DataError::malformed(file.name, place, reason));
        }
    }
    let claimed = sizes.iter().try_fold(1_u64, |all, &size| all.checked_mul(size as u64));
    let Some(claimed) = claimed.filter(|&bytes| bytes < u64::MAX) else {
        let reason = format!("{} bytes are more than any file holds", times(&sizes));
        return Err(DataError::malformed(file.name, "byte 4", reason));
    };
    let values = stream.exactly(claimed, &times(&sizes))?;
    Ok((sizes, values))
}

/// Writes sizes as a product.
fn times(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

/// Guesses what a file with this beginning is.
fn kind(magic: u32) -> &'static str {
    match magic {
        IMAGES => "idx images",
        LABELS => "idx labels",
        0x0308_0000 | 0x0108_0000 => "idx in reversed byte order",
        0x0000_0800..=0x0000_0eff => "idx of another type or number of dimensions",
        0x504b_0304 => "a zip archive",
        0x934e_554d => "a NumPy array",
        0x8950_4e47 => "a PNG image",
        _ if magic >> 16 == 0x1f8b => "gzipped twice",
        _ if magic >> 24 == u32::from(b'<') => "perhaps a web page",
        _ => "not an idx file",
    }
}

/// An unpacked file and how far it has been read.
struct Stream<'a> {
    file: DataFile<'a>,
    source: Box<dyn BufRead + Send>,
    position: u64,
}

impl Stream<'_> {
    fn place(&self) -> String {
        format!("byte {}", self.position)
    }

    /// Reads four bytes.
    fn number(&mut self, meaning: &str) -> Result<u32, DataError> {
        let bytes = self.up_to(4, Vec::new())?;
        let Ok(bytes) = <[u8; 4]>::try_from(bytes.as_slice()) else {
            let reason = format!("unexpected end of file, expected {meaning}");
            return Err(DataError::malformed(self.file.name, self.place(), reason));
        };
        Ok(u32::from_be_bytes(bytes))
    }

    /// Reads the rest, which must be `count` bytes long.
    fn exactly(&mut self, count: u64, sizes: &str) -> Result<Vec<u8>, DataError> {
        let start = self.place();
        let length = self.file.length()?;
        let is_possible = deflate::can_hold(length, count);
        // What a gzipped file that claims the impossible really holds is of no interest.
        let most = if is_possible { count + 1 } else { length + 1 };
        let room = memory::room_for(usize::try_from(most).unwrap_or(usize::MAX))
            .map_err(DataError::too_large(self.file.name))?;
        let values = self.up_to(most, room)?;
        let found = values.len() as u64;
        if found == count {
            return Ok(values);
        }
        let found = if found > count {
            format!("more than {count}")
        } else if found > length {
            format!("fewer: {length} bytes of gzip can't hold so many")
        } else {
            found.to_string()
        };
        let reason = format!("expected {count} bytes ({sizes}) up to the end, found {found}");
        Err(DataError::malformed(self.file.name, start, reason))
    }

    /// Reads `count` bytes, or all that are left, into an empty list.
    fn up_to(&mut self, count: u64, mut bytes: Vec<u8>) -> Result<Vec<u8>, DataError> {
        let outcome = self.source.by_ref().take(count).read_to_end(&mut bytes);
        self.position += bytes.len() as u64;
        match outcome {
            Ok(_) => Ok(bytes),
            // What flate2 says of data that end early or are no deflate stream.
            Err(cause)
                if matches!(
                    cause.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData
                ) =>
            {
                let place = format!("unpacked {}", self.place());
                let reason = format!("the gzip stream is cut off or damaged: {cause}");
                Err(DataError::malformed(self.file.name, place, reason))
            }
            Err(cause) => Err(DataError::file(self.file.name)(cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::numerics::memory::pretended::with_available;

    fn idx(magic: u32, sizes: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = magic.to_be_bytes().to_vec();
        bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    fn two_images() -> Vec<u8> {
        idx(IMAGES, &[2, 1, 3], &[1, 2, 3, 4, 5, 6])
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn with_file<T>(bytes: &[u8], then: impl FnOnce(DataFile<'_>) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let path: &Path = &folder.path().join("data");
        std::fs::write(path, bytes).unwrap();
        then(DataFile { name: "digits", path })
    }

    fn refusal(bytes: &[u8]) -> String {
        with_file(bytes, read_images).unwrap_err().to_string()
    }

    #[test]
    fn images_and_labels_are_read_raw_and_gzipped() {
        let expected = IdxImages { height: 1, width: 3, pixels: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(with_file(&two_images(), read_images).unwrap(), expected);
        assert_eq!(with_file(&gzip(&two_images()), read_images).unwrap(), expected);
        let labels = gzip(&idx(LABELS, &[3], &[7, 0, 9]));
        assert_eq!(with_file(&labels, read_labels).unwrap(), [7, 0, 9]);
    }

    #[test]
    fn a_wrong_magic_number_is_shown_beside_the_expected_one_with_what_it_seems_to_be() {
        assert_eq!(
            refusal(&idx(LABELS, &[1], &[0])),
            "digits: byte 0: expected the magic number 0x00000803 (idx images), found 0x00000801 \
             (idx labels)"
        );
        assert!(refusal(&gzip(&gzip(&two_images()))).ends_with("(gzipped twice)"));
        assert!(refusal(b"<html></html>").ends_with("0x3c68746d (perhaps a web page)"));
        let reversed: Vec<u8> = IMAGES.to_le_bytes().into();
        assert!(refusal(&reversed).ends_with("(idx in reversed byte order)"));
        assert!(refusal(&idx(0x0d03, &[1, 1, 1], &[0; 4])).contains("idx of another type"));
    }

    #[test]
    fn a_count_that_does_not_fit_the_length_is_refused_both_ways() {
        let bytes = two_images();
        assert_eq!(
            refusal(&bytes[..bytes.len() - 2]),
            "digits: byte 16: expected 6 bytes (2 x 1 x 3) up to the end, found 4"
        );
        assert_eq!(
            refusal(&[&bytes[..], &[0; 9]].concat()),
            "digits: byte 16: expected 6 bytes (2 x 1 x 3) up to the end, found more than 6"
        );
        assert_eq!(
            refusal(&bytes[..10]),
            "digits: byte 10: unexpected end of file, expected the number of pixel rows"
        );
    }

    #[test]
    fn zero_and_absurd_sizes_are_refused_without_taking_the_memory_they_claim() {
        assert_eq!(
            refusal(&idx(IMAGES, &[2, 0, 3], &[])),
            "digits: byte 8: expected the number of pixel rows to be at least 1, found 0"
        );
        assert!(refusal(&idx(IMAGES, &[u32::MAX; 3], &[0; 8])).contains("more than any file"));
        let reason = refusal(&idx(IMAGES, &[u32::MAX, 1 << 15, 1 << 15], &[0; 8]));
        assert!(
            reason.ends_with("(4294967295 x 32768 x 32768) up to the end, found 8"),
            "{reason}"
        );
    }

    #[test]
    fn a_small_gzip_file_of_many_bytes_is_refused_by_the_memory_that_they_take() {
        let zeros = gzip(&idx(IMAGES, &[1000, 100, 50], &vec![0; 5_000_000]));
        assert!(zeros.len() < 10_000);
        let refused = with_available(5_000_000, || refusal(&zeros));
        assert_eq!(
            refused,
            "digits would take 0.0 GB of memory, but only 0.0 GB is available: use a smaller file, \
             or more memory"
        );
        assert!(with_available(5_000_001, || with_file(&zeros, read_images)).is_ok());
        // A claim beyond what deflate can do is refused without unpacking all that there is.
        let liar = gzip(&idx(IMAGES, &[1 << 20, 100, 50], &vec![0; 5_000_000]));
        let refused = with_available(100_000, || refusal(&liar));
        let told = format!("found fewer: {} bytes of gzip can't hold so many", liar.len());
        assert!(refused.ends_with(&told), "{refused}");
    }

    #[test]
    fn a_truncated_gzip_file_is_told_apart_from_a_short_raw_one() {
        let noise: Vec<u8> =
            (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let packed = gzip(&idx(IMAGES, &[50, 10, 10], &noise));
        let reason = refusal(&packed[..packed.len() / 2]);
        assert!(reason.starts_with("digits: unpacked byte "), "{reason}");
        assert!(reason.contains("the gzip stream is cut off or damaged"), "{reason}");
        let mut damaged = packed;
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        assert!(refusal(&damaged).contains("cut off or damaged"));
    }

    #[test]
    fn no_prefix_is_taken_for_the_whole_file() {
        for whole in [two_images(), gzip(&two_images())] {
            for end in 0..whole.len() {
                assert!(with_file(&whole[..end], read_images).is_err(), "{end} bytes");
            }
        }
    }

    #[test]
    fn any_changed_byte_gives_images_or_an_error() {
        for whole in [two_images(), gzip(&two_images())] {
            for at in 0..whole.len() {
                for mask in [0x01, 0x04, 0x10, 0x80, 0xff] {
                    let mut changed = whole.clone();
                    changed[at] ^= mask;
                    if let Ok(images) = with_file(&changed, read_images) {
                        assert_eq!(images.pixels.len() % (images.height * images.width), 0);
                    }
                }
            }
        }
    }
}
