//! Two nearest neighbors: how much farther the second one is than the first.
//!
//! What: the ratios of the two distances follow a Pareto law whose exponent is the dimension. It is
//! the slope of a line through the origin, of -log(1 - F) over log(ratio), or the likeliest exponent.
//! The largest ratios are discarded.
//! Reference: Facco, d'Errico, Rodriguez and Laio 2017; the likelihood as Denti et al. 2022, with
//! discarded ratios known to be large but not how large.
//! Assumptions: even density within the reach of the second neighbor only.
//! Checked against: scikit-dimension 0.5.0, both fits (tests/reference/estimators.py).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::neighborhoods::Neighborhoods;
use super::{EstimateError, Finding, LocalEstimate};
use crate::geometry::Neighbors;
use crate::numerics::Points;
use crate::numerics::units::Fraction;

/// Settings of the estimate from two neighbors, for instance `TwoNn(discard: 0.1)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoNn {
    /// Share of the largest ratios that is discarded.
    #[serde(default = "a_tenth")]
    pub discard: Fraction,
    /// How the exponent is found.
    #[serde(default)]
    pub fit: TwoNnFit,
}

/// With 2 ratios, the variance of the likeliest exponent is infinite.
const FEWEST_RATIOS: usize = 3;

fn a_tenth() -> Fraction {
    Fraction::new(0.1).unwrap_or_else(|_| unreachable!("a tenth is a fraction"))
}

/// How the exponent of the ratios is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TwoNnFit {
    /// Least squares of a line through the origin.
    #[default]
    Line,
    /// The maximum-likelihood exponent, without bias.
    Likelihood,
}

impl Estimator for TwoNn {
    /// The spread is the standard error of the likeliest exponent, as if points were independent.
    fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let near = Neighborhoods::of(points, 2, known)?;
        let mut ratios: Vec<f64> = near.iter().map(|row| (row[1].1 / row[0].1).ln()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let all = ratios.len() as f64;
        let kept = (all * (1.0 - self.discard.get())) as usize;
        if kept < FEWEST_RATIOS {
            return Err(EstimateError::FewRatios { kept, points: near.rows() });
        }
        ratios.truncate(kept);
        let dimension = match self.fit {
            TwoNnFit::Line => {
                let (mut products, mut squares) = (0.0, 0.0);
                for (rank, ratio) in (1..).zip(&ratios) {
                    // The very last would lie infinitely high.
                    if f64::from(rank) < all {
                        products += ratio * -(1.0 - f64::from(rank) / all).ln();
                        squares += ratio * ratio;
                    }
                }
                products / squares
            }
            TwoNnFit::Likelihood => {
                let largest = ratios.last().copied().unwrap_or_default();
                let sum = ratios.iter().sum::<f64>() + (all - kept as f64) * largest;
                (kept as f64 - 1.0) / sum
            }
        };
        if !dimension.is_finite() {
            return Err(EstimateError::EquallyFar);
        }
        let spread = dimension / (kept as f64).sqrt();
        let duplicates = near.duplicates();
        Ok(Finding::Local(LocalEstimate {
            dimension,
            spread,
            points_used: kept,
            duplicates,
            ..Default::default()
        }))
    }

    fn neighbors(&self) -> Option<usize> {
        Some(2)
    }

    fn problem(&self) -> Option<String> {
        (self.discard.get() >= 1.0)
            .then(|| "`discard` must be below 1, or nothing is left".to_owned())
    }
}
