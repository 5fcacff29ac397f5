//! Isometry: how far distances between codes are from distances along the data.
//!
//! What: over random pairs with the distance d in the data and e in the code: the mean of
//! |e^2 - d^2| / d^2 as the codes are and after the best scale; the correlation of e and d; the scale
//! s that makes the sum of (d - s e)^2 least; and the stress at that scale, the root of that sum
//! over the sum of d^2.
//! Reference: the stress is Kruskal's (1964), stress-1 but divided by the distances of the data, as
//! in metric scaling with a free scale (Borg and Groenen 2005, section 3.2). The paper's loss is on
//! squared distances.
//! Assumptions: pairs at distance 0 in the data (samples of one anchor) have no relative error and
//! are left out of everything. Relative errors weigh near pairs as much as far ones. Only PCAE is
//! asked to keep the unit of the distances, so other models compare by the scaled values.
//! Checked against: hand-computed cases below, and tests/reference/quality.json (NumPy, SciPy).

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::QualityError;
use super::correlation::pearson;
use super::random_pairs;
use crate::geometry::{Distances, euclidean};
use crate::numerics::{Points, Seed};

/// Settings of the isometry, for instance `Isometry(pairs: 10000, seed: 0)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isometry {
    /// Number of random pairs of samples.
    #[serde(default = "default_pairs")]
    pub pairs: NonZeroUsize,
    /// Random seed for choosing the pairs.
    pub seed: Seed,
}

const fn default_pairs() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
    DEFAULT
}

/// How distances between codes fit those between samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsometryFit {
    /// Mean absolute relative error of squared distances.
    pub error: f64,
    /// The same after the codes are brought to the best scale.
    pub scaled_error: f64,
    /// Correlation of distances.
    pub correlation: f64,
    /// What the codes are multiplied with to fit best.
    pub scale: f64,
    /// What is left at that scale.
    pub stress: f64,
}

impl Isometry {
    /// Compares codes with distances between the same samples; `straight` gives the Euclidean
    /// distance of two samples, for those that share an anchor.
    pub fn measure(
        &self,
        codes: &Points,
        distances: &Distances,
        straight: &dyn Fn(usize, usize) -> f64,
    ) -> Result<IsometryFit, QualityError> {
        if codes.rows() != distances.len() {
            let (codes, distances) = (codes.rows(), distances.len());
            return Err(QualityError::OtherSamples { codes, distances });
        }
        let mut apart = Vec::with_capacity(self.pairs.get());
        for (one, other) in random_pairs(codes.rows(), self.pairs.get(), self.seed)? {
            let squares = distances.squared_between(&[one, other], straight);
            if squares[1] > 0.0 {
                let between = euclidean(codes.row(one), codes.row(other));
                apart.push((f64::from(squares[1]).sqrt(), between));
            }
        }
        IsometryFit::of(&apart)
    }
}

impl IsometryFit {
    /// Compares pairs of distances, above zero in the data and then in the code.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Result<Self, QualityError> {
        let sum =
            |term: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|&(d, e)| term(d, e)).sum::<f64>();
        let (products, squares) = (sum(&|d, e| d * e), sum(&|_, e| e * e));
        if squares <= 0.0 {
            return Err(QualityError::NoDistance);
        }
        let scale = products / squares;
        let relative = |scale: f64| {
            let error = |d: f64, e: f64| ((scale * e).powi(2) - d * d).abs() / (d * d);
            sum(&error) / pairs.len() as f64
        };
        let (data, code): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Ok(Self {
            error: relative(1.0),
            scaled_error: relative(scale),
            correlation: pearson(&data, &code),
            scale,
            stress: (sum(&|d, e| (d - scale * e).powi(2)) / sum(&|d, _| d * d)).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Rescale;

    #[test]
    fn a_code_that_is_twice_too_small_is_an_isometry_up_to_its_scale() {
        let positions = [0.0_f32, 1.0, 3.0, 7.0];
        let table = positions.iter().flat_map(|a| positions.map(|b| (a - b).abs())).collect();
        let distances = Distances::from_parts(4, table, 1.0, Rescale::None).unwrap();
        let codes = Points::from_rows(1, positions.map(|place| place / 2.0).to_vec());
        let isometry = Isometry { pairs: NonZeroUsize::new(50).unwrap(), seed: Seed(3) };
        let found = isometry.measure(&codes, &distances, &|_, _| 0.0).unwrap();
        let expected = [
            (found.error, 0.75),
            (found.scaled_error, 0.0),
            (found.correlation, 1.0),
            (found.scale, 2.0),
            (found.stress, 0.0),
        ];
        for (found, expected) in expected {
            assert!((found - expected).abs() < 1e-6, "{found} against {expected}");
        }
        let fewer = Points::from_rows(1, vec![0.0, 1.0]);
        assert_eq!(
            isometry.measure(&fewer, &distances, &|_, _| 0.0),
            Err(QualityError::OtherSamples { codes: 2, distances: 4 })
        );
    }

    #[test]
    fn what_no_scale_can_mend_is_stress() {
        // d = 1, 2 and e = 2, 1: s = 4/5, rests (1 - 1.6)^2 + (2 - 0.8)^2 = 1.8, over 5.
        let found = IsometryFit::of(&[(1.0, 2.0), (2.0, 1.0)]).unwrap();
        assert!((found.scale - 0.8).abs() < 1e-12);
        assert!((found.stress - 0.6).abs() < 1e-12);
        assert!((found.correlation + 1.0).abs() < 1e-12);
        // |4 - 1| / 1 and |1 - 4| / 4.
        assert!((found.error - 1.875).abs() < 1e-12);
    }

    #[test]
    fn collapsed_codes_have_no_scale() {
        assert_eq!(IsometryFit::of(&[(1.0, 0.0), (2.0, 0.0)]), Err(QualityError::NoDistance));
        assert_eq!(IsometryFit::of(&[]), Err(QualityError::NoDistance));
    }
}
