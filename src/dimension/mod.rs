//! Intrinsic dimension: how many coordinates a cloud of points needs.
//!
//! One file for each estimator. To add one: a `mod` line, an [`EstimatorSpec`] variant and its
//! arm below.

mod variance;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::variance::Variance;
use crate::numerics::Points;

/// Says why a dimension could not be estimated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EstimateError {
    /// There is nothing to measure.
    #[error("there are no points, or they have no coordinates")]
    NoPoints,
    /// All points coincide.
    #[error("all {points} points coincide, so no coordinate has a share of the variance")]
    NoVariance {
        /// Number of points.
        points: usize,
    },
    /// A coordinate is not a finite number.
    #[error("coordinate {coordinate} has a variance that is not finite")]
    NonFinite {
        /// The first such coordinate, counting from 1.
        coordinate: usize,
    },
}

/// The estimators a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EstimatorSpec {
    /// Counts the leading coordinates that hold a share of the variance.
    Variance(Variance),
}

impl EstimatorSpec {
    /// Estimates the dimension of the points.
    pub fn estimate(&self, points: &Points) -> Result<Estimate, EstimateError> {
        match self {
            Self::Variance(variance) => variance.estimate(points),
        }
    }
}

/// An estimated dimension with the numbers behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The estimated dimension.
    pub dimension: usize,
    /// Biased variance of each coordinate, in coordinate order.
    pub variances: Vec<f64>,
    /// Sum of the variances.
    pub total_variance: f64,
    /// Share of the total variance that the first `dimension` coordinates hold.
    pub share: f64,
}
