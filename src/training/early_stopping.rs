//! Early stopping: what happens once the validation loss has stopped falling.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::models::Weights;
use crate::numerics::units::Fraction;

/// When training stops early. Without a cooldown the weights of the best epoch are the result.
///
/// A model that is trained coordinate by coordinate (PCA-AE) goes on to its next coordinate
/// instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "EarlyStopping")]
pub struct EarlyStopping {
    /// Epochs to wait for a lower validation loss.
    pub patience: NonZeroUsize,
    /// Smallest decrease of the loss that counts as an improvement, as a share of the lowest so
    /// far.
    #[serde(default = "nothing")]
    pub least_gain: Fraction,
    /// Epochs that follow, in which the learning rate falls to zero along half a cosine; the last
    /// weights are then the result. `length` is the longest time before it.
    #[serde(default)]
    pub cooldown: Option<NonZeroUsize>,
}

fn nothing() -> Fraction {
    Fraction::new(0.0).unwrap_or_else(|_| unreachable!("0 is a fraction"))
}

/// The best epoch so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Best {
    /// Epoch, counting from 1.
    pub(super) epoch: usize,
    /// Epochs since then.
    pub(super) waited: usize,
    /// Its validation loss.
    pub(super) loss: f64,
    /// Its weights; none if the last weights will be the result.
    pub(super) weights: Weights,
}

impl EarlyStopping {
    /// Updates the best epoch with the loss of another; `weights` reads those of the model if they are
    /// better and needed.
    pub(super) fn watch(
        self,
        best: Option<Best>,
        epoch: usize,
        loss: f64,
        weights: impl FnOnce() -> Weights,
    ) -> Best {
        match best {
            Some(best) if loss >= best.loss * (1.0 - self.least_gain.get()) => {
                Best { waited: best.waited + 1, ..best }
            }
            _ => {
                let weights = if self.cooldown.is_none() { weights() } else { Weights::default() };
                Best { epoch, waited: 0, loss, weights }
            }
        }
    }

    /// Returns whether patience has run out.
    pub(super) const fn is_over(self, best: &Best) -> bool {
        best.waited >= self.patience.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_counts_epochs_without_a_gain() {
        let text = "EarlyStopping(patience: 2, least_gain: 0.025)";
        let stopping: EarlyStopping = ron::from_str(text).unwrap();
        let mut best = None;
        let mut seen = Vec::new();
        for (epoch, loss) in [(1, 5.0), (2, 4.0), (3, 3.95), (4, 3.5), (5, 3.6), (6, 3.45)] {
            let now = stopping.watch(best, epoch, loss, Weights::default);
            seen.push((now.epoch, stopping.is_over(&now)));
            best = Some(now);
        }
        let expected = [(1, false), (2, false), (2, false), (4, false), (4, false), (4, true)];
        assert_eq!(seen, expected);
    }
}
