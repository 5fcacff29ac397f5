//! Factors: what codes tell of the known causes of their samples.
//!
//! What: for each factor that varies, the coordinate with the largest absolute Spearman correlation,
//! the largest absolute Pearson and Spearman correlations of any coordinate, R^2 of a linear fit from
//! the coordinates, and R^2 of the mean over the nearest codes, each sample left out of its own
//! prediction.
//! Reference: correlations and linear fits as in Eastwood and Williams 2018 (informativeness);
//! neighbor regression as in Hastie et al. 2009, section 2.3.2.
//! Assumptions: factors are numbers whose differences mean something; a factor on a circle, cut
//! open, is predicted badly at its ends. The linear fit is on the samples themselves. R^2 of
//! neighbors can be below 0, where they predict worse than the mean does.
//! Checked against: hand-computed cases below, and tests/reference/quality.json (SciPy,
//! scikit-learn).

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::QualityError;
use super::correlation::{centered, pearson, spearman};
use super::least_squares::{LinearSpan, column_of};
use crate::geometry::Neighbors;
use crate::numerics::Points;

/// Settings of the comparison with factors, for instance `Factors(neighbors: 10, first: 4)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// Nearest codes that predict a factor.
    #[serde(default = "default_neighbors")]
    pub neighbors: NonZeroUsize,
    /// Number of leading coordinates that predict a factor; all if left out.
    #[serde(default)]
    pub first: Option<NonZeroUsize>,
}

const fn default_neighbors() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(10).unwrap();
    DEFAULT
}

/// What codes tell of one factor.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorFit {
    /// The factor's name.
    pub name: String,
    /// The coordinate with the largest absolute Spearman correlation, counting from 1.
    pub coordinate: usize,
    /// Largest absolute Pearson correlation of a coordinate.
    pub pearson: f64,
    /// Largest absolute Spearman correlation of a coordinate.
    pub spearman: f64,
    /// R^2 of the linear fit.
    pub linear: f64,
    /// R^2 of the nearest codes.
    pub neighbors: f64,
}

/// What codes tell of all factors.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorFits {
    /// One for each factor that varies.
    pub fits: Vec<FactorFit>,
    /// Names of the factors that don't.
    pub constant: Vec<String>,
}

impl FactorFits {
    /// Returns the mean of a number over factors.
    pub fn mean(&self, number: impl Fn(&FactorFit) -> f64) -> f64 {
        self.fits.iter().map(number).sum::<f64>() / self.fits.len().max(1) as f64
    }
}

impl Factors {
    /// Compares codes with the factors of their samples, each a name and its values.
    pub fn measure(
        &self,
        codes: &Points,
        factors: &[(String, Vec<f64>)],
    ) -> Result<FactorFits, QualityError> {
        let varies = |values: &[f64]| centered(values).iter().any(|value| *value != 0.0);
        let (varying, constant): (Vec<_>, Vec<_>) =
            factors.iter().partition(|(_, values)| varies(values));
        if varying.is_empty() {
            return Err(QualityError::NoFactors);
        }
        let count = self.first.map_or(codes.width(), NonZeroUsize::get);
        if count > codes.width() {
            return Err(QualityError::TooManyCoordinates { asked: count, width: codes.width() });
        }
        let leading = (0..codes.rows()).flat_map(|row| &codes.row(row)[..count]);
        let leading = Points::from_rows(count, leading.copied().collect());
        let span = LinearSpan::of(&leading, count);
        let near = Neighbors::of(&leading, self.neighbors.get())?;
        let columns: Vec<Vec<f64>> = (0..count).map(|column| column_of(&leading, column)).collect();
        let fit = |(name, values): &(String, Vec<f64>)| {
            let (coordinate, spearman) = largest(&columns, |column| spearman(column, values));
            FactorFit {
                name: name.clone(),
                coordinate: coordinate + 1,
                pearson: largest(&columns, |column| pearson(column, values)).1,
                spearman,
                linear: span.explained(values),
                neighbors: explained_by_neighbors(&near, values),
            }
        };
        Ok(FactorFits {
            fits: varying.into_iter().map(fit).collect(),
            constant: constant.into_iter().map(|(name, _)| name.clone()).collect(),
        })
    }
}

/// Returns the first column with the largest absolute correlation, and that correlation.
fn largest(columns: &[Vec<f64>], correlation: impl Fn(&[f64]) -> f64) -> (usize, f64) {
    let found = columns.iter().map(|column| correlation(column).abs()).enumerate();
    found.fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best })
}

/// Returns R^2 of predicting each value by the mean over its neighbors.
fn explained_by_neighbors(near: &Neighbors, values: &[f64]) -> f64 {
    let predicted = |row: usize| {
        let others = near.row(row).iter().map(|(other, _)| values[*other as usize]);
        others.sum::<f64>() / near.row(row).len() as f64
    };
    let errors = values.iter().enumerate().map(|(row, value)| (value - predicted(row)).powi(2));
    let spread: f64 = centered(values).iter().map(|value| value.powi(2)).sum();
    1.0 - errors.sum::<f64>() / spread
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(neighbors: usize, first: Option<usize>) -> Factors {
        let count = |count| NonZeroUsize::new(count).unwrap();
        Factors { neighbors: count(neighbors), first: first.map(count) }
    }

    fn named(name: &str, values: &[f64]) -> (String, Vec<f64>) {
        (name.to_owned(), values.to_vec())
    }

    #[test]
    fn the_coordinate_that_follows_a_factor_is_found() {
        // The second coordinate is the factor turned over, the first has nothing to do with it.
        let codes = [[1.0, -1.0], [0.0, -2.0], [0.0, -3.0], [1.0, -4.0_f32]];
        let codes = Points::from_rows(2, codes.concat());
        let known = [named("size", &[1.0, 2.0, 3.0, 4.0]), named("shape", &[2.0; 4])];
        let found = factors(1, None).measure(&codes, &known).unwrap();
        assert_eq!(found.constant, ["shape"]);
        let [fit] = &found.fits[..] else { panic!("one factor varies") };
        assert_eq!((&*fit.name, fit.coordinate), ("size", 2));
        for one in [fit.pearson, fit.spearman, fit.linear] {
            assert!((one - 1.0).abs() < 1e-9, "{fit:?}");
        }
        // Neighbors predict 2, 3, 2 and 3: squared errors of 4 in all, where the factor has 5.
        assert!((fit.neighbors - (1.0 - 4.0 / 5.0)).abs() < 1e-9, "{fit:?}");
        assert!((found.mean(|fit| fit.linear) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn coordinates_past_the_first_do_not_help() {
        let codes = [[1.0, -1.0], [0.0, -2.0], [0.0, -3.0], [1.0, -4.0_f32]];
        let codes = Points::from_rows(2, codes.concat());
        let known = [named("size", &[1.0, 2.0, 3.0, 4.0])];
        let found = factors(1, Some(1)).measure(&codes, &known).unwrap();
        assert!(found.fits[0].linear < 1e-9, "{found:?}");
        assert!(found.fits[0].spearman < 1e-9, "{found:?}");
    }

    #[test]
    fn samples_without_factors_are_refused() {
        let codes = Points::from_rows(1, vec![0.0, 1.0, 2.0]);
        let none = factors(1, None).measure(&codes, &[named("shape", &[1.0; 3])]);
        assert_eq!(none, Err(QualityError::NoFactors));
    }
}
