//! Intrinsic dimension: how many coordinates a cloud of points needs.
//!
//! One file for each estimator. To add one: a file with its settings and an implementation of
//! `Estimator`, its `mod` line, and its line in the declaration below.

mod correlation;
mod error;
mod estimator;
mod gride;
mod interval;
mod local_pca;
mod mle;
mod moments;
mod neighborhoods;
mod pca_rules;
#[cfg(test)]
mod reference;
mod relevance;
mod spectrum;
mod support;
mod two_nn;
mod variance;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::error::EstimateError;
use self::estimator::{Estimator, estimators, searching};
pub use self::interval::{Interval, IntervalSpec};
pub use self::relevance::{Basis, JacobianWeights, RelevanceForm, RelevanceScores, rotated};
pub use self::variance::CountOrder;
use crate::geometry::Neighbors;
use crate::numerics::Points;
use crate::numerics::units::Fraction;

estimators! {
    Variance(variance::Variance), "Counts leading coordinates that hold a share of the variance.";
    Spectrum(spectrum::Spectrum), "Counts principal axes that hold a share of the variance.";
    Mle(mle::Mle), "Maximum likelihood of the distances to neighbors.";
    TwoNn(two_nn::TwoNn), "The ratio of the distances to two neighbors.";
    Gride(gride::Gride), "The ratio of the distances to two neighbors, from scale to scale.";
    LocalPca(local_pca::LocalPca), "Counts principal axes, of neighborhoods or of all points.";
    CorrelationDimension(correlation::CorrelationDimension), "The growth of the number of close pairs.";
    Mom(moments::Mom), "The mean distance to neighbors, relative to the largest.";
}

impl EstimatorSpec {
    /// Estimates the dimension of the points, with neighbors that were found before if there are.
    pub fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let estimator = self.estimator();
        if let Some((needed, reason)) = estimator.fewest_points()
            && (1..needed).contains(&points.rows())
        {
            return Err(EstimateError::FewPoints { needed, points: points.rows(), reason });
        }
        let found = estimator.estimate(points, known)?;
        if estimator.is_bounded_by_points() {
            support::check(&found, points.rows())?;
        }
        Ok(found)
    }

    /// Says what makes an estimate doubtful, if there are too few points for it.
    pub fn note(&self, points: &Points, found: &Finding) -> Option<String> {
        support::note(found, points, self.estimator().counts_all_axes())
    }

    /// Computes the dimensions that an estimate of these points is compatible with.
    pub fn interval(
        &self,
        points: &Points,
        found: &LocalEstimate,
        spec: IntervalSpec,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Interval {
        interval::interval(self.estimator(), points, found.dimension, spec, on_progress)
    }

    /// Counts the operations of an estimate, and of its interval if it has one, in matrix products
    /// that would take as long.
    pub fn operations(
        &self,
        points: usize,
        width: usize,
        has_neighbors: bool,
        has_interval: bool,
    ) -> f64 {
        let estimator = self.estimator();
        let search = match estimator.neighbors() {
            Some(count) if !has_neighbors => searching(points, points, width, count),
            _ => 0.0,
        };
        let interval =
            if has_interval { interval::operations(estimator, points, width) } else { 0.0 };
        search + estimator.operations(points, width) + interval
    }

    /// Returns whether so many points of a dimension are too few for the estimator, whatever their
    /// shape: its neighborhoods are then nearly as large as the whole.
    pub fn is_hopeless(&self, points: usize, dimension: f64) -> bool {
        interval::is_hopeless(self.neighbors().unwrap_or(points), points, dimension)
    }

    /// Returns how many neighbors of each point are used, if any are.
    pub fn neighbors(&self) -> Option<usize> {
        self.estimator().neighbors()
    }

    /// Returns what is wrong with the settings, whatever the points are.
    pub fn problem(&self) -> Option<String> {
        let estimator = self.estimator();
        let fewest = estimator.fewest_neighbors();
        let too_few = |found: usize| {
            (found < fewest)
                .then(|| format!("at least {fewest} neighbors are needed here, found {found}"))
        };
        estimator.problem().or_else(|| estimator.neighbors().and_then(too_few))
    }

    /// Returns the further shares of the variance that are counted.
    pub fn also(&self) -> &[Fraction] {
        self.estimator().also()
    }

    /// Returns whether the dimension is estimated at several scales.
    pub fn has_scales(&self) -> bool {
        matches!(self, Self::Gride(_))
    }

    /// Returns whether the dimension is estimated at single points.
    pub fn has_own(&self) -> bool {
        match self {
            Self::Mle(_) | Self::Mom(_) => true,
            Self::LocalPca(settings) => settings.neighbors.is_some(),
            _ => false,
        }
    }

    /// Returns whether shares of the variance are counted.
    pub fn is_count(&self) -> bool {
        self.estimator().is_count()
    }

    /// Returns whether the coordinates' order counts, so that only codes can be estimated.
    pub fn needs_order(&self) -> bool {
        self.estimator().needs_order()
    }
}

/// What an estimator found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A number of coordinates or axes.
    Count(Estimate, Vec<usize>),
    /// A dimension, not always a whole number.
    Local(LocalEstimate),
}

/// An estimated dimension with the numbers behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The estimated dimension.
    pub dimension: usize,
    /// Biased variance of each coordinate in its own order, or of each principal axis.
    pub variances: Vec<f64>,
    /// Sum of the variances.
    pub total_variance: f64,
    /// Share of the total variance that the first `dimension` of them hold.
    pub share: f64,
}

/// A dimension found by looking at neighbors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalEstimate {
    /// The estimated dimension.
    pub dimension: f64,
    /// Its standard error, as if points were independent; 0 where there is none.
    pub spread: f64,
    /// How many points it rests on.
    pub points_used: usize,
    /// How many neighbors coincided with their point and were left out.
    pub duplicates: usize,
    /// The 10 %, 50 % and 90 % quantiles of the estimates of single points, where there are such.
    pub own: Option<[f64; 3]>,
    /// The dimension at each scale, where there are several.
    pub scales: Vec<ScaleEstimate>,
}

/// The dimension at one scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleEstimate {
    /// Rank of the farther of the two neighbors that are compared.
    pub rank: usize,
    /// Their mean distance, both together.
    pub distance: f64,
    /// The estimated dimension.
    pub dimension: f64,
    /// Its standard error, as if points were independent.
    pub spread: f64,
}

/// Returns the name of the count at a share of the variance, such as `dimension_99.9`.
pub fn count_name(threshold: Fraction) -> String {
    // A share has at most 17 digits; 12 of its percentage leave out what the product has added.
    let percent = format!("{:.12}", 100.0 * threshold.get());
    format!("dimension_{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns the mean of some numbers and its standard error.
fn mean_and_error(numbers: &[f64]) -> Option<(f64, f64)> {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
    (!numbers.is_empty()).then_some((mean, error))
}

/// Returns the 10 %, 50 % and 90 % quantiles of the estimates of single points.
fn own_quantiles(mut own: Vec<f64>) -> Option<[f64; 3]> {
    own.sort_unstable_by(f64::total_cmp);
    let last = own.len().checked_sub(1)? as f64;
    Some([0.1, 0.5, 0.9].map(|share: f64| own[(share * last).round() as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_by_their_percentage_without_trailing_zeros() {
        let name = |share: f64| count_name(Fraction::new(share).unwrap());
        assert_eq!(name(0.999), "dimension_99.9");
        assert_eq!(name(0.99), "dimension_99");
        assert_eq!(name(0.9), "dimension_90");
        assert_eq!(name(0.28), "dimension_28");
        assert_eq!(name(0.9999), "dimension_99.99");
        assert_eq!(name(1.0), "dimension_100");
        assert_eq!(name(0.0), "dimension_0");
    }

    #[test]
    fn settings_that_no_points_can_satisfy_are_told() {
        let problem = |text: &str| ron::from_str::<EstimatorSpec>(text).unwrap().problem();
        assert_eq!(problem("Mle((neighbors: 3, form: Pope))"), None);
        assert_eq!(
            problem("Mle((neighbors: 2, form: Pope))").unwrap(),
            "at least 3 neighbors are needed here, found 2"
        );
        assert_eq!(problem("Mle((neighbors: 2, form: LevinaBickel))"), None);
        assert!(problem("Mom((neighbors: 1))").is_some());
        assert!(problem("LocalPca((neighbors: Some(1), rule: MaxGap))").is_some());
        assert_eq!(
            problem("LocalPca((neighbors: Some(2), rule: MaxGap))").unwrap(),
            "at least 3 neighbors are needed here, found 2"
        );
        assert_eq!(problem("LocalPca((rule: MaxGap))"), None);
        assert_eq!(problem("CorrelationDimension(())"), None);
        assert!(problem("CorrelationDimension((near: 20, far: 20))").is_some());
    }

    #[test]
    fn every_estimator_is_declared() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dimension");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text =
                if path.is_file() { std::fs::read_to_string(path).unwrap() } else { continue };
            for rest in text.split("\nimpl Estimator for ").skip(1) {
                let name = rest.split(' ').next().unwrap();
                assert!(EstimatorSpec::SETTINGS.contains(&name), "{name} is not declared");
                count += 1;
            }
        }
        assert_eq!(count, EstimatorSpec::SETTINGS.len());
    }
}
