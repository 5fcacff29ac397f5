//! Distances along a cloud of points: nearest neighbors, their graph, shortest paths on it.
//!
//! Everything works on plain slices and all cores, and gives the same bytes whatever the number
//! of threads: parallel parts write disjoint rows, and sums run in a fixed order.

mod anchors;
mod candidates;
mod distances;
mod geodesic;
mod graph;
mod knn;
mod memory;
mod paths;
#[cfg(test)]
mod reference;
mod search;
mod sketch;
mod within;

use std::borrow::Cow;

use thiserror::Error;

pub use self::anchors::{AnchorLink, Anchors};
pub use self::distances::{Distances, Links};
pub use self::geodesic::{GeodesicSpec, Rescale};
pub use self::graph::{Bridge, Graph, Parts};
pub use self::knn::{Neighbors, nearest_among};
pub use self::within::counts_within;
use crate::numerics::Points;

/// Where points come from: a few at a time, so that not all need be in memory as floats.
pub trait PointSource: Sync {
    /// Returns the number of points.
    fn count(&self) -> usize;

    /// Returns the number of coordinates of each point.
    fn width(&self) -> usize;

    /// Returns the coordinates of the chosen points, one point after the other.
    fn coordinates(&self, indices: &[usize]) -> Vec<f32>;

    /// Returns all points.
    fn all(&self) -> Cow<'_, Points>;
}

impl PointSource for Points {
    fn count(&self) -> usize {
        self.rows()
    }

    fn width(&self) -> usize {
        self.width()
    }

    fn coordinates(&self, indices: &[usize]) -> Vec<f32> {
        indices.iter().flat_map(|&index| self.row(index)).copied().collect()
    }

    fn all(&self) -> Cow<'_, Points> {
        Cow::Borrowed(self)
    }
}

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
    /// Points that are compared have different numbers of coordinates.
    #[error("points of {found} coordinates can't be compared with points of {expected}")]
    OtherWidth {
        /// Coordinates of the points that are searched.
        expected: usize,
        /// Coordinates of the points whose neighbors are wanted.
        found: usize,
    },
    /// There are more points than an index can name.
    #[error("at most {} points are supported, found {points}", u32::MAX)]
    TooManyPoints {
        /// Points given.
        points: usize,
    },
    /// More points are to be asked for their neighbors than there are.
    #[error(
        "{queries} queries can't be chosen from {points} points: lower `queries`, or leave it out"
    )]
    TooManyQueries {
        /// Points to be asked.
        queries: usize,
        /// Points given.
        points: usize,
    },
    /// A stored list of neighbors does not fit together.
    #[error(
        "the stored neighbors of {queries} points among {points} are inconsistent, a rule is broken: {rule}"
    )]
    BrokenNeighbors {
        /// Points asked.
        queries: usize,
        /// Points in the set.
        points: usize,
        /// What does not hold.
        rule: &'static str,
    },
    /// Neighbors were searched among other points.
    #[error(
        "these are the neighbors of other points ({neighbors}, not the {points} here: distances \
         differ): search them with a `Neighbors` stage on the same `data`"
    )]
    OtherPoints {
        /// Points among which neighbors were searched.
        neighbors: usize,
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
    #[error(
        "all {points} points of the graph coincide, so distances cannot be scaled to a mean of 1"
    )]
    AllCoincide {
        /// Points of the graph.
        points: usize,
    },
    /// There are not more points than anchors asked for.
    #[error(
        "{anchors} anchors can't be chosen from {points} points: leave `anchors` out, or lower its `count`"
    )]
    TooManyAnchors {
        /// Anchors asked for.
        anchors: usize,
        /// Points given.
        points: usize,
    },
    /// The table of distances does not fit into memory.
    #[error(
        "distances between {points} points take {:.1} GB, but {:.1} GB of memory is available: \
         use `anchors`, or fewer of them",
        gigabytes(*needed), gigabytes(*available)
    )]
    TooLarge {
        /// Points in the table.
        points: usize,
        /// Bytes that the table takes.
        needed: u64,
        /// Bytes that can be had.
        available: u64,
    },
    /// A stored table of distances is not square.
    #[error("{n} points need {} distances, found {found}", n * n)]
    NotSquare {
        /// Stated number of points.
        n: usize,
        /// Number of distances given.
        found: usize,
    },
    /// A point is linked with an anchor that does not exist.
    #[error("point {point} is linked with anchor {anchor}, but there are {anchors} anchors")]
    UnknownAnchor {
        /// The first such point.
        point: usize,
        /// What it is linked with.
        anchor: u32,
        /// Number of anchors in the table.
        anchors: usize,
    },
    /// The ways from points to their anchors are not as many as needed.
    #[error("{points} points need {needed} distances to their anchors, found {found}")]
    LegCount {
        /// Number of points.
        points: usize,
        /// Number of ways that are needed.
        needed: usize,
        /// Number of ways given.
        found: usize,
    },
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// Returns the Euclidean distance of two points.
pub fn euclidean(left: &[f32], right: &[f32]) -> f64 {
    squared_distance(left, right).sqrt()
}

/// Returns the squared Euclidean distance, summed in double precision.
fn squared_distance(left: &[f32], right: &[f32]) -> f64 {
    left.iter().zip(right).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
}
