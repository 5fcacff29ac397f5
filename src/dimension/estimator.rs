//! What every estimator answers, and the declaration that makes a choice of them.

use super::{EstimateError, Finding};
use crate::geometry::Neighbors;
use crate::numerics::Points;
use crate::numerics::units::Fraction;

/// Operations that take as long as looking at the distance of one pair of points.
const PER_PAIR: f64 = 450.0;
/// Operations that take as long as choosing one neighbor, and what an estimator makes of it.
const PER_NEIGHBOR: f64 = 1e4;

/// Counts the operations of searching so many neighbors of some points among all.
pub(super) fn searching(queries: usize, points: usize, width: usize, count: usize) -> f64 {
    let compared = points as f64 * (2.0 * width as f64 + PER_PAIR);
    queries.min(points) as f64 * (compared + PER_NEIGHBOR * count as f64)
}

/// An estimator with its settings.
pub(super) trait Estimator: Sync {
    /// Estimates the dimension of the points, with neighbors that were found before if there are.
    fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError>;

    /// Returns how many neighbors of each point are used, if any are.
    fn neighbors(&self) -> Option<usize> {
        None
    }

    /// Returns the least number of neighbors that it can use.
    fn fewest_neighbors(&self) -> usize {
        2
    }

    /// Returns the fewest points that it can use, and why, beside those that are neighbors.
    fn fewest_points(&self) -> Option<(usize, &'static str)> {
        None
    }

    /// Returns whether all principal axes of all points may be counted.
    fn counts_all_axes(&self) -> bool {
        false
    }

    /// Returns whether the dimension is one of space, which is below the number of points.
    fn is_bounded_by_points(&self) -> bool {
        true
    }

    /// Returns what is wrong with the settings, beside too few neighbors.
    fn problem(&self) -> Option<String> {
        None
    }

    /// Returns the further shares of the variance that are counted.
    fn also(&self) -> &[Fraction] {
        &[]
    }

    /// Returns whether shares of the variance are counted.
    fn is_count(&self) -> bool {
        false
    }

    /// Returns of how many points of a reference manifold the neighbors suffice to calibrate it.
    fn calibration_queries(&self) -> usize {
        400
    }

    /// Counts the operations on points of so many coordinates, beside the search of neighbors.
    fn operations(&self, points: usize, width: usize) -> f64 {
        points as f64 * width as f64
    }

    /// Returns whether the order of the coordinates counts.
    fn needs_order(&self) -> bool {
        false
    }
}

/// Makes the estimators that a pipeline can name: `Name(module::Settings), "What it is.";`.
macro_rules! estimators {
    ($($name:ident($module:ident::$settings:ident), $doc:literal;)*) => {
        $(pub use self::$module::$settings;)*

        /// The estimators a pipeline can name.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub enum EstimatorSpec {
            $(#[doc = $doc] $name($settings),)*
        }

        impl EstimatorSpec {
            /// The settings of all estimators, by the names of their types.
            #[cfg(test)]
            const SETTINGS: &'static [&'static str] = &[$(stringify!($settings)),*];

            fn estimator(&self) -> &dyn Estimator {
                match self {
                    $(Self::$name(settings) => settings,)*
                }
            }
        }
    };
}

pub(super) use estimators;
