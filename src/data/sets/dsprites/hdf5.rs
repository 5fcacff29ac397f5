//! The original dSprites as HDF5: 737,280 binary images of 64 x 64 pixels and their factors.
//!
//! Bits become 0 and 255. The class numbers beside the factors repeat what these say and are not
//! read.
//! Reference: Matthey et al. 2017, `dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5`, whose chunks
//! are 23,040 images by 2 x 4 pixels.
//! Checked against: tests/reference/dsprites_earliest.h5, which h5py wrote in the same layout.

use super::FACTORS;
use crate::data::formats::hdf5::Layout;
use crate::data::{DataError, DataFile, ImageShape, ImageSource};

const LAYOUT: Layout = Layout {
    images: "imgs",
    stored: &[64, 64],
    shape: ImageShape { channels: 1, height: 64, width: 64 },
    convert: bits_to_bytes,
    factors: "latents/values",
    names: &FACTORS,
};

/// Opens the file and reads the factors of all images.
pub(super) fn open(file: DataFile<'_>) -> Result<Box<dyn ImageSource>, DataError> {
    LAYOUT.open(file)
}

fn bits_to_bytes(bits: &[u8], pixels: &mut [u8]) -> Result<(), String> {
    if let Some(bit) = bits.iter().find(|&&bit| bit > 1) {
        return Err(format!("expected pixels of 0 and 1, found {bit}"));
    }
    for (pixel, bit) in pixels.iter_mut().zip(bits) {
        *pixel = bit * u8::MAX;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const REFERENCE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/dsprites_earliest.h5");

    #[test]
    fn a_file_that_h5py_wrote_gives_its_pixels_as_0_and_255_and_its_factors() {
        let file = DataFile { name: "dsprites.hdf5", path: Path::new(REFERENCE) };
        let mut source = open(file).unwrap();
        assert_eq!(source.catalog().count, 6);
        let factors = &source.catalog().annotations.factors;
        assert_eq!(factors.names, ["color", "shape", "scale", "orientation", "x", "y"]);
        assert_eq!(factors.row(5), [5.0, 5.125, 5.25, 5.375, 5.5, 5.625]);

        let mut pixels = vec![7; 2 * 64 * 64];
        assert_eq!(source.read(&[1, 4], &mut pixels).unwrap(), []);
        for (image, number) in pixels.chunks(64 * 64).zip([1, 4]) {
            for (place, &pixel) in image.iter().enumerate() {
                let bit = (place / 64 + place % 64 / 8 + number) % 2;
                assert_eq!(usize::from(pixel), bit * 255, "image {number}, place {place}");
            }
        }
    }

    #[test]
    fn a_pixel_that_is_no_bit_is_named() {
        let error = bits_to_bytes(&[0, 1, 9], &mut [0; 3]).unwrap_err();
        assert_eq!(error, "expected pixels of 0 and 1, found 9");
    }
}
