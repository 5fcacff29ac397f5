//! Reconstruction losses, and the named terms that a model minimizes.
//!
//! Reference: the paper sums over pixels and averages over the batch (its eq. 5), to which beta is
//! tied; the original PCA-AE and IRMAE average over pixels too.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::tensor::{Tensor, activation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuildContext, ModelError};
use crate::data::SampleForm;
use crate::kernels::{LogitLoss, has_kernel, logit_loss};

/// The parts of a loss, each with its name, and their weighted sum.
#[derive(Clone, Debug)]
pub struct Losses {
    /// What is minimized: a single number.
    pub total: Tensor<1>,
    /// The unweighted parts, for the record.
    pub terms: Vec<(&'static str, Tensor<1>)>,
    /// The codes of the batch, for the record: `[batch, latent]`.
    pub codes: Tensor<2>,
}

impl Losses {
    /// Returns the losses of a model that minimizes nothing but its reconstruction loss.
    pub(super) fn of_reconstruction(loss: Tensor<1>, codes: Tensor<2>) -> Self {
        Self { terms: vec![("reconstruction", loss.clone())], total: loss, codes }
    }
}

/// What a decoder's raw output stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Logits of values between 0 and 1.
    Logits,
    /// The values themselves.
    Values,
}

impl Output {
    /// Returns what the output for samples of a form stands for.
    pub const fn of(form: SampleForm) -> Self {
        match form {
            SampleForm::Image(_) => Self::Logits,
            SampleForm::Vector { .. } => Self::Values,
        }
    }

    /// Returns the values that an output stands for.
    pub fn values(self, output: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Logits => activation::sigmoid(output),
            Self::Values => output,
        }
    }
}

/// How a reconstruction is compared with its original, averaged over samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Reconstruction {
    /// Binary cross-entropy of the logits, summed over values; for images only.
    CrossEntropy,
    /// Binary cross-entropy of the logits, averaged over values; for images only.
    MeanCrossEntropy,
    /// Squared error, summed over values; images go through a sigmoid first.
    SquaredError,
    /// Squared error, averaged over values; images go through a sigmoid first.
    MeanSquaredError,
}

impl Reconstruction {
    /// Returns the loss that was chosen, or the default, if it suits the samples.
    pub(super) fn choose(
        chosen: Option<Self>,
        default: Self,
        context: &BuildContext<'_>,
    ) -> Result<Self, ModelError> {
        let chosen = chosen.unwrap_or(default);
        match (chosen, context.form) {
            (Self::CrossEntropy | Self::MeanCrossEntropy, SampleForm::Vector { .. }) => {
                Err(ModelError::CrossEntropyOfVectors)
            }
            _ => Ok(chosen),
        }
    }

    /// Returns this loss averaged over values instead of summed.
    pub(super) const fn averaged(self) -> Self {
        match self {
            Self::CrossEntropy | Self::MeanCrossEntropy => Self::MeanCrossEntropy,
            Self::SquaredError | Self::MeanSquaredError => Self::MeanSquaredError,
        }
    }

    /// Compares raw outputs with the samples they should be, both `[batch, values]`.
    pub fn loss(self, output: Tensor<2>, stands_for: Output, samples: Tensor<2>) -> Tensor<1> {
        if stands_for == Output::Logits && has_kernel(&output.device()) {
            return self.loss_of_logits(output, samples);
        }
        let errors = match self {
            Self::CrossEntropy | Self::MeanCrossEntropy => {
                cross_entropies(output, stands_for, samples)
            }
            Self::SquaredError | Self::MeanSquaredError => {
                (stands_for.values(output) - samples).square()
            }
        };
        // Sample by sample: the sum of a whole large tensor may depend on the number of threads.
        match self {
            Self::CrossEntropy | Self::SquaredError => errors.sum_dim(1).mean(),
            Self::MeanCrossEntropy | Self::MeanSquaredError => errors.mean_dim(1).mean(),
        }
    }

    fn loss_of_logits(self, logits: Tensor<2>, samples: Tensor<2>) -> Tensor<1> {
        let [batch, values] = samples.dims();
        let (loss, count) = match self {
            Self::CrossEntropy => (LogitLoss::CrossEntropy, batch),
            Self::MeanCrossEntropy => (LogitLoss::CrossEntropy, batch * values),
            Self::SquaredError => (LogitLoss::SquaredError, batch),
            Self::MeanSquaredError => (LogitLoss::SquaredError, batch * values),
        };
        // Decoders compute with the batch last, see `layers`.
        logit_loss(loss, logits.transpose(), samples).div_scalar(count as f64)
    }
}

/// Returns the cross-entropy of every value.
///
/// Of logits, `l (1 - x) - log sigmoid(l)` neither overflows nor needs the probabilities. Values
/// are kept off 0 and 1 by half of what eight bits can tell apart.
fn cross_entropies(output: Tensor<2>, stands_for: Output, samples: Tensor<2>) -> Tensor<2> {
    let dark = samples.clone().neg().add_scalar(1.0);
    match stands_for {
        Output::Logits => output.clone() * dark - activation::log_sigmoid(output),
        Output::Values => {
            const EDGE: f64 = 0.5 / 255.0;
            let likely = output.clamp(EDGE, 1.0 - EDGE);
            let unlikely = likely.clone().neg().add_scalar(1.0);
            (samples * likely.log() + dark * unlikely.log()).neg()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{open, test_device};

    #[test]
    fn reconstruction_sums_or_averages_over_values_and_averages_over_samples() {
        let device = open(test_device()).unwrap();
        let logits = Tensor::<2>::zeros([2, 3], &device);
        let images = Tensor::<2>::ones([2, 3], &device);
        let loss = |kind: Reconstruction| {
            kind.loss(logits.clone(), Output::Logits, images.clone()).into_scalar::<f32>()
        };
        let ln_2 = std::f32::consts::LN_2;
        assert!((loss(Reconstruction::CrossEntropy) - 3.0 * ln_2).abs() < 1e-6);
        assert!((loss(Reconstruction::MeanCrossEntropy) - ln_2).abs() < 1e-6);
        assert!((loss(Reconstruction::SquaredError) - 0.75).abs() < 1e-6);
        assert!((loss(Reconstruction::MeanSquaredError) - 0.25).abs() < 1e-6);
    }

    #[test]
    fn extreme_outputs_give_finite_losses() {
        let device = open(test_device()).unwrap();
        let samples = Tensor::<2>::from_floats([[0.0, 0.0]], &device);
        let extreme = Tensor::<2>::from_floats([[200.0, -200.0]], &device);
        let loss = |stands_for| {
            let kind = Reconstruction::CrossEntropy;
            kind.loss(extreme.clone(), stands_for, samples.clone()).into_scalar::<f32>()
        };
        assert!((loss(Output::Logits) - 200.0).abs() < 1e-3);
        assert!(loss(Output::Values).is_finite());
    }
}
