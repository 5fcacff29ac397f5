//! How far two sets of points are from each other as samples of two distributions.
//!
//! [`Gaussian`] holds the Frechet distance, [`KidSpec`] the kernel distance. Both take features of
//! any network, one row a sample. Only with the features of the Inception network of 2015 is the
//! Frechet distance what papers call FID, so it is not called so here; `Kid` names the estimator,
//! whatever the features.

mod frechet;
pub mod inception;
mod kid;

use thiserror::Error;

pub use self::frechet::Gaussian;
pub use self::kid::{KernelDistance, KidSpec};
use crate::numerics::Points;

/// Says why two sets of points could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetricError {
    /// A spread can't be measured on so few points.
    #[error("at least 2 points are needed on each side, found {points}")]
    TooFew {
        /// Number of points.
        points: usize,
    },
    /// The points have no coordinates, or not the same.
    #[error(
        "points with {real} coordinates can't be compared with points with {generated}: use the \
         same network for both"
    )]
    Widths {
        /// Coordinates of the one side.
        real: usize,
        /// Coordinates of the other.
        generated: usize,
    },
    /// A coordinate is not a finite number.
    #[error("coordinate {coordinate} of point {point} is not a finite number")]
    NonFinite {
        /// The first such point, counting from 1.
        point: usize,
        /// Its first such coordinate, counting from 1.
        coordinate: usize,
    },
    /// The singular values could not be found.
    #[error("the singular values of the common covariance did not converge")]
    NoConvergence,
}

/// Refuses points that are too few, have no coordinates or are not numbers.
fn check(points: &Points) -> Result<(), MetricError> {
    let (rows, width) = (points.rows(), points.width());
    if width == 0 {
        return Err(MetricError::Widths { real: 0, generated: 0 });
    }
    if rows < 2 {
        return Err(MetricError::TooFew { points: rows });
    }
    match points.values().iter().position(|value| !value.is_finite()) {
        Some(at) => {
            Err(MetricError::NonFinite { point: at / width + 1, coordinate: at % width + 1 })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod reference {
    //! Points that the Python scripts make too, by the same whole-number rule.

    use crate::numerics::Points;

    /// Returns points whose values are whole numbers over 256, hence exact.
    ///
    /// Only the first `rank` coordinates are drawn; each other one is the sum of two before it.
    pub(super) fn points(seed: u32, rows: usize, width: usize, rank: usize, shift: f32) -> Points {
        let mut state = u64::from(seed);
        let mut values = Vec::with_capacity(rows * width);
        for _ in 0..rows {
            let start = values.len();
            for column in 0..width {
                let value = if column < rank {
                    state = (1_103_515_245 * state + 12_345) % (1 << 31);
                    ((state >> 16) % 1024) as f32 / 256.0 + shift * (column % 3) as f32
                } else {
                    values[start + column - rank] + values[start + (column - rank + 1) % rank]
                };
                values.push(value);
            }
        }
        Points::new(rows, width, values).unwrap()
    }
}
