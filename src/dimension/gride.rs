//! Generalised ratios: how much farther the neighbor of twice a rank is, from scale to scale.
//!
//! What: with r_k the distance to the k-th neighbor, the ratio r_2k / r_k has a known law whose only
//! parameter is the dimension; the likeliest one is found for k = 1, 2, 4 and so on. A dimension that
//! stays the same over scales is one of the data; one that falls with the scale speaks of noise,
//! one that rises of curvature, or of manifolds that lie close together.
//! Reference: Denti, Doimo, Laio and Mira 2022, "The generalized ratios intrinsic dimension
//! estimator".
//! Assumptions: even density within the reach of the neighbor of twice the rank.
//! Checked against: dadapy 0.3.4 (tests/reference/gride.py).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::neighborhoods::Neighborhoods;
use super::{EstimateError, Finding, LocalEstimate, ScaleEstimate};
use crate::geometry::Neighbors;
use crate::numerics::Points;

/// Settings of generalised ratios, for instance `Gride(neighbors: 64)`.
///
/// `dimension` is that of the nearest scale, the second neighbor against the first; the lists
/// `scale_ranks`, `scale_distances`, `scale_dimensions` and `scale_spreads` have all scales. The
/// figure `DimensionByScale` shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gride {
    /// Rank of the farthest neighbor that is compared: the last scale has the largest power of two
    /// up to it.
    #[serde(default = "sixty_four")]
    pub neighbors: usize,
}

const fn sixty_four() -> usize {
    64
}

/// The fewest points for which a standard error makes sense.
const FEWEST_RATIOS: usize = 3;

/// Halvings of the range of a dimension, until only the last bits differ.
const HALVINGS: usize = 60;

impl Estimator for Gride {
    /// The spread is that of the likeliest dimension, as if points were independent.
    fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let near = Neighborhoods::of(points, self.neighbors, known)?;
        if near.rows() < FEWEST_RATIOS {
            return Err(EstimateError::FewRatios { kept: near.rows(), points: near.rows() });
        }
        let ranks = std::iter::successors(Some(2), |rank| Some(2 * rank));
        let ranks = ranks.take_while(|&rank| rank <= self.neighbors);
        let scales = ranks.map(|rank| scale(&near, rank)).collect::<Result<Vec<_>, _>>()?;
        let Some(&ScaleEstimate { dimension, spread, .. }) = scales.first() else {
            return Err(EstimateError::FewNeighbors { needed: 2, found: self.neighbors });
        };
        let (points_used, duplicates) = (near.rows(), near.duplicates());
        let own = None;
        Ok(Finding::Local(LocalEstimate {
            dimension,
            spread,
            points_used,
            duplicates,
            own,
            scales,
        }))
    }

    fn neighbors(&self) -> Option<usize> {
        Some(self.neighbors)
    }
}

/// Estimates the dimension from the neighbors of a rank and of half of it.
fn scale(near: &Neighborhoods, rank: usize) -> Result<ScaleEstimate, EstimateError> {
    let half = rank / 2;
    let pairs = || near.iter().map(|row| (row[half - 1].1, row[rank - 1].1));
    let logs: Vec<f64> = pairs().map(|(near, far)| (far / near).ln()).collect();
    let distance = pairs().map(|(near, far)| near + far).sum::<f64>() / (2 * logs.len()) as f64;
    let (dimension, spread) = likeliest(&logs, half).ok_or(EstimateError::EquallyFar)?;
    Ok(ScaleEstimate { rank, distance, dimension, spread })
}

/// Returns the likeliest dimension and its standard error, given the logarithms of the ratios of
/// the distances to the neighbors of ranks 2k and k; nothing if all are equally far.
fn likeliest(logs: &[f64], k: usize) -> Option<(f64, f64)> {
    let (count, total) = (logs.len() as f64, logs.iter().sum::<f64>());
    let (rest, all) = (k as f64 - 1.0, 2.0 * k as f64 - 1.0);
    if total <= 0.0 {
        return None;
    }
    // The slope of the log-likelihood falls with the dimension: from infinity to below 0. One point
    // less takes the bias away, at k = 1 all of it.
    let slope = |dimension: f64| {
        let grown = |log: &f64| {
            let decayed = -(-dimension * log).exp_m1();
            if decayed > 0.0 { log / decayed } else { 1.0 / dimension }
        };
        (count - 1.0) / dimension + rest * logs.iter().map(grown).sum::<f64>() - all * total
    };
    let (mut low, mut high) = (0.0, count / total);
    while slope(high) > 0.0 {
        (low, high) = (high, 2.0 * high);
        if !high.is_finite() {
            return None;
        }
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if slope(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let dimension = f64::midpoint(low, high);
    let bend = |log: &f64| {
        let decayed = -(-dimension * log).exp_m1();
        let ratio = if decayed > 0.0 { log / decayed } else { 1.0 / dimension };
        ratio * ratio * (-dimension * log).exp()
    };
    let information = count / dimension.powi(2) + rest * logs.iter().map(bend).sum::<f64>();
    Some((dimension, information.sqrt().recip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_scale_has_a_closed_form() {
        let logs = [0.5, 0.25, 1.0, 0.1];
        let (dimension, spread) = likeliest(&logs, 1).unwrap();
        assert!((dimension - 3.0 / 1.85).abs() < 1e-9, "{dimension}");
        assert!((spread - dimension / 2.0).abs() < 1e-9, "{spread}");
        assert_eq!(likeliest(&[0.0, 0.0], 4), None);
    }

    #[test]
    fn points_on_a_line_have_dimension_one_at_every_scale() {
        // At equal distances, the neighbors of ranks 2k and k are k and k/2 steps away.
        let line = Points::from_rows(1, (0..4000_u16).map(f32::from).collect());
        let Ok(Finding::Local(found)) = Gride { neighbors: 40 }.estimate(&line, None) else {
            panic!("no estimate");
        };
        let ranks: Vec<usize> = found.scales.iter().map(|scale| scale.rank).collect();
        assert_eq!(ranks, [2, 4, 8, 16, 32]);
        let last = found.scales.last().unwrap();
        assert!((last.dimension - 1.0).abs() < 0.05, "{last:?}");
        assert!((last.distance - 12.0).abs() < 0.1, "{last:?}");
    }
}
