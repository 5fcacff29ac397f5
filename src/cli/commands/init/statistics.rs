//! Statistics of some samples: their range, and what would mislead an estimate.

use std::collections::BTreeSet;

use crate::numerics::Points;

/// Coordinates whose spread is this many times the median one have another unit.
const UNEVEN: f64 = 20.0;
/// A mean this many spreads from zero hides how values differ.
const FAR: f64 = 10.0;

/// Range, scale and duplicates of samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SampleStatistics {
    /// Smallest value.
    pub(super) low: f64,
    /// Largest value.
    pub(super) high: f64,
    /// Coordinates that never vary.
    pub(super) constant: usize,
    /// Samples that are equal to an earlier one.
    pub(super) duplicates: usize,
    /// How many samples there are.
    pub(super) samples: usize,
    /// The root of the mean variance of the coordinates that vary.
    pub(super) spread: f64,
    /// Whether coordinates differ so much in spread or place that each needs a scale of its own.
    pub(super) is_uneven: bool,
}

impl SampleStatistics {
    /// Returns whether all values lie far from zero, compared with how they differ.
    pub(super) fn is_offset(&self) -> bool {
        f64::midpoint(self.low, self.high).abs() > FAR * self.spread
    }

    pub(super) fn of(points: &Points) -> Self {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = points.values().iter().fold(ends, |(low, high), &value| {
            (low.min(f64::from(value)), high.max(f64::from(value)))
        });
        let mut spreads: Vec<f64> = points.variances().into_iter().map(f64::sqrt).collect();
        let means = points.means();
        let is_far = means
            .iter()
            .zip(&spreads)
            .any(|(mean, spread)| *spread > 0.0 && mean.abs() > FAR * spread);
        let all = spreads.len();
        spreads.retain(|spread| *spread > 0.0);
        spreads.sort_by(f64::total_cmp);
        let median = spreads.get(spreads.len().saturating_sub(1) / 2).copied().unwrap_or_default();
        let largest = spreads.last().copied().unwrap_or_default();
        let squares = spreads.iter().map(|spread| spread * spread).sum::<f64>();
        let mut rows = BTreeSet::new();
        for row in 0..points.rows() {
            let bytes: Vec<u8> = points.row(row).iter().flat_map(|x| x.to_le_bytes()).collect();
            rows.insert(*blake3::hash(&bytes).as_bytes());
        }
        Self {
            low,
            high,
            constant: all - spreads.len(),
            duplicates: points.rows() - rows.len(),
            samples: points.rows(),
            spread: (squares / spreads.len().max(1) as f64).sqrt(),
            is_uneven: is_far || largest > UNEVEN * median,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_constants_and_units_are_noticed() {
        let even = vec![0.0, 5.0, 1.0, 2.0, 5.0, -1.0, 0.0, 5.0, 1.0];
        let even = SampleStatistics::of(&Points::new(3, 3, even).unwrap());
        assert_eq!((even.constant, even.duplicates, even.low, even.high), (1, 1, -1.0, 5.0));
        assert!(!even.is_uneven);
        let mixed = vec![0.0, 100.0, 1.0, 900.0, 0.5, 400.0];
        assert!(SampleStatistics::of(&Points::new(3, 2, mixed).unwrap()).is_uneven);
    }
}
