//! Maximum likelihood: how fast the number of neighbors grows with the distance.
//!
//! What: with T_j the distance to the j-th neighbor and S = sum of log(T_k / T_j) over j < k, a
//! point's own estimate is (k - 1) / S. Forms differ in the factor and in how points are put together.
//! Reference: Levina and Bickel 2004; MacKay and Ghahramani 2005 (the likelihood of all points);
//! Pope et al. 2021, "The intrinsic dimension of images", whose code has k - 2 in that.
//! Assumptions: even density within the reach of the k neighbors. The factors k - 1 and k - 2
//! differ much where k is small: at k = 5 one form gives 4/3 of the other.
//! Checked against: scikit-dimension 0.5.0 in all forms (tests/reference/estimators.py).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::neighborhoods::Neighborhoods;
use super::{EstimateError, Finding, LocalEstimate, mean_and_error, own_quantiles};
use crate::geometry::Neighbors;
use crate::numerics::Points;

/// Settings of the maximum-likelihood estimate, for instance `Mle(neighbors: 20, form: Pope)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mle {
    /// Number of neighbors of each point.
    pub neighbors: usize,
    /// How the estimates of all points are combined.
    #[serde(default)]
    pub form: MleForm,
}

/// How the estimates of all points are combined; k is the number of neighbors, T_j the distance
/// from a point to its j-th neighbor, and S the sum of log(T_k / T_j) over j < k.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MleForm {
    /// The mean of (k - 1) / S, as in Levina and Bickel 2004.
    LevinaBickel,
    /// The mean of (k - 2) / S, unbiased at each point.
    Unbiased,
    /// (k - 1) over the mean of S, as in MacKay and Ghahramani 2005.
    MacKayGhahramani,
    /// (k - 2) over the mean of S, as Pope et al. 2021 computed their tables.
    #[default]
    Pope,
}

impl MleForm {
    /// Returns what is subtracted from the number of neighbors.
    const fn less(self) -> usize {
        match self {
            Self::LevinaBickel | Self::MacKayGhahramani => 1,
            Self::Unbiased | Self::Pope => 2,
        }
    }
}

impl Estimator for Mle {
    /// The spread is the standard error, as if points were independent.
    fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let near = Neighborhoods::of(points, self.neighbors, known)?;
        let factor = (self.neighbors - self.form.less()) as f64;
        let sum = |row: &[(u32, f64)]| -> f64 {
            let farthest = row[row.len() - 1].1;
            row[..row.len() - 1].iter().map(|(_, distance)| (farthest / distance).ln()).sum()
        };
        let sums: Vec<f64> = near.iter().map(sum).collect();
        let (dimension, spread, points_used) = match self.form {
            MleForm::LevinaBickel | MleForm::Unbiased => {
                // Neighbors that are all equally far tell nothing of a point alone.
                let own = sums.iter().filter(|sum| **sum > 0.0).map(|sum| factor / sum);
                let own: Vec<f64> = own.collect();
                let (mean, error) = mean_and_error(&own).ok_or(EstimateError::EquallyFar)?;
                (mean, error, own.len())
            }
            MleForm::MacKayGhahramani | MleForm::Pope => {
                let (mean, error) = mean_and_error(&sums).ok_or(EstimateError::NoPoints)?;
                if mean <= 0.0 {
                    return Err(EstimateError::EquallyFar);
                }
                (factor / mean, factor / mean * (error / mean), sums.len())
            }
        };
        let duplicates = near.duplicates();
        let own = own_quantiles(sums.iter().filter(|s| **s > 0.0).map(|s| factor / s).collect());
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

    fn fewest_neighbors(&self) -> usize {
        self.form.less() + 1
    }
}
