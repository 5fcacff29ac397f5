//! Image data sets: what a user may ask for, and the images a stage gets.
//!
//! One file for each data set. To add one: a `mod` line, a [`DatasetSpec`] variant and its arms
//! below. Pixels stay bytes until a batch is taken, so that a data set costs one byte a pixel.

mod dsprites;

use std::fmt;

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::dsprites::{Dsprites, Sampling};
use crate::numerics::Points;

/// Says why a data set could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DataError {
    /// Pixels, factors and shape do not describe the same number of images.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// The list that is too short or too long.
        what: &'static str,
        /// Number of values the shape asks for.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
}

/// The data sets a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum DatasetSpec {
    /// Ellipses that move, turn and grow.
    Dsprites(Dsprites),
}

impl DatasetSpec {
    /// Loads one split, telling `on_progress` how many of how many images are ready.
    pub fn load(
        &self,
        split: Split,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Images, DataError> {
        match self {
            Self::Dsprites(dsprites) => dsprites.load(split, on_progress),
        }
    }

    /// Returns the shape of this set's images.
    pub fn shape(&self) -> ImageShape {
        match self {
            Self::Dsprites(dsprites) => dsprites.shape(),
        }
    }
}

/// A part of a data set that shares no image with the other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Split {
    /// What models learn from.
    Train,
    /// What settings are chosen on.
    Validation,
    /// What results are reported on.
    Test,
}

impl Split {
    /// All splits, in the order in which a shuffled set is cut into them.
    pub const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// Returns the split's name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

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

/// The known causes of each image, such as position and size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// One name for each column of `values`.
    pub names: Vec<String>,
    /// One row for each image, row-major.
    pub values: Vec<f32>,
}

/// Images of one shape, with the factors that made them.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    shape: ImageShape,
    pixels: Vec<u8>,
    factors: Factors,
}

impl Images {
    /// Makes a set of images from pixels in image, channel, row, column order.
    pub fn new(shape: ImageShape, pixels: Vec<u8>, factors: Factors) -> Result<Self, DataError> {
        let size = shape.pixels().max(1);
        let count = pixels.len() / size;
        let check = |what, expected, found| {
            if expected == found {
                Ok(())
            } else {
                Err(DataError::Length { what, expected, found })
            }
        };
        check("pixels", count * size, pixels.len())?;
        check("factors", count * factors.names.len(), factors.values.len())?;
        Ok(Self { shape, pixels, factors })
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

    /// Returns the factors behind the images.
    pub const fn factors(&self) -> &Factors {
        &self.factors
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
fn unit(pixel: u8) -> f32 {
    f32::from(pixel) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tiny_images() -> Images {
        let shape = ImageShape { channels: 1, height: 1, width: 2 };
        let factors = Factors { names: vec!["x".into()], values: vec![0.0, 1.0] };
        Images::new(shape, vec![0, 255, 51, 0], factors).unwrap()
    }

    #[test]
    fn a_batch_holds_the_chosen_images_with_pixels_between_zero_and_one() {
        let images = two_tiny_images();
        assert_eq!(images.len(), 2);
        assert_eq!(images.batch(&[1, 0]), [0.2, 0.0, 0.0, 1.0]);
        assert_eq!(images.to_points().row(1), [0.2, 0.0]);
    }

    #[test]
    fn factors_of_another_number_of_images_are_refused() {
        let shape = ImageShape { channels: 1, height: 1, width: 2 };
        let factors = Factors { names: vec!["x".into()], values: vec![0.0] };
        let error = Images::new(shape, vec![0; 4], factors).unwrap_err();
        assert_eq!(error.to_string(), "factors: expected 2 values, found 1");
    }
}
