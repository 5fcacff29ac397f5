//! Correlation dimension: how the number of pairs within a distance grows with it.
//!
//! What: C(r) is the number of pairs nearer than r; the dimension is the slope of log C between two
//! radii, the median distances to the `near`-th and the `far`-th neighbor.
//! Reference: Grassberger and Procaccia 1983; radii by neighbor ranks as in the R package `ider`
//! (Hino) and scikit-dimension.
//! Assumptions: one slope over both radii; dense regions have most of the pairs.
//! Checked against: scikit-dimension 0.5.0, `CorrInt` (tests/reference/estimators.py).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::neighborhoods::Neighborhoods;
use super::{EstimateError, Finding, LocalEstimate};
use crate::geometry::{Neighbors, counts_within};
use crate::numerics::Points;

/// Settings of the correlation dimension, for instance `CorrelationDimension(near: 10, far: 20)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrelationDimension {
    /// Rank of the neighbor whose median distance is the smaller radius.
    #[serde(default = "ten")]
    pub near: usize,
    /// Rank of the neighbor whose median distance is the larger radius.
    #[serde(default = "twenty")]
    pub far: usize,
}

const fn ten() -> usize {
    10
}

const fn twenty() -> usize {
    20
}

impl Estimator for CorrelationDimension {
    /// The spread is the standard error to first order, as if the counts around points were
    /// independent.
    fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let near = Neighborhoods::of(points, self.far, known)?;
        let radii = [median(near.distances(self.near)), median(near.distances(self.far))];
        let growth = (radii[1] / radii[0]).ln();
        let counts = counts_within(points, near.asked(), radii)?;
        let total = |at: usize| counts.iter().map(|count| count[at]).sum::<u64>() as f64;
        let totals = [total(0), total(1)];
        if growth <= 0.0 || totals[0] <= 0.0 {
            return Err(EstimateError::EquallyFar);
        }
        let change = |count: &[u64; 2]| count[1] as f64 / totals[1] - count[0] as f64 / totals[0];
        let variance: f64 = counts.iter().map(|count| change(count).powi(2)).sum();
        Ok(Finding::Local(LocalEstimate {
            dimension: (totals[1] / totals[0]).ln() / growth,
            spread: variance.sqrt() / growth,
            points_used: near.rows(),
            duplicates: near.duplicates(),
            ..Default::default()
        }))
    }

    fn neighbors(&self) -> Option<usize> {
        Some(self.far)
    }

    fn problem(&self) -> Option<String> {
        (self.near == 0 || self.far <= self.near)
            .then(|| "`near` must be at least 1, and `far` above it".to_owned())
    }
}

/// Returns the number in the middle, or the mean of the two there.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        numbers[middle]
    } else {
        f64::midpoint(numbers[middle - 1], numbers[middle])
    }
}
