//! Method of moments: how the mean distance to neighbors compares with the farthest.
//!
//! What: with m the mean of the k distances and w the largest, a point's own estimate is m / (w - m);
//! the dimension is the mean over points.
//! Reference: Amsaleg et al. 2018, "Extreme-value-theoretic estimation of local intrinsic
//! dimensionality".
//! Assumptions: even density within the reach of the k neighbors.
//! Checked against: scikit-dimension 0.5.0, `MOM` (tests/reference/estimators.py).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::neighborhoods::Neighborhoods;
use super::{EstimateError, Finding, LocalEstimate, mean_and_error, own_quantiles};
use crate::geometry::Neighbors;
use crate::numerics::Points;

/// Settings of the method of moments, for instance `Mom(neighbors: 20)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mom {
    /// Number of neighbors of each point.
    pub neighbors: usize,
}

impl Estimator for Mom {
    /// The spread is the standard error, as if points were independent.
    fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let near = Neighborhoods::of(points, self.neighbors, known)?;
        let own = |row: &[(u32, f64)]| {
            let mean = row.iter().map(|(_, distance)| distance).sum::<f64>() / row.len() as f64;
            let beyond = row[row.len() - 1].1 - mean;
            // Neighbors that are all equally far, but for rounding, tell nothing.
            (row[0].1 < row[row.len() - 1].1 && beyond > 0.0).then(|| mean / beyond)
        };
        let own: Vec<f64> = near.iter().filter_map(own).collect();
        let (dimension, spread) = mean_and_error(&own).ok_or(EstimateError::EquallyFar)?;
        let (points_used, duplicates) = (own.len(), near.duplicates());
        let own = own_quantiles(own);
        Ok(Finding::Local(LocalEstimate {
            dimension,
            spread,
            points_used,
            duplicates,
            own,
            ..Default::default()
        }))
    }

    fn neighbors(&self) -> Option<usize> {
        Some(self.neighbors)
    }
}
