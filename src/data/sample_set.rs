//! Samples in memory, images or vectors, as models and graphs take them: rows of values.

use super::{Annotations, ImageShape, Images, Vectors};
use crate::numerics::Points;

/// Images or vectors that are all in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleSet {
    /// Images; each is one row of pixels between 0 and 1.
    Images(Images),
    /// Vectors, as they are.
    Vectors(Vectors),
}

impl SampleSet {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        match self {
            Self::Images(images) => images.len(),
            Self::Vectors(vectors) => vectors.points().rows(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what one sample looks like.
    pub const fn form(&self) -> SampleForm {
        match self {
            Self::Images(images) => SampleForm::Image(images.shape()),
            Self::Vectors(vectors) => SampleForm::Vector { width: vectors.points().width() },
        }
    }

    /// Returns what is known of the samples.
    pub const fn annotations(&self) -> &Annotations {
        match self {
            Self::Images(images) => images.annotations(),
            Self::Vectors(vectors) => vectors.annotations(),
        }
    }

    /// Returns the chosen samples one after the other.
    pub fn batch(&self, indices: &[usize]) -> Vec<f32> {
        match self {
            Self::Images(images) => images.batch(indices),
            Self::Vectors(vectors) => {
                let rows = indices.iter().map(|&index| vectors.points().row(index));
                rows.flatten().copied().collect()
            }
        }
    }

    /// Returns the chosen samples, in the order in which they are given.
    #[must_use]
    pub fn at(&self, indices: &[usize]) -> Self {
        match self {
            Self::Images(images) => Self::Images(images.at(indices)),
            Self::Vectors(vectors) => Self::Vectors(vectors.at(indices)),
        }
    }

    /// Returns every sample as one point.
    pub fn to_points(&self) -> Points {
        match self {
            Self::Images(images) => images.to_points(),
            Self::Vectors(vectors) => vectors.points().clone(),
        }
    }

    /// Feeds all values to `take`, as they are stored, to tell this set from any other.
    pub fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Images(images) => take(images.pixels()),
            Self::Vectors(vectors) => {
                for row in 0..vectors.points().rows() {
                    let values = vectors.points().row(row).iter();
                    take(&values.flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>());
                }
            }
        }
    }
}

/// What one sample looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SampleForm {
    /// An image.
    Image(ImageShape),
    /// A vector.
    Vector {
        /// Its number of coordinates.
        width: usize,
    },
}

impl SampleForm {
    /// Describes images that are as high as wide.
    pub(super) const fn square(channels: usize, side: usize) -> Self {
        Self::Image(ImageShape { channels, height: side, width: side })
    }

    /// Returns the number of values in one sample.
    pub const fn values(&self) -> usize {
        match self {
            Self::Image(shape) => shape.pixels(),
            Self::Vector { width } => *width,
        }
    }
}

impl std::fmt::Display for SampleForm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Image(shape) => write!(formatter, "images of {shape}"),
            Self::Vector { width: 1 } => formatter.write_str("vectors of 1 coordinate"),
            Self::Vector { width } => write!(formatter, "vectors of {width} coordinates"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_vectors_are_rows_of_values() {
        let shape = ImageShape { channels: 1, height: 1, width: 2 };
        let images = Images::new(shape, vec![0, 255, 51, 0], Annotations::default()).unwrap();
        let images = SampleSet::Images(images);
        assert_eq!((images.len(), images.form().values()), (2, 2));
        assert_eq!(images.batch(&[1]), [0.2, 0.0]);
        let points = Points::new(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let vectors = SampleSet::Vectors(Vectors::new(points, Annotations::default()).unwrap());
        assert_eq!((vectors.len(), vectors.form().values()), (2, 3));
        assert_eq!(vectors.batch(&[1, 0]), [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
        assert_eq!(vectors.form().to_string(), "vectors of 3 coordinates");
    }
}
