//! Why a dimension could not be estimated.

use thiserror::Error;

use crate::geometry::GeometryError;
use crate::numerics::PcaError;

/// Says why a dimension could not be estimated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EstimateError {
    /// There is nothing to measure.
    #[error("there are no points, or they have no coordinates")]
    NoPoints,
    /// There are fewer points than the estimator can use.
    #[error("at least {needed} points are needed, found {points}: {reason}")]
    FewPoints {
        /// Points that the estimator needs.
        needed: usize,
        /// Number of points.
        points: usize,
        /// Why fewer tell nothing.
        reason: &'static str,
    },
    /// The estimate is larger than the points allow.
    #[error(
        "an estimate of {dimension} dimensions can't rest on {points} points, which always lie in \
         {}: use more points", points - 1
    )]
    Unsupported {
        /// The estimated dimension, in digits.
        dimension: String,
        /// Number of points.
        points: usize,
    },
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
    /// The neighbors of every point lie in one place.
    #[error(
        "the {neighbors} neighbors of each of the {points} points coincide, so they have no \
         principal axes: raise `neighbors`"
    )]
    SameNeighbors {
        /// Neighbors of each point.
        neighbors: usize,
        /// Number of points.
        points: usize,
    },
    /// All neighbors are equally far from their points.
    #[error("all neighbors of a point are equally far from it, so their number does not grow")]
    EquallyFar,
    /// Too few points are left.
    #[error(
        "{kept} of {points} points remain after discarding, but at least 3 are needed: use more \
         points, or lower `discard`"
    )]
    FewRatios {
        /// Points that are left.
        kept: usize,
        /// Number of points.
        points: usize,
    },
    /// The decoder does not depend on the code, or the code does not vary.
    #[error("the decoder's output does not depend on the code, so no coordinate is relevant")]
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
