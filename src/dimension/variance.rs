//! Variance count: the fewest leading coordinates that hold a share of the total variance.
//!
//! Reference: the paper, section "Estimating the intrinsic dimension": the smallest k such that
//! the first k coordinates explain at least tau of the total variance.
//! Assumptions: coordinates are already ordered by the model; they are not sorted unless this is
//! asked for, so a model that fails to order them is counted as needing more.
//! Checked against: hand-computed cases below.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::{Estimate, EstimateError, Finding};
use crate::geometry::Neighbors;
use crate::numerics::Points;
use crate::numerics::units::Fraction;

/// Settings of the variance count, for instance `Variance(threshold: 0.99)`, or
/// `Variance(threshold: 0.99, also: [0.999], order: Sorted)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variance {
    /// Share of the total variance that the counted coordinates must hold.
    pub threshold: Fraction,
    /// Further shares, counted as `dimension_99.9` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Fraction>,
    /// Which coordinates come first.
    #[serde(default, skip_serializing_if = "CountOrder::is_default")]
    #[schemars(!skip_serializing_if)]
    pub order: CountOrder,
}

/// Which coordinates are counted first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CountOrder {
    /// In their own order.
    #[default]
    Coordinates,
    /// Those with the largest variance first.
    Sorted,
}

impl CountOrder {
    /// Returns whether this is the order of coordinates.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Variance {
    /// Counts the leading coordinates that hold at least the threshold's share.
    pub(super) fn count(&self, points: &Points) -> Result<Estimate, EstimateError> {
        if points.rows() == 0 || points.width() == 0 {
            return Err(EstimateError::NoPoints);
        }
        let mut variances = points.variances();
        if let Some(index) = variances.iter().position(|variance| !variance.is_finite()) {
            return Err(EstimateError::NonFinite { coordinate: index + 1 });
        }
        if self.order == CountOrder::Sorted {
            variances.sort_unstable_by(|one, other| other.total_cmp(one));
        }
        leading(variances, self.threshold, points.rows())
    }
}

impl Estimator for Variance {
    fn estimate(
        &self,
        points: &Points,
        _known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        counted(self.count(points)?, &self.also, points.rows())
    }

    fn fewest_points(&self) -> Option<(usize, &'static str)> {
        Some((2, "1 point has no variance"))
    }

    fn is_bounded_by_points(&self) -> bool {
        false
    }

    fn also(&self) -> &[Fraction] {
        &self.also
    }

    fn is_count(&self) -> bool {
        true
    }

    fn needs_order(&self) -> bool {
        self.order == CountOrder::Coordinates
    }
}

/// Counts the same variances at further shares.
pub(super) fn counted(
    found: Estimate,
    also: &[Fraction],
    rows: usize,
) -> Result<Finding, EstimateError> {
    let count = |&share: &Fraction| Ok(leading(found.variances.clone(), share, rows)?.dimension);
    let counts = also.iter().map(count).collect::<Result<_, EstimateError>>()?;
    Ok(Finding::Count(found, counts))
}

/// Counts the leading variances that hold at least the threshold's share of their sum.
pub(super) fn leading(
    variances: Vec<f64>,
    threshold: Fraction,
    points: usize,
) -> Result<Estimate, EstimateError> {
    let total_variance: f64 = variances.iter().sum();
    if total_variance <= 0.0 {
        return Err(EstimateError::NoVariance { points });
    }
    let mut cumulative = 0.0;
    let mut dimension = 0;
    for variance in &variances {
        if dimension > 0 && cumulative >= threshold.get() * total_variance {
            break;
        }
        cumulative += variance;
        dimension += 1;
    }
    let share = cumulative / total_variance;
    Ok(Estimate { dimension, variances, total_variance, share })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "small squares and their ratios are exact")]
mod tests {
    use super::*;

    /// Points whose coordinates have the given standard deviations.
    fn points(deviations: &[f32]) -> Points {
        let row = |sign: f32| deviations.iter().map(move |deviation| sign * deviation);
        let values = row(1.0).chain(row(-1.0)).collect();
        Points::new(2, deviations.len(), values).unwrap()
    }

    fn counting(threshold: f64) -> Variance {
        let threshold = Fraction::new(threshold).unwrap();
        Variance { threshold, also: Vec::new(), order: CountOrder::Coordinates }
    }

    fn count(deviations: &[f32], threshold: f64) -> Result<usize, EstimateError> {
        counting(threshold).count(&points(deviations)).map(|estimate| estimate.dimension)
    }

    #[test]
    fn the_smallest_count_that_reaches_the_threshold_is_taken() {
        // Variances 16, 9, 0, 0: shares .64, 1.
        assert_eq!(count(&[4.0, 3.0, 0.0, 0.0], 0.64), Ok(1));
        assert_eq!(count(&[4.0, 3.0, 0.0, 0.0], 0.65), Ok(2));
        assert_eq!(count(&[4.0, 3.0, 0.0, 0.0], 1.0), Ok(2));
    }

    #[test]
    fn coordinates_are_counted_in_their_order_not_by_size() {
        assert_eq!(count(&[0.0, 0.0, 5.0], 0.99), Ok(3));
        let sorted = Variance { order: CountOrder::Sorted, ..counting(0.99) };
        let estimate = sorted.count(&points(&[0.0, 0.0, 5.0])).unwrap();
        assert_eq!((estimate.dimension, estimate.variances), (1, vec![25.0, 0.0, 0.0]));
    }

    #[test]
    fn defaults_are_not_written_so_that_results_of_before_are_found_again() {
        let written = ron::to_string(&counting(0.99)).unwrap();
        assert_eq!(written, "(threshold:0.99)");
        assert_eq!(ron::from_str::<Variance>(&written).unwrap(), counting(0.99));
    }

    #[test]
    fn the_numbers_behind_the_count_are_returned() {
        let estimate = counting(0.5).count(&points(&[4.0, 3.0])).unwrap();
        assert_eq!(estimate.variances, [16.0, 9.0]);
        assert_eq!(estimate.total_variance, 25.0);
        assert_eq!(estimate.share, 0.64);
    }

    #[test]
    fn points_without_variance_or_with_broken_numbers_are_refused() {
        assert_eq!(count(&[0.0, 0.0], 0.9), Err(EstimateError::NoVariance { points: 2 }));
        assert_eq!(count(&[1.0, f32::NAN], 0.9), Err(EstimateError::NonFinite { coordinate: 2 }));
        let none = Points::new(0, 3, Vec::new()).unwrap();
        assert_eq!(counting(0.9).count(&none), Err(EstimateError::NoPoints));
    }
}
