//! Images of one shape. Pixels stay bytes until a batch is taken: one byte a pixel is all that a
//! data set costs, in memory and on disk.

use std::fmt;

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};
use serde::{Deserialize, Serialize};

use super::{Annotations, DataError};
use crate::numerics::Points;

/// The size of one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageShape {
    /// Number of color channels.
    pub channels: usize,
    /// Number of pixel rows.
    pub height: usize,
    /// Number of pixel columns.
    pub width: usize,
}

impl ImageShape {
    /// Returns the number of values in one image.
    pub const fn pixels(&self) -> usize {
        self.channels * self.height * self.width
    }
}

impl fmt::Display for ImageShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} x {} x {}", self.channels, self.height, self.width)
    }
}

/// Images of one shape, with what is known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    shape: ImageShape,
    pixels: Vec<u8>,
    annotations: Annotations,
}

impl Images {
    /// Makes a set of images from pixels in image, channel, row, column order.
    pub fn new(
        shape: ImageShape,
        pixels: Vec<u8>,
        annotations: Annotations,
    ) -> Result<Self, DataError> {
        let size = shape.pixels().max(1);
        let count = pixels.len() / size;
        if pixels.len() != count * size {
            let expected = count * size;
            return Err(DataError::Length { what: "pixels", expected, found: pixels.len() });
        }
        annotations.check(count)?;
        Ok(Self { shape, pixels, annotations })
    }

    /// Returns the number of images.
    pub fn len(&self) -> usize {
        self.pixels.len() / self.shape.pixels().max(1)
    }

    /// Returns whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.pixels.is_empty()
    }

    /// Returns the shape of each image.
    pub const fn shape(&self) -> ImageShape {
        self.shape
    }

    /// Returns all pixels in image, channel, row, column order.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Returns what is known of the images.
    pub const fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// Returns the pixels of one image.
    pub fn image(&self, index: usize) -> &[u8] {
        let size = self.shape.pixels();
        &self.pixels[index * size..(index + 1) * size]
    }

    /// Returns the chosen images one after the other, with pixels scaled to between 0 and 1.
    pub fn batch(&self, indices: &[usize]) -> Vec<f32> {
        let mut values = Vec::with_capacity(indices.len() * self.shape.pixels());
        for &index in indices {
            values.extend(self.image(index).iter().map(|&pixel| unit(pixel)));
        }
        values
    }

    /// Returns the chosen images, in the order in which they are given.
    #[must_use]
    pub fn at(&self, indices: &[usize]) -> Self {
        let pixels = indices.iter().flat_map(|&index| self.image(index)).copied().collect();
        Self { shape: self.shape, pixels, annotations: self.annotations.of(indices) }
    }

    /// Returns every image as one point whose coordinates are pixels between 0 and 1.
    pub fn to_points(&self) -> Points {
        let mut values = vec![0.0; self.pixels.len()];
        let size = self.shape.pixels().max(1);
        values.par_chunks_mut(size).enumerate().for_each(|(index, point)| {
            for (value, &pixel) in point.iter_mut().zip(self.image(index)) {
                *value = unit(pixel);
            }
        });
        Points::from_rows(size, values)
    }
}

/// Scales a stored pixel to between 0 and 1.
pub(super) fn unit(pixel: u8) -> f32 {
    f32::from(pixel) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Factors;

    const TINY: ImageShape = ImageShape { channels: 1, height: 1, width: 2 };

    fn factor(values: Vec<f32>) -> Annotations {
        let factors = Factors { names: vec!["x".into()], values };
        Annotations { factors, classes: None }
    }

    #[test]
    fn a_batch_holds_the_chosen_images_with_pixels_between_zero_and_one() {
        let images = Images::new(TINY, vec![0, 255, 51, 0], factor(vec![0.0, 1.0])).unwrap();
        assert_eq!(images.len(), 2);
        assert_eq!(images.batch(&[1, 0]), [0.2, 0.0, 0.0, 1.0]);
        assert_eq!(images.to_points().row(1), [0.2, 0.0]);
    }

    #[test]
    fn factors_of_another_number_of_images_are_refused() {
        let error = Images::new(TINY, vec![0; 4], factor(vec![0.0])).unwrap_err();
        assert_eq!(error.to_string(), "factors: expected 2 values, found 1");
    }
}
