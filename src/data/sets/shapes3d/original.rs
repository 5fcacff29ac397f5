//! The original 3DShapes: 480,000 images of 64 x 64 pixels in color, and their factors.
//!
//! Reference: Burgess and Kim 2018, `3dshapes.h5`: data sets `images` and `labels`, the channels of
//! a pixel side by side. Here each channel becomes a plane of its own.
//! Checked against: tests/reference/shapes3d_{earliest,latest}.h5, which h5py wrote in the same
//! layout.

use super::FACTORS;
use crate::data::formats::hdf5::Layout;
use crate::data::{DataError, DataFile, ImageShape, ImageSource};

const SHAPE: ImageShape = ImageShape { channels: 3, height: 64, width: 64 };

const LAYOUT: Layout = Layout {
    images: "images",
    stored: &[SHAPE.height, SHAPE.width, SHAPE.channels],
    shape: SHAPE,
    convert: channels_apart,
    factors: "labels",
    names: &FACTORS,
};

/// Opens the file and reads the factors of all images.
pub(super) fn open(file: DataFile<'_>) -> Result<Box<dyn ImageSource>, DataError> {
    LAYOUT.open(file)
}

/// Sorts the channels of all pixels into one plane for each channel.
#[expect(clippy::unnecessary_wraps, reason = "other layouts refuse some pixels")]
fn channels_apart(stored: &[u8], pixels: &mut [u8]) -> Result<(), String> {
    let plane = SHAPE.height * SHAPE.width;
    for (channel, pixels) in pixels.chunks_mut(plane).enumerate() {
        let values = stored.iter().skip(channel).step_by(SHAPE.channels);
        for (pixel, value) in pixels.iter_mut().zip(values) {
            *pixel = *value;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const EARLIEST: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/shapes3d_earliest.h5");
    const LATEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/shapes3d_latest.h5");

    #[test]
    fn files_that_h5py_wrote_in_the_oldest_and_the_newest_format_give_their_pixels() {
        for path in [EARLIEST, LATEST] {
            let file = DataFile { name: "3dshapes.h5", path: Path::new(path) };
            let mut source = open(file).unwrap();
            assert_eq!((source.catalog().count, source.shape()), (6, SHAPE));
            let mut pixels = vec![0; 4 * SHAPE.pixels()];
            // Rows 0 to 3 share their chunks, 4 and 5 have others.
            assert_eq!(source.read(&[0, 2], &mut pixels[..2 * SHAPE.pixels()]).unwrap(), []);
            assert_eq!(source.read(&[3, 5], &mut pixels[2 * SHAPE.pixels()..]).unwrap(), []);
            for (image, number) in pixels.chunks(SHAPE.pixels()).zip([0, 2, 3, 5]) {
                for (place, &pixel) in image.iter().enumerate() {
                    let (channel, row, column) = (place / 4096, place / 64 % 64, place % 64);
                    let expected = (50 * number + row + 3 * (column / 4) + 80 * channel) % 256;
                    assert_eq!(usize::from(pixel), expected, "{path}: {number}, place {place}");
                }
            }
        }
    }

    #[test]
    fn labels_become_factors_in_the_order_of_the_original() {
        let file = DataFile { name: "3dshapes.h5", path: Path::new(LATEST) };
        let source = open(file).unwrap();
        let factors = &source.catalog().annotations.factors;
        assert_eq!(factors.names, FACTORS);
        assert_eq!(factors.row(3), [3.0, 3.125, 3.25, 3.375, 3.5, 3.625]);
    }
}
