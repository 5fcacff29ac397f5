//! The weights that order the variances of the code's coordinates, and how they adapt.
//!
//! What: weights start at 1.9 i / p. At intervals, j is the first coordinate at which the
//! cumulative variance exceeds a share t of the total; coordinates before j get weights up to
//! 0.5, j gets 1, later ones up to 1.5, so variance moves into the first j coordinates.
//! Reference: the paper, section "Implementing Details" (dynamic coefficients).
//! Assumptions: coordinates in their own order, never sorted. Weights stay increasing and in
//! (0, 2), as theorems 1 and 2 of the paper ask. j = 1 and j = p leave a branch empty.
//! Checked against: hand-computed cases below.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StepPosition;
use crate::numerics::units::Fraction;

/// How the weights change during training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum GammaSpec {
    /// Weights that follow the variances of all training codes.
    Dynamic {
        /// Share of the total variance that the leading coordinates should exceed.
        threshold: Fraction,
        /// Interval between two updates.
        every: Interval,
    },
    /// Weights that keep their initial values.
    Fixed,
}

/// A regular interval of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Interval {
    /// This many optimizer steps.
    Steps(NonZeroUsize),
    /// This many passes over the training images.
    Epochs(NonZeroUsize),
}

impl Interval {
    /// Returns whether the interval ends with the step just taken.
    pub const fn is_due(self, position: StepPosition) -> bool {
        match self {
            Self::Steps(steps) => position.step.is_multiple_of(steps.get()),
            Self::Epochs(epochs) => {
                position.epoch_ended && position.epoch.is_multiple_of(epochs.get())
            }
        }
    }
}

/// Returns the first weights of `latent` coordinates.
pub fn initial_weights(latent: usize) -> Vec<f64> {
    (1..=latent).map(|i| 1.9 * i as f64 / latent as f64).collect()
}

/// Returns j and the weights that follow from the variances, or `None` if these say nothing.
///
/// Variances that add up to zero, or not to a finite number, leave the weights as they are.
pub fn updated_weights(variances: &[f64], threshold: Fraction) -> Option<(usize, Vec<f64>)> {
    let total: f64 = variances.iter().sum();
    if !total.is_finite() || total <= 0.0 {
        return None;
    }
    let p = variances.len();
    let j = first_above(variances, threshold.get() * total);
    let weight = |i: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.5 * i as f64 / (j - 1) as f64,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => 1.0 + 0.5 * (i - j) as f64 / (p - j) as f64,
    };
    Some((j, (1..=p).map(weight).collect()))
}

/// Returns the 1-based first coordinate at which the cumulative variance exceeds `limit`, or
/// the last one if none does.
fn first_above(variances: &[f64], limit: f64) -> usize {
    let mut cumulative = 0.0;
    let exceeds = |variance: &f64| {
        cumulative += variance;
        cumulative > limit
    };
    variances.iter().position(exceeds).map_or(variances.len(), |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(variances: &[f64], threshold: f64) -> Option<Vec<f64>> {
        updated_weights(variances, Fraction::new(threshold).unwrap()).map(|(_, weights)| weights)
    }

    #[test]
    fn initial_weights_rise_to_just_below_two() {
        assert_eq!(initial_weights(2), [0.95, 1.9]);
        assert_eq!(initial_weights(1), [1.9]);
    }

    #[test]
    fn the_first_coordinate_above_the_threshold_gets_weight_one() {
        // Cumulative shares .5, .8, .95, 1: j = 3 at t = .9.
        assert_eq!(update(&[5.0, 3.0, 1.5, 0.5], 0.9).unwrap(), [0.25, 0.5, 1.0, 1.5]);
    }

    #[test]
    fn j_at_the_first_coordinate_leaves_no_branch_below_it() {
        assert_eq!(update(&[9.9, 0.1, 0.0], 0.9).unwrap(), [1.0, 1.25, 1.5]);
    }

    #[test]
    fn j_at_the_last_coordinate_leaves_no_branch_above_it() {
        assert_eq!(update(&[1.0, 1.0, 8.0], 0.9).unwrap(), [0.25, 0.5, 1.0]);
    }

    #[test]
    fn a_threshold_of_one_takes_the_last_coordinate() {
        assert_eq!(update(&[1.0, 1.0, 0.0], 1.0).unwrap(), [0.25, 0.5, 1.0]);
    }

    #[test]
    fn the_threshold_must_be_exceeded_not_only_reached() {
        assert_eq!(update(&[1.0, 1.0], 0.5).unwrap(), [0.5, 1.0]);
    }

    #[test]
    fn a_single_coordinate_gets_weight_one() {
        assert_eq!(update(&[3.0], 0.98).unwrap(), [1.0]);
    }

    #[test]
    fn vanished_or_broken_variances_leave_the_weights_alone() {
        assert_eq!(update(&[0.0, 0.0], 0.98), None);
        assert_eq!(update(&[f64::NAN, 1.0], 0.98), None);
        assert_eq!(update(&[f64::INFINITY, 1.0], 0.98), None);
    }

    #[test]
    fn weights_increase_strictly_and_stay_between_zero_and_two() {
        for j in 0..8 {
            let mut variances = [1e-3; 8];
            variances[j] = 100.0;
            let weights = update(&variances, 0.5).unwrap();
            assert!(weights.is_sorted_by(|a, b| a < b), "{weights:?}");
            assert!(weights[0] > 0.0 && weights[7] < 2.0);
        }
    }

    #[test]
    fn intervals_count_steps_or_whole_epochs() {
        let three = NonZeroUsize::new(3).unwrap();
        let position = |step, epoch, epoch_ended| StepPosition { step, epoch, epoch_ended };
        assert!(Interval::Steps(three).is_due(position(6, 1, false)));
        assert!(!Interval::Steps(three).is_due(position(7, 1, true)));
        assert!(Interval::Epochs(three).is_due(position(30, 3, true)));
        assert!(!Interval::Epochs(three).is_due(position(29, 3, false)));
        assert!(!Interval::Epochs(three).is_due(position(20, 2, true)));
    }
}
