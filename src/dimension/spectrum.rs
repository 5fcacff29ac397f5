//! Spectrum count: the fewest principal axes that hold a share of the total variance.
//!
//! What: eigenvalues of the biased covariance, largest first; the smallest k whose first k hold at
//! least the threshold's share.
//! Reference: Jolliffe 2002, section 6.1.1 (cumulative percentage of total variation); Jing, Zbontar
//! and LeCun 2020 (IRMAE) read the rank of a code off the same spectrum.
//! Assumptions: none on the order of coordinates, for a rotation of the points changes nothing. A
//! curved set needs more axes than its dimension.
//! Checked against: hand-computed cases below; the eigenvalues against NumPy (numerics/pca).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::support::TWO_ARE_A_LINE;
use super::variance::{counted, leading};
use super::{Estimate, EstimateError, Finding};
use crate::geometry::Neighbors;
use crate::numerics::units::Fraction;
use crate::numerics::{Points, PrincipalAxes};

/// Settings of the spectrum count, for instance `Spectrum(threshold: 0.99)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spectrum {
    /// Share of the total variance that the counted principal axes must hold.
    pub threshold: Fraction,
    /// Further shares, counted as `dimension_99.9` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Fraction>,
}

impl Spectrum {
    /// Counts the principal axes that hold at least the threshold's share.
    fn count(&self, points: &Points) -> Result<Estimate, EstimateError> {
        let axes = PrincipalAxes::of_points(points, 0)?;
        leading(axes.eigenvalues().to_vec(), self.threshold, points.rows())
    }
}

impl Estimator for Spectrum {
    fn estimate(
        &self,
        points: &Points,
        _known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        counted(self.count(points)?, &self.also, points.rows())
    }

    fn fewest_points(&self) -> Option<(usize, &'static str)> {
        Some(TWO_ARE_A_LINE)
    }

    fn operations(&self, points: usize, width: usize) -> f64 {
        PrincipalAxes::operations(points, width)
    }

    fn counts_all_axes(&self) -> bool {
        true
    }

    fn also(&self) -> &[Fraction] {
        &self.also
    }

    fn is_count(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::Variance;
    use crate::numerics::PcaError;

    fn estimate(points: &Points, threshold: f64) -> Result<Estimate, EstimateError> {
        let threshold = Fraction::new(threshold).unwrap();
        Spectrum { threshold, also: Vec::new() }.count(points)
    }

    /// The corners of a box with sides 8 and 6, turned by the angle with cosine 0.6 and sine 0.8
    /// in the plane of its first and last coordinate; the third has no variance before that.
    fn turned_box() -> Points {
        let corner = |(x, y): (f32, f32)| [0.6 * x, y, 5.0, 0.8 * x];
        let corners = [(4.0, 3.0), (4.0, -3.0), (-4.0, 3.0), (-4.0, -3.0)];
        Points::from_rows(4, corners.map(corner).concat())
    }

    #[test]
    fn a_rotation_changes_nothing() {
        let points = turned_box();
        // Variances 16 and 9 along the sides: shares .64, 1.
        let found = estimate(&points, 0.63).unwrap();
        assert_eq!(found.dimension, 1);
        assert_eq!(estimate(&points, 0.65).unwrap().dimension, 2);
        let expected = [16.0, 9.0, 0.0, 0.0];
        for (found, expected) in found.variances.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} against {expected}");
        }
        assert!((found.total_variance - 25.0).abs() < 1e-6);
        assert!((found.share - 0.64).abs() < 1e-6);
        // Counted by coordinates, the same box needs all four of them.
        let by_coordinates: Variance = ron::from_str("(threshold: 0.99)").unwrap();
        assert_eq!(by_coordinates.count(&points).unwrap().dimension, 4);
    }

    #[test]
    fn all_of_the_variance_lies_in_as_many_axes_as_the_points_span() {
        // Sums of two whole numbers: a plane, exactly.
        let rows = (0..50).map(|i| [(i * 7 % 11) as f32, (i * 5 % 13) as f32]);
        let values: Vec<f32> = rows.flat_map(|[a, b]| [a, b, a + b, a - b, 2.0 * a]).collect();
        assert_eq!(estimate(&Points::from_rows(5, values.clone()), 1.0).unwrap().dimension, 2);
        // Fewer points than coordinates: three points span a plane too.
        let wide = Points::from_rows(50, values[..150].to_vec());
        assert_eq!(estimate(&wide, 1.0).unwrap().dimension, 2);
        assert_eq!(estimate(&wide, 1.0).unwrap().variances.len(), 50);
    }

    #[test]
    fn points_without_variance_or_with_broken_numbers_are_refused() {
        let points = |values: &[f32]| Points::from_rows(2, values.to_vec());
        assert_eq!(
            estimate(&points(&[1.0, 2.0, 1.0, 2.0]), 0.9),
            Err(EstimateError::NoVariance { points: 2 })
        );
        assert_eq!(
            estimate(&points(&[1.0, 2.0, 1.0, f32::INFINITY]), 0.9),
            Err(EstimateError::Axes(PcaError::NonFinite { point: 2, coordinate: 2 }))
        );
        assert_eq!(estimate(&points(&[]), 0.9), Err(EstimateError::Axes(PcaError::NoPoints)));
    }
}
