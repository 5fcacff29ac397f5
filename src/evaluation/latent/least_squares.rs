//! Linear fit: the share of a variable's variance that a linear map of coordinates explains.
//!
//! What: R^2 of ordinary least squares with an intercept, on the samples themselves.
//! Reference: Gram-Schmidt, each vector projected twice (Giraud et al. 2005, "twice is enough").
//! Assumptions: coordinates are known to single precision, so one that the others leave less than a
//! millionth of is taken for a combination of these. With n samples and p coordinates that mean
//! nothing, R^2 is about p / n, not 0.
//! Checked against: hand-computed cases below, and tests/reference/quality.json (scikit-learn).

use super::correlation::centered;
use crate::numerics::Points;

/// Share of a coordinate's length below which the others determine it.
const NEGLIGIBLE: f64 = 1e-6;

/// The space of all linear functions of coordinates, over the samples.
pub(super) struct LinearSpan {
    /// Vectors over samples: centered, of unit length and at right angles.
    basis: Vec<Vec<f64>>,
}

impl LinearSpan {
    /// Spans the first `count` coordinates.
    pub(super) fn of(codes: &Points, count: usize) -> Self {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for column in 0..count.min(codes.width()) {
            let mut rest = centered(&column_of(codes, column));
            let before = length(&rest);
            for _ in 0..2 {
                for axis in &basis {
                    let along = dot(&rest, axis);
                    rest.iter_mut().zip(axis).for_each(|(value, axis)| *value -= along * axis);
                }
            }
            let after = length(&rest);
            if after > NEGLIGIBLE * before {
                for value in &mut rest {
                    *value /= after;
                }
                basis.push(rest);
            }
        }
        Self { basis }
    }

    /// Returns the share of a variable's variance that lies in the span.
    pub(super) fn explained(&self, variable: &[f64]) -> f64 {
        let variable = centered(variable);
        let inside: f64 = self.basis.iter().map(|axis| dot(axis, &variable).powi(2)).sum();
        inside / dot(&variable, &variable)
    }
}

/// Returns one coordinate of all codes.
pub(super) fn column_of(codes: &Points, column: usize) -> Vec<f64> {
    (0..codes.rows()).map(|row| f64::from(codes.row(row)[column])).collect()
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

fn length(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_function_is_explained_whatever_the_scale_and_repeats_of_coordinates() {
        let rows = [[0.0, 1.0], [1.0, 5.0], [2.0, 2.0], [4.0, 3.0], [7.0, 0.0_f32]];
        let values = rows.iter().flat_map(|[a, b]| [*a, 1e-4 * b, 2.0 * a, 3.0]);
        let codes = Points::from_rows(4, values.collect());
        let both: Vec<f64> = rows.iter().map(|[a, b]| f64::from(a - b) + 9.0).collect();
        assert!((LinearSpan::of(&codes, 4).explained(&both) - 1.0).abs() < 1e-6);
        assert_eq!(LinearSpan::of(&codes, 4).basis.len(), 2);
        assert!(LinearSpan::of(&codes, 1).explained(&both) < 0.99);
    }

    #[test]
    fn a_parabola_has_no_linear_part() {
        let codes = Points::from_rows(1, vec![-1.0, 0.0, 1.0]);
        assert!(LinearSpan::of(&codes, 1).explained(&[1.0, 0.0, 1.0]) < 1e-12);
    }
}
