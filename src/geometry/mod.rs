//! Distances along a cloud of points: nearest neighbors, their graph, shortest paths on it.
//!
//! Everything works on plain slices and all cores, and gives the same bytes whatever the number
//! of threads: parallel parts write disjoint rows, and sums run in a fixed order.

mod geodesic;
mod graph;
mod knn;

use thiserror::Error;

pub use self::geodesic::{Distances, GeodesicSpec, Rescale};
pub use self::graph::Graph;
pub use self::knn::Neighbors;

/// Says why distances could not be computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// There are not more points than neighbors asked for.
    #[error("{neighbors} neighbors need at least {} points, found {points}", neighbors + 1)]
    TooFewPoints {
        /// Neighbors asked for.
        neighbors: usize,
        /// Points given.
        points: usize,
    },
    /// There are more points than an index can name.
    #[error("at most {} points are supported, found {points}", u32::MAX)]
    TooManyPoints {
        /// Points given.
        points: usize,
    },
    /// A coordinate is not a finite number.
    #[error("point {row} has a coordinate that is not finite")]
    NonFinite {
        /// The first such point.
        row: usize,
    },
    /// All points coincide, so distances have no mean to be divided by.
    #[error("all {points} points coincide, so distances cannot be scaled to a mean of 1")]
    AllCoincide {
        /// Points given.
        points: usize,
    },
    /// A stored table of distances is not square.
    #[error("{n} points need {} distances, found {found}", n * n)]
    NotSquare {
        /// Stated number of points.
        n: usize,
        /// Number of distances given.
        found: usize,
    },
}

/// Returns the squared Euclidean distance, summed in double precision.
fn squared_distance(left: &[f32], right: &[f32]) -> f64 {
    left.iter().zip(right).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
}
