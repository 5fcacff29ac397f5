//! Intrinsic dimension: how many coordinates a cloud of points needs.
//!
//! One file for each estimator. To add one: a `mod` line, an [`EstimatorSpec`] variant and its
//! arms below.

mod correlation;
mod local_pca;
mod mle;
mod moments;
mod neighborhoods;
mod pca_rules;
#[cfg(test)]
mod reference;
mod relevance;
mod spectrum;
mod two_nn;
mod variance;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::correlation::CorrelationDimension;
pub use self::local_pca::LocalPca;
pub use self::mle::{Mle, MleForm};
pub use self::moments::Mom;
use self::neighborhoods::Neighborhoods;
pub use self::pca_rules::PcaRule;
pub use self::relevance::{Basis, JacobianWeights, RelevanceForm, RelevanceScores, turned};
pub use self::spectrum::Spectrum;
pub use self::two_nn::{TwoNn, TwoNnFit};
use self::variance::leading;
pub use self::variance::{CountOrder, Variance};
use crate::geometry::{GeometryError, Neighbors};
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
    /// Neighbors that were found before are too few.
    #[error(
        "{needed} neighbors of each point are needed, but the `neighbors` stage has {found}: raise \
         its `count`"
    )]
    FewNeighbors {
        /// Neighbors that the estimator looks at.
        needed: usize,
        /// Neighbors that are there.
        found: usize,
    },
    /// Too many points coincide.
    #[error(
        "a point needs {needed} neighbors at a distance above 0, but too many of the {points} \
         points coincide"
    )]
    FewDistinct {
        /// Neighbors that the estimator looks at.
        needed: usize,
        /// Number of points.
        points: usize,
    },
    /// All neighbors are equally far from their points.
    #[error("all neighbors of a point are equally far from it, so their number does not grow")]
    EquallyFar,
    /// Too few points are left.
    #[error(
        "{kept} of {points} points are left after the discarded share, at least 2 are needed: lower \
         `discard`"
    )]
    FewRatios {
        /// Points that are left.
        kept: usize,
        /// Number of points.
        points: usize,
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
    /// The points have no neighbors.
    #[error(transparent)]
    Neighbors(#[from] GeometryError),
}

/// The estimators a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EstimatorSpec {
    /// Counts the leading coordinates that hold a share of the variance.
    Variance(Variance),
    /// Counts the principal axes that hold a share of the variance.
    Spectrum(Spectrum),
    /// Maximum likelihood of the distances to neighbors.
    Mle(Mle),
    /// The ratio of the distances to two neighbors.
    TwoNn(TwoNn),
    /// Counts the principal axes of neighborhoods, or of all points, by one of several rules.
    LocalPca(LocalPca),
    /// The growth of the number of near pairs.
    CorrelationDimension(CorrelationDimension),
    /// The mean distance to neighbors beside the largest.
    Mom(Mom),
}

impl EstimatorSpec {
    /// Estimates the dimension of the points, with neighbors that were found before if there are.
    pub fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let near = self.neighbors().map(|count| Neighborhoods::of(points, count, known));
        let near = near.transpose()?;
        let local = match (self, &near) {
            (Self::Variance(variance), _) => {
                return counted(variance.estimate(points)?, &variance.also, points.rows());
            }
            (Self::Spectrum(spectrum), _) => {
                return counted(spectrum.estimate(points)?, &spectrum.also, points.rows());
            }
            (Self::LocalPca(pca), None) => pca.of_all(points),
            (Self::LocalPca(pca), Some(near)) => pca.of_each(points, near),
            (Self::Mle(mle), Some(near)) => mle.estimate(near),
            (Self::TwoNn(two), Some(near)) => two.estimate(near),
            (Self::CorrelationDimension(slope), Some(near)) => slope.estimate(points, near),
            (Self::Mom(_), Some(near)) => Mom::estimate(near),
            (_, None) => Err(EstimateError::NoPoints),
        };
        local.map(Finding::Local)
    }

    /// Returns how many neighbors of each point are looked at, if any are.
    pub const fn neighbors(&self) -> Option<usize> {
        match self {
            Self::Variance(_) | Self::Spectrum(_) => None,
            Self::Mle(mle) => Some(mle.neighbors),
            Self::TwoNn(_) => Some(2),
            Self::LocalPca(pca) => pca.neighbors,
            Self::CorrelationDimension(slope) => Some(slope.far),
            Self::Mom(mom) => Some(mom.neighbors),
        }
    }

    /// Returns what is wrong with the settings, whatever the points are.
    pub fn problem(&self) -> Option<String> {
        let fewest = match self {
            Self::Mle(mle) => mle.fewest(),
            Self::Variance(_) | Self::Spectrum(_) => 0,
            Self::CorrelationDimension(slope) if slope.near == 0 || slope.far <= slope.near => {
                return Some("`near` must be at least 1, and `far` above it".to_owned());
            }
            Self::TwoNn(ratios) if ratios.discard.get() >= 1.0 => {
                return Some("`discard` must be below 1, or nothing is left".to_owned());
            }
            Self::TwoNn(_) | Self::LocalPca(_) | Self::CorrelationDimension(_) | Self::Mom(_) => 2,
        };
        let found = self.neighbors().filter(|found| *found < fewest)?;
        Some(format!("at least {fewest} neighbors are needed here, found {found}"))
    }

    /// Returns the further shares of the variance that are counted.
    pub fn also(&self) -> &[Fraction] {
        match self {
            Self::Variance(variance) => &variance.also,
            Self::Spectrum(spectrum) => &spectrum.also,
            _ => &[],
        }
    }

    /// Returns whether shares of the variance are counted.
    pub const fn is_count(&self) -> bool {
        matches!(self, Self::Variance(_) | Self::Spectrum(_))
    }

    /// Returns whether the coordinates' order counts, so that only codes can be estimated.
    pub const fn needs_order(&self) -> bool {
        matches!(self, Self::Variance(Variance { order: CountOrder::Coordinates, .. }))
    }
}

/// What an estimator found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A number of coordinates or axes.
    Count(Estimate, Vec<usize>),
    /// A dimension, not always a whole number.
    Local(LocalEstimate),
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

/// A dimension found by looking at neighbors.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalEstimate {
    /// The estimated dimension.
    pub dimension: f64,
    /// Its standard error, as if points were independent; 0 where there is none.
    pub spread: f64,
    /// How many points it rests on.
    pub points_used: usize,
    /// How many neighbors coincided with their point and were left out.
    pub duplicates: usize,
}

/// Returns the name of the count at a share of the variance, such as `dimension_99.9`.
pub fn count_name(threshold: Fraction) -> String {
    // A share has at most 17 digits; 12 of its percentage leave out what the product has added.
    let percent = format!("{:.12}", 100.0 * threshold.get());
    format!("dimension_{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// Counts the same variances at further shares.
fn counted(found: Estimate, also: &[Fraction], rows: usize) -> Result<Finding, EstimateError> {
    let count = |&share: &Fraction| Ok(leading(found.variances.clone(), share, rows)?.dimension);
    let counts = also.iter().map(count).collect::<Result<_, EstimateError>>()?;
    Ok(Finding::Count(found, counts))
}

/// Returns the mean of some numbers and its standard error.
fn mean_and_error(numbers: &[f64]) -> Option<(f64, f64)> {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
    (!numbers.is_empty()).then_some((mean, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_by_their_percentage_without_trailing_zeros() {
        let name = |share: f64| count_name(Fraction::new(share).unwrap());
        assert_eq!(name(0.999), "dimension_99.9");
        assert_eq!(name(0.99), "dimension_99");
        assert_eq!(name(0.9), "dimension_90");
        assert_eq!(name(0.28), "dimension_28");
        assert_eq!(name(0.9999), "dimension_99.99");
        assert_eq!(name(1.0), "dimension_100");
        assert_eq!(name(0.0), "dimension_0");
    }

    #[test]
    fn settings_that_no_points_can_satisfy_are_told() {
        let problem = |text: &str| ron::from_str::<EstimatorSpec>(text).unwrap().problem();
        assert_eq!(problem("Mle((neighbors: 3, form: Pope))"), None);
        assert_eq!(
            problem("Mle((neighbors: 2, form: Pope))").unwrap(),
            "at least 3 neighbors are needed here, found 2"
        );
        assert_eq!(problem("Mle((neighbors: 2, form: LevinaBickel))"), None);
        assert!(problem("Mom((neighbors: 1))").is_some());
        assert!(problem("LocalPca((neighbors: Some(1), rule: MaxGap))").is_some());
        assert_eq!(problem("LocalPca((rule: MaxGap))"), None);
        assert_eq!(problem("CorrelationDimension(())"), None);
        assert!(problem("CorrelationDimension((near: 20, far: 20))").is_some());
    }
}
