//! What training and encoding need of a model.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use super::pytorch::Networks;
use super::{Decoded, EpochContext, Losses, ModelError, Output, Reconstruction, StepOutput};
use crate::data::{SampleForm, SampleSet};
use crate::numerics::Seed;

/// What a model is built from besides its settings.
#[derive(Clone, Debug)]
pub struct BuildContext<'a> {
    /// What the training samples look like.
    pub form: SampleForm,
    /// Source of the initial weights.
    pub seed: Seed,
    /// Length that counts as 1 in the table of distances, see [`crate::geometry::Distances`].
    pub distance_unit: f64,
    /// Where the weights live.
    pub device: &'a Device,
}

/// Some training samples, and how far they are from one another.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Which samples they are.
    pub rows: Vec<usize>,
    /// The samples: `[batch, values]`.
    pub inputs: Tensor<2>,
    /// Squared distances between the samples, if the model needs them: `[batch, batch]`.
    pub squared_distances: Option<Tensor<2>>,
    /// The random numbers of this step, see [`Autoencoder::noise`]: `[batch, width]`.
    pub noise: Option<Tensor<2>>,
}

/// Where in the training a step was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPosition {
    /// Steps taken so far.
    pub step: usize,
    /// Epochs begun so far, counting from 1.
    pub epoch: usize,
    /// Whether this step was the last of its epoch.
    pub epoch_ended: bool,
}

/// Turns codes into samples.
pub trait Decode {
    /// Returns the raw output decoded from codes: `[batch, latent]` to `[batch, values]`.
    fn forward(&self, codes: Tensor<2>) -> Tensor<2>;

    /// Returns the raw output with its derivatives, see [`Codec::decode_with_tangents`].
    fn forward_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded;

    /// Returns what the raw output stands for.
    fn output(&self) -> Output;
}

/// Turns samples into codes and codes into samples.
pub trait Codec {
    /// Returns the codes of samples: `[batch, values]` to `[batch, latent]`.
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2>;

    /// Returns what turns codes into samples.
    fn decoder(&self) -> &dyn Decode;

    /// Returns the networks as PyTorch has them, given what samples look like.
    fn pytorch(&self, form: SampleForm) -> Networks;

    /// Returns codes drawn from the distributions of samples; none if each sample has one code.
    fn draw(&self, _inputs: Tensor<2>, _rng: &mut ChaCha8Rng) -> Option<Tensor<2>> {
        None
    }

    /// Returns the raw output decoded from codes: `[batch, latent]` to `[batch, values]`.
    fn decode(&self, codes: Tensor<2>) -> Tensor<2> {
        self.decoder().forward(codes)
    }

    /// Returns the raw output decoded from codes with its exact derivatives along directions of
    /// the code, `[directions, latent]`; only for models in inference, not in training.
    fn decode_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        self.decoder().forward_with_tangents(codes, directions)
    }

    /// Returns what the raw output stands for.
    fn output(&self) -> Output {
        self.decoder().output()
    }
}

/// A model whose weights are computed from all samples at once.
pub trait ClosedForm: Codec + Module {
    /// Returns the model with the weights that follow from samples.
    fn fit(self, samples: &SampleSet, device: &Device) -> Result<Self, ModelError>;
}

/// A model that is trained step by step.
pub trait Autoencoder: Codec + Module {
    /// Returns the losses of one batch.
    fn losses(&self, batch: &Batch) -> Losses;

    /// Returns how reconstructions are compared.
    fn reconstruction(&self) -> Reconstruction;

    /// Returns the losses of one batch with the gradients of their total.
    fn losses_and_gradients(&self, batch: &Batch) -> StepOutput {
        StepOutput::of(self, self.losses(batch))
    }

    /// Returns random numbers for a step, if the model needs any, with their number per sample.
    fn noise(&self, _rng: &mut ChaCha8Rng, _batch: usize) -> Option<(usize, Vec<f32>)> {
        None
    }

    /// Returns how many samples each epoch keeps out of its batches, drawn anew.
    fn held_out(&self) -> usize {
        0
    }

    /// Adapts the model before the first step of an epoch.
    fn before_epoch(&mut self, _context: &EpochContext<'_>) {}

    /// Adapts the model after a step.
    fn after_step(&mut self, _position: StepPosition, _context: &EpochContext<'_>) {}

    /// Returns the number of stages, each as long as the training is asked to be.
    fn stages(&self) -> usize {
        1
    }

    /// Goes over to the next stage, with an optimizer that remembers nothing.
    fn next_stage(&mut self) -> Result<(), ModelError> {
        Ok(())
    }

    /// Goes over to the last stage, for weights to be loaded into.
    fn complete(mut self) -> Result<Self, ModelError> {
        for _ in 1..self.stages() {
            self.next_stage()?;
        }
        Ok(self)
    }

    /// Recomputes what follows from the weights: at the start, after a pause, in a new stage.
    fn prepare(&mut self, _context: &EpochContext<'_>) {}

    /// Returns what training has changed besides the weights; kept in checkpoints.
    fn extra_state(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes back what [`Autoencoder::extra_state`] returned, before weights are loaded.
    fn restore_extra_state(&mut self, _state: Vec<f64>) -> Result<(), ModelError> {
        Ok(())
    }

    /// Returns named numbers of the model's state, for the record of training.
    fn metrics(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
}

/// Names the numbers of a list by their places: `gamma_1`, `gamma_2`, ...
pub(super) fn numbered(name: &str, values: &[f64]) -> Vec<(String, f64)> {
    let name = |place: usize| format!("{name}_{}", place + 1);
    values.iter().enumerate().map(|(place, &value)| (name(place), value)).collect()
}
