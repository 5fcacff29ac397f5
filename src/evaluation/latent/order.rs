//! Order: whether the coordinates of a code come by falling variance.
//!
//! What: with the variances v_1, .., v_p in coordinate order, the number of neighbors with
//! v_i < v_(i+1), the number of pairs i < j with v_i < v_j, and the share of variance out of order:
//! half the sum of |v_i - s_i| over the sum of v_i, where s are the same variances sorted. It is the
//! share of all variance that would have to change places.
//! Reference: pairs out of order are Kendall's inversions (1938); the share is the total variation
//! distance of the two spectra.
//! Assumptions: every difference counts as a violation, also between coordinates that hold almost
//! nothing and come in any order: read the counts beside the share, which gives these no weight.
//! Checked against: hand-computed cases below.

use super::QualityError;
use crate::numerics::Points;

/// How far coordinates are from being ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderViolations {
    /// Coordinates that have less variance than the next one.
    pub adjacent: usize,
    /// Pairs of coordinates of which the earlier has less variance.
    pub pairs: usize,
    /// Share of the variance that would have to change places.
    pub share: f64,
}

impl OrderViolations {
    /// Measures the order of codes.
    pub fn of(codes: &Points) -> Result<Self, QualityError> {
        let variances = codes.variances();
        if let Some(broken) = variances.iter().position(|variance| !variance.is_finite()) {
            return Err(QualityError::NonFinite { coordinate: broken + 1 });
        }
        let total: f64 = variances.iter().sum();
        if total <= 0.0 {
            return Err(QualityError::NoVariance);
        }
        let mut sorted = variances.clone();
        sorted.sort_by(|one, other| other.total_cmp(one));
        let moved: f64 =
            variances.iter().zip(&sorted).map(|(one, other)| (one - other).abs()).sum();
        let larger_after =
            |at: usize| variances[at..].iter().filter(|&&later| variances[at] < later).count();
        Ok(Self {
            adjacent: variances.windows(2).filter(|pair| pair[0] < pair[1]).count(),
            pairs: (0..variances.len()).map(larger_after).sum(),
            share: moved / 2.0 / total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points whose coordinates have the given standard deviations.
    fn points(deviations: &[f32]) -> Points {
        let values = deviations.iter().copied().chain(deviations.iter().map(|value| -value));
        Points::new(2, deviations.len(), values.collect()).unwrap()
    }

    #[test]
    fn falling_variances_are_in_order_even_if_some_are_equal() {
        let found = OrderViolations::of(&points(&[3.0, 2.0, 2.0, 0.0])).unwrap();
        assert_eq!(found, OrderViolations { adjacent: 0, pairs: 0, share: 0.0 });
    }

    #[test]
    fn neighbors_pairs_and_misplaced_variance_are_told() {
        // Variances 4, 1, 9, 2 (of 16): sorted 9, 4, 2, 1, so 5 + 3 + 7 + 1 = 16 lie apart.
        let found = OrderViolations::of(&points(&[2.0, 1.0, 3.0, 2.0_f32.sqrt()])).unwrap();
        assert_eq!((found.adjacent, found.pairs), (1, 3));
        assert!((found.share - 0.5).abs() < 1e-6, "{}", found.share);
    }

    #[test]
    fn codes_that_do_not_vary_or_are_broken_have_no_order() {
        assert_eq!(OrderViolations::of(&points(&[0.0, 0.0])), Err(QualityError::NoVariance));
        let broken = OrderViolations::of(&points(&[1.0, f32::NAN]));
        assert_eq!(broken, Err(QualityError::NonFinite { coordinate: 2 }));
    }
}
