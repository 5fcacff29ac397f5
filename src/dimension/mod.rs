//! Intrinsic dimension: how many coordinates a cloud of points needs.
//!
//! One file for each estimator. To add one: a `mod` line, an [`EstimatorSpec`] variant and its
//! arm below.

mod relevance;
mod spectrum;
mod variance;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::relevance::{Basis, JacobianWeights, RelevanceForm, RelevanceScores, turned};
pub use self::spectrum::Spectrum;
pub use self::variance::Variance;
use crate::numerics::units::Fraction;
use crate::numerics::{PcaError, Points};

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
    /// The decoder does not depend on the code, or the code does not vary.
    #[error("nothing that is decoded changes with the codes, so no coordinate is relevant")]
    NoRelevance,
    /// A score is not a finite number.
    #[error("coordinate {coordinate} has a relevance that is not finite")]
    NonFiniteScore {
        /// The first such coordinate, counting from 1.
        coordinate: usize,
    },
    /// The points have no principal axes.
    #[error(transparent)]
    Axes(#[from] PcaError),
}

/// The estimators a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EstimatorSpec {
    /// Counts the leading coordinates that hold a share of the variance.
    Variance(Variance),
    /// Counts the principal axes that hold a share of the variance.
    Spectrum(Spectrum),
}

impl EstimatorSpec {
    /// Estimates the dimension of the points.
    pub fn estimate(&self, points: &Points) -> Result<Estimate, EstimateError> {
        match self {
            Self::Variance(variance) => variance.estimate(points),
            Self::Spectrum(spectrum) => spectrum.estimate(points),
        }
    }

    /// Returns whether the coordinates' order counts, so that only codes can be estimated.
    pub const fn needs_order(&self) -> bool {
        match self {
            Self::Variance(_) => true,
            Self::Spectrum(_) => false,
        }
    }
}

/// An estimated dimension with the numbers behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The estimated dimension.
    pub dimension: usize,
    /// Biased variance of each coordinate in its own order, or of each principal axis.
    pub variances: Vec<f64>,
    /// Sum of the variances.
    pub total_variance: f64,
    /// Share of the total variance that the first `dimension` of them hold.
    pub share: f64,
}

/// Returns the name under which a count at a threshold is recorded: `dimension_99.9`.
pub fn count_name(threshold: Fraction) -> String {
    let percent = format!("{:.8}", 100.0 * threshold.get());
    format!("dimension_{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_named_by_its_threshold_in_percent() {
        let name = |threshold: f64| count_name(Fraction::new(threshold).unwrap());
        assert_eq!(name(0.999), "dimension_99.9");
        assert_eq!(name(0.07), "dimension_7");
        assert_eq!(name(1.0), "dimension_100");
        assert_eq!(name(0.0), "dimension_0");
    }
}
