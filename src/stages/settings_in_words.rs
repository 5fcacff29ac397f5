//! What settings mean, in words.

use crate::models::Reconstruction;

/// Returns the name of a reconstruction loss.
pub(super) const fn loss_in_words(loss: Reconstruction) -> &'static str {
    match loss {
        Reconstruction::CrossEntropy => "binary cross-entropy, summed over values",
        Reconstruction::MeanCrossEntropy => "binary cross-entropy, averaged over values",
        Reconstruction::SquaredError => "squared error, summed over values",
        Reconstruction::MeanSquaredError => "squared error, averaged over values",
    }
}
