//! Which prefixes of a code an HAE decodes, and with which weights.
//!
//! Reference: Scholz and Vigario 2002 (all prefixes, equal weights); Rippel, Gelbart and Adams 2014
//! (nested dropout: one prefix a sample, its length drawn from a geometric distribution, and unit
//! sweeping).
//! Checked against: hand-computed cases below and tests/reference/models.json (PyTorch).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::num::NonZeroUsize;

use crate::numerics::Points;
use crate::numerics::units::{Fraction, NonNegativeF64, PositiveF64};

/// Which prefixes are decoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum PrefixSpec {
    /// All prefixes in every step.
    All {
        /// Weight of each prefix.
        weights: PrefixWeights,
    },
    /// One prefix per sample, of random length: nested dropout.
    Sampled {
        /// Probability that a prefix continues beyond each coordinate; 0.9 is common.
        #[serde(deserialize_with = "below_one")]
        #[schemars(extend("exclusiveMaximum" = 1))]
        ratio: Fraction,
        /// When coordinates are frozen, first to last, once they have settled.
        #[serde(default)]
        sweep: Option<Sweep>,
    },
}

impl Default for PrefixSpec {
    fn default() -> Self {
        Self::All { weights: PrefixWeights::Equal }
    }
}

/// Weight of the prefix of each length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum PrefixWeights {
    /// One over the number of coordinates.
    Equal,
    /// Falling by a factor from each length to the next, adding up to 1.
    Geometric {
        /// The factor.
        ratio: Fraction,
    },
    /// These weights, one for each coordinate, as they are.
    Listed(Vec<NonNegativeF64>),
}

/// When a coordinate counts as settled; prefixes are then drawn only beyond it.
///
/// Nothing is learned through the code of a settled coordinate any more. The layers that it shares
/// with others still change, so it is frozen in effect, not to the bit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Sweep")]
pub struct Sweep {
    /// Change between epochs, as a fraction of the coordinate's spread, that counts as negligible.
    pub tolerance: PositiveF64,
    /// Epochs in a row without change after which the coordinate is settled.
    pub epochs: NonZeroUsize,
}

fn below_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fraction, D::Error> {
    let ratio = Fraction::deserialize(deserializer)?;
    if ratio.get() < 1.0 {
        Ok(ratio)
    } else {
        Err(D::Error::custom("a ratio of 1 would never end a prefix"))
    }
}

impl PrefixWeights {
    /// Returns one weight for each length, or `None` if as many as listed don't fit.
    pub(super) fn values(&self, latent: usize) -> Option<Vec<f64>> {
        match self {
            Self::Equal => Some(vec![1.0 / latent as f64; latent]),
            Self::Geometric { ratio } => {
                let weights: Vec<f64> =
                    std::iter::successors(Some(1.0), |weight| Some(weight * ratio.get()))
                        .take(latent)
                        .collect();
                let sum: f64 = weights.iter().sum();
                Some(weights.into_iter().map(|weight| weight / sum).collect())
            }
            Self::Listed(weights) => (weights.len() == latent)
                .then(|| weights.iter().map(|weight| weight.get()).collect()),
        }
    }
}

/// Draws rows of ones and zeros that keep a prefix each; the first `settled` coordinates always.
pub(super) fn masks(
    rng: &mut ChaCha8Rng,
    rows: usize,
    latent: usize,
    settled: usize,
    ratio: f64,
) -> Vec<f32> {
    let mut masks = Vec::with_capacity(rows * latent);
    for _ in 0..rows {
        let mut length = settled + 1;
        while length < latent && rng.random::<f64>() < ratio {
            length += 1;
        }
        masks.extend((0..latent).map(|coordinate| f32::from(u8::from(coordinate < length))));
    }
    masks
}

/// How far a sweep has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SweepState {
    /// Coordinates that have settled.
    pub(super) settled: usize,
    /// Epochs in a row in which the next one did not change.
    quiet: usize,
    /// Its values at the end of the last epoch.
    last: Vec<f64>,
}

impl SweepState {
    /// Updates the state with the codes at the end of an epoch.
    pub(super) fn watch(&mut self, sweep: Sweep, codes: &Points) {
        // The last coordinate never settles: there would be nothing left to learn.
        if self.settled + 1 >= codes.width() {
            return;
        }
        let column = |column: usize| -> Vec<f64> {
            (0..codes.rows()).map(|row| f64::from(codes.row(row)[column])).collect()
        };
        let now = column(self.settled);
        let change: f64 = now.iter().zip(&self.last).map(|(a, b)| (a - b).powi(2)).sum();
        let spread = codes.variances()[self.settled] * now.len() as f64;
        let is_quiet =
            !self.last.is_empty() && change.sqrt() < sweep.tolerance.get() * spread.sqrt();
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        self.last = now;
        if self.quiet >= sweep.epochs.get() {
            *self = Self { settled: self.settled + 1, quiet: 0, last: column(self.settled + 1) };
        }
    }

    /// Returns everything in one list.
    pub(super) fn to_extra_state(&self) -> Vec<f64> {
        let counts = [self.settled as f64, self.quiet as f64];
        counts.into_iter().chain(self.last.iter().copied()).collect()
    }

    /// Takes back what [`SweepState::to_extra_state`] returned.
    pub(super) fn of_extra_state(state: &[f64]) -> Self {
        match state {
            [settled, quiet, last @ ..] => {
                Self { settled: *settled as usize, quiet: *quiet as usize, last: last.to_vec() }
            }
            _ => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Seed;

    #[test]
    fn weights_are_equal_or_fall_or_are_taken_as_listed() {
        assert_eq!(PrefixWeights::Equal.values(4).unwrap(), [0.25; 4]);
        let ratio = Fraction::new(0.5).unwrap();
        let falling = PrefixWeights::Geometric { ratio }.values(3).unwrap();
        assert_eq!(falling, [4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]);
        let listed = PrefixWeights::Listed(vec![NonNegativeF64::new(3.0).unwrap()]);
        assert_eq!(listed.values(1).unwrap(), [3.0]);
        assert_eq!(listed.values(2), None);
    }

    #[test]
    fn lengths_are_geometric_beyond_the_settled_coordinates() {
        let masks = masks(&mut Seed(1).stream("masks"), 4000, 5, 1, 0.5);
        let mut counts = [0_u32; 6];
        for mask in masks.chunks(5) {
            let length = mask.iter().filter(|&&kept| kept > 0.0).count();
            assert!(mask.is_sorted_by(|a, b| a >= b), "a prefix has no gaps");
            counts[length] += 1;
        }
        assert_eq!(counts[..2], [0, 0]);
        // Binomial(4000, 1/2) has a standard deviation of 32.
        assert!(counts[2].abs_diff(2000) < 200 && counts[3].abs_diff(1000) < 150, "{counts:?}");
        assert!(counts[4].abs_diff(500) < 120 && counts[5].abs_diff(500) < 120, "{counts:?}");
    }

    #[test]
    fn a_coordinate_settles_after_quiet_epochs_and_the_last_one_never() {
        let text = "Sweep(tolerance: 0.1, epochs: 2)";
        let sweep: Sweep = ron::from_str(text).unwrap();
        let codes = |shift: f32| Points::new(2, 2, vec![shift, 5.0, 1.0 + shift, 6.0]).unwrap();
        let mut sweep_state = SweepState::default();
        let mut settled = Vec::new();
        for shift in [0.0, 9.0, 9.01, 9.02, 9.02, 9.02, 9.02] {
            sweep_state.watch(sweep, &codes(shift));
            settled.push(sweep_state.settled);
        }
        assert_eq!(settled, [0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(SweepState::of_extra_state(&sweep_state.to_extra_state()), sweep_state);
    }
}
