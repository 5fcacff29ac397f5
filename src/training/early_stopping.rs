//! Early stopping: the weights of the best epoch, once patience has run out.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::models::Weights;
use crate::numerics::units::NonNegativeF64;

/// When training stops early. The weights of the best epoch are the result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "EarlyStopping")]
pub struct EarlyStopping {
    /// Epochs to wait for a lower validation loss.
    pub patience: NonZeroUsize,
    /// Smallest decrease of the loss that counts as an improvement.
    #[serde(default = "nothing")]
    pub least_gain: NonNegativeF64,
}

fn nothing() -> NonNegativeF64 {
    NonNegativeF64::new(0.0).unwrap_or_else(|_| unreachable!("0 is not negative"))
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
    /// Its weights.
    pub(super) weights: Weights,
}

impl EarlyStopping {
    /// Updates the best epoch with the loss of another; `weights` reads those of the model if they are
    /// better.
    pub(super) fn watch(
        self,
        best: Option<Best>,
        epoch: usize,
        loss: f64,
        weights: impl FnOnce() -> Weights,
    ) -> Best {
        match best {
            Some(best) if loss >= best.loss - self.least_gain.get() => {
                Best { waited: best.waited + 1, ..best }
            }
            _ => Best { epoch, waited: 0, loss, weights: weights() },
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
        let text = "EarlyStopping(patience: 2, least_gain: 0.1)";
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
