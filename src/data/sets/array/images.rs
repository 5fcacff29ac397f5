//! Arrays of images: any layout and range of values, read in blocks, turned into bytes.

use super::{Layout, PixelRange};
use crate::data::formats::npy::{Array, Kind};
use crate::data::{Annotations, Broken, Catalog, DataError, ImageShape, ImageSource};

/// An array of images that is open for reading.
pub(super) struct ArrayImages {
    array: Array,
    layout: Layout,
    range: PixelRange,
    shape: ImageShape,
    catalog: Catalog,
    /// One image as it lies in the array, where that is not how it is read.
    raw: Option<Vec<u8>>,
}

impl ArrayImages {
    /// Makes sure that the array holds images as described.
    pub(super) fn new(
        array: Array,
        layout: Layout,
        range: PixelRange,
        annotations: Annotations,
    ) -> Result<Self, DataError> {
        let meaning = match layout {
            Layout::Nhw => "images, rows and columns",
            Layout::Nhwc => "images, rows, columns and channels",
            Layout::Nchw => "images, channels, rows and columns",
        };
        array.expect_dimensions(if layout == Layout::Nhw { 3 } else { 4 }, meaning)?;
        let sizes = &array.header().shape;
        let shape = match layout {
            Layout::Nhw => ImageShape { channels: 1, height: sizes[1], width: sizes[2] },
            Layout::Nhwc => ImageShape { channels: sizes[3], height: sizes[1], width: sizes[2] },
            Layout::Nchw => ImageShape { channels: sizes[1], height: sizes[2], width: sizes[3] },
        };
        let element = array.element();
        if range == PixelRange::Bytes && (element.kind, element.size) != (Kind::Unsigned, 1) {
            let reason = format!(
                "expected u8 for the range Bytes, found {element}: write `Images(.., range: Unit)` \
                 for 0 to 1, Symmetric for -1 to 1 or Full for 0 to 255"
            );
            return Err(array.error("header", reason));
        }
        let catalog = Catalog { count: array.rows(), annotations, partition: None };
        let is_plain = range == PixelRange::Bytes && layout != Layout::Nhwc;
        let raw = if is_plain { None } else { Some(array.row_buffer()?) };
        Ok(Self { array, layout, range, shape, catalog, raw })
    }

    /// Returns where a value of an image goes.
    fn target(&self, index: usize) -> usize {
        match self.layout {
            Layout::Nhw | Layout::Nchw => index,
            Layout::Nhwc => {
                let channel = index % self.shape.channels;
                channel * self.shape.height * self.shape.width + index / self.shape.channels
            }
        }
    }

    /// Turns a raw image into bytes.
    fn convert(&self, row: usize, raw: &[u8], image: &mut [u8]) -> Result<(), DataError> {
        let element = self.array.element();
        let (low, high) = self.range.ends();
        for (index, bytes) in raw.chunks_exact(element.size).enumerate() {
            let value = element.float(bytes);
            let level = self.range.level(value).round();
            if !(0.0..=255.0).contains(&level) {
                let reason = format!("expected a value from {low} to {high}, found {value}");
                return Err(self.array.error(self.array.place(row, index), reason));
            }
            image[self.target(index)] = level as u8;
        }
        Ok(())
    }

    fn read_images(
        &mut self,
        rows: &[usize],
        mut raw: Option<&mut Vec<u8>>,
        pixels: &mut [u8],
    ) -> Result<(), DataError> {
        for (image, &row) in pixels.chunks_exact_mut(self.shape.pixels()).zip(rows) {
            if let Some(raw) = &mut raw {
                self.array.read_row(row, raw)?;
                self.convert(row, raw, image)?;
            } else {
                self.array.read_row(row, image)?;
            }
        }
        Ok(())
    }
}

impl ImageSource for ArrayImages {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        let mut raw = self.raw.take();
        let outcome = self.read_images(rows, raw.as_mut(), pixels);
        self.raw = raw;
        outcome.map(|()| Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{images, refusal};
    use super::*;

    /// The pixels of arrays.py: `10 * image + 100 * channel + place`.
    fn expected(image: u8, channels: u8) -> Vec<u8> {
        (0..channels)
            .flat_map(|channel| (0..6).map(move |place| 10 * image + 100 * channel + place))
            .collect()
    }

    #[test]
    fn every_layout_becomes_channel_row_column() {
        for (array, layout) in [("nhwc", "Nhwc"), ("nchw", "Nchw")] {
            let settings = format!("(content: Images(layout: {layout}), array: \"{array}\")");
            let mut source = images(&settings, "images.npz");
            assert_eq!(source.shape(), ImageShape { channels: 2, height: 2, width: 3 });
            assert_eq!(source.catalog().count, 4);
            let mut pixels = vec![0; 24];
            source.read(&[1, 3], &mut pixels).unwrap();
            assert_eq!(pixels, [expected(1, 2), expected(3, 2)].concat());
        }
    }

    #[test]
    fn floats_of_either_range_come_back_as_the_bytes_they_were_made_from() {
        for (name, range) in [("unit.npy", "Unit"), ("symmetric.npy", "Symmetric")] {
            let settings = format!("(content: Images(layout: Nhw, range: {range}))");
            let mut source = images(&settings, name);
            let mut pixels = vec![0; 24];
            source.read(&[0, 1, 2, 3], &mut pixels).unwrap();
            assert_eq!(pixels, (0..4).flat_map(|image| expected(image, 1)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_pixel_outside_the_range_is_refused_with_its_indices() {
        let mut source = images("(content: Images(layout: Nhw, range: Unit))", "symmetric.npy");
        let error = source.read(&[2], &mut [0; 6]).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "symmetric.npy: value [2, 0, 0]: expected a value from 0 to 1, found -0.8"
            ),
            "{error}"
        );
        assert_eq!(
            refusal("(content: Images(layout: Nhw))", &["unit.npy"]),
            "unit.npy: header: expected u8 for the range Bytes, found f32: write `Images(.., range: \
             Unit)` for 0 to 1, Symmetric for -1 to 1 or Full for 0 to 255"
        );
        assert_eq!(
            refusal("(content: Images(layout: Nhwc))", &["unit.npy"]),
            "unit.npy: header: expected a shape of images, rows, columns and channels, found (4, \
             2, 3)"
        );
    }
}
