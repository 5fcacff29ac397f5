//! Autoencoders: what a user may ask for, and what training and encoding need of them.
//!
//! One file for each model. To add one: a `mod` line, a [`ModelSpec`] variant, and its arms in
//! this folder's [`ModelSpec`] methods and in `training::fit`. A model states its losses; the
//! training loop, the optimizer and the checkpoints are shared.

mod ae;
mod ard_vae;
mod convolutions;
mod decoder;
mod effort;
mod encoder;
pub mod gamma;
mod gaussian;
mod hae;
mod irmae;
mod isometry;
mod layers;
mod lesson;
pub mod losses;
mod network;
mod pca;
mod pca_ae;
mod pcae;
mod prefixes;
#[cfg(test)]
pub(crate) mod reference;
mod surroundings;
mod tangents;
#[cfg(test)]
mod theorems;
mod vae;
pub mod weights;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::ae::{Ae, AeSpec};
pub use self::ard_vae::{ArdVae, ArdVaeSpec};
pub use self::effort::Effort;
pub(crate) use self::encoder::Encoder;
pub use self::gamma::{GammaSpec, Interval};
pub use self::hae::{Hae, HaeSpec};
pub use self::irmae::{Irmae, IrmaeSpec};
pub use self::isometry::IsometryLoss;
pub(crate) use self::layers::{Dense, Initializer};
pub use self::lesson::{Lesson, Slopes};
pub use self::losses::{Losses, Output, Reconstruction};
pub use self::network::{LastLayer, NetworkSpec, PaperNetwork};
pub use self::pca::{Pca, PcaSpec};
pub use self::pca_ae::{PcaAe, PcaAeSpec, Trunk};
pub use self::pcae::{Objective, Pcae, PcaeSpec};
pub use self::prefixes::{PrefixSpec, PrefixWeights, Sweep};
pub use self::surroundings::{Surroundings, map_rows, rows_on};
pub use self::tangents::Decoded;
pub use self::vae::{Vae, VaeSpec};
pub use self::weights::{WeightArray, Weights, WeightsError};
use crate::data::SampleForm;
use crate::numerics::{PcaError, Seed};

/// Says why a model cannot be built or loaded.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The image cannot be halved as often as the network has layers.
    #[error(
        "each of the {layers} `channels` halves the image, but {height} x {width} pixels can be \
         halved only {} times",
        height.trailing_zeros().min(width.trailing_zeros())
    )]
    Size {
        /// Number of convolution layers.
        layers: usize,
        /// Image height in pixels.
        height: usize,
        /// Image width in pixels.
        width: usize,
    },
    /// Convolutions of something that has no sides.
    #[error("convolutions need images, but the samples are vectors: use `Mlp(widths: [..])`")]
    ConvolutionOfVectors,
    /// Cross-entropy of something that is no probability.
    #[error("cross-entropy needs images, but the samples are vectors: use `SquaredError`")]
    CrossEntropyOfVectors,
    /// Another number of weights than prefixes.
    #[error("a code of {latent} coordinates needs {latent} prefix weights")]
    PrefixWeights {
        /// Number of coordinates.
        latent: usize,
    },
    /// A PCA can't be computed.
    #[error("cannot compute the principal axes")]
    Pca(#[from] PcaError),
    /// Stored weights do not fit the model.
    #[error("weights do not fit the model")]
    Weights(#[from] WeightsError),
}

/// The models a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ModelSpec {
    /// A plain autoencoder.
    Ae(AeSpec),
    /// A variational autoencoder whose prior finds out which coordinates matter.
    ArdVae(ArdVaeSpec),
    /// A hierarchical autoencoder: its code can be cut off anywhere.
    Hae(HaeSpec),
    /// An autoencoder with linear layers that tend to a low rank.
    Irmae(IrmaeSpec),
    /// Linear PCA, exact.
    Pca(PcaSpec),
    /// Coordinates that are learned one after the other.
    PcaAe(PcaAeSpec),
    /// The paper's autoencoder: isometric codes with ordered variances.
    Pcae(PcaeSpec),
    /// A variational autoencoder.
    Vae(VaeSpec),
}

impl ModelSpec {
    /// Returns whether training needs distances between the training samples.
    pub const fn needs_distances(&self) -> bool {
        matches!(self, Self::Pcae(_))
    }

    /// Returns the number of coordinates of a code.
    pub const fn latent(&self) -> usize {
        let latent = match self {
            Self::Ae(spec) => spec.latent,
            Self::ArdVae(spec) => spec.latent,
            Self::Hae(spec) => spec.latent,
            Self::Irmae(spec) => spec.latent,
            Self::Pca(spec) => spec.latent,
            Self::PcaAe(spec) => spec.latent,
            Self::Pcae(spec) => spec.latent,
            Self::Vae(spec) => spec.latent,
        };
        latent.get()
    }

    /// Returns how many stages the model is trained in, each for the whole length.
    pub const fn stages(&self) -> usize {
        match self {
            Self::PcaAe(spec) => spec.latent.get(),
            _ => 1,
        }
    }

    /// Returns how reconstructions are compared in training; a PCA has no choice.
    pub const fn reconstruction(&self, form: SampleForm) -> Option<Reconstruction> {
        let (asked, network) = match self {
            Self::Ae(spec) => (spec.reconstruction, &spec.network),
            Self::ArdVae(spec) => (spec.reconstruction, &spec.network),
            Self::Hae(spec) => (spec.reconstruction, &spec.network),
            Self::Irmae(spec) => (spec.reconstruction, &spec.network),
            Self::Pca(_) => return None,
            Self::PcaAe(spec) => (spec.reconstruction, &spec.network),
            Self::Pcae(spec) => (spec.reconstruction, &spec.network),
            Self::Vae(spec) => (spec.reconstruction, &spec.network),
        };
        match asked {
            Some(asked) => Some(asked),
            None => Some(network.usual_reconstruction(form)),
        }
    }

    /// Builds a trained model that encodes and decodes on `device`.
    pub fn codec(
        &self,
        form: SampleForm,
        weights: &Weights,
        device: &Device,
    ) -> Result<Box<dyn Codec>, ModelError> {
        fn load<M: Module + Codec + 'static>(
            weights: &Weights,
            model: M,
        ) -> Result<Box<dyn Codec>, ModelError> {
            Ok(Box::new(weights.load_into(model)?))
        }
        // The initial weights are all replaced, so their seed and the unit of distance are moot.
        let start = Start { form, seed: Seed(0), distance_unit: 1.0, device };
        match self {
            Self::Ae(spec) => load(weights, Ae::new(spec, &start)?),
            Self::ArdVae(spec) => load(weights, ArdVae::new(spec, &start)?),
            Self::Hae(spec) => load(weights, Hae::new(spec, &start)?),
            Self::Irmae(spec) => load(weights, Irmae::new(spec, &start)?),
            Self::Pca(spec) => load(weights, Pca::new(spec, form, device)),
            Self::PcaAe(spec) => load(weights, PcaAe::complete(spec, &start)?),
            Self::Pcae(spec) => load(weights, Pcae::new(spec, &start)?),
            Self::Vae(spec) => load(weights, Vae::new(spec, &start)?),
        }
    }
}

/// What a model needs to know when its training starts.
#[derive(Clone, Debug)]
pub struct Start<'a> {
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

/// Where training stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Steps taken so far.
    pub step: usize,
    /// Epochs begun so far, counting from 1.
    pub epoch: usize,
    /// Whether this step was the last of its epoch.
    pub epoch_ended: bool,
}

/// Turns samples into codes and codes into samples.
pub trait Codec {
    /// Returns the codes of samples: `[batch, values]` to `[batch, latent]`.
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2>;

    /// Returns the raw output decoded from codes: `[batch, latent]` to `[batch, values]`.
    fn decode(&self, codes: Tensor<2>) -> Tensor<2>;

    /// Returns the raw output decoded from codes with its exact derivatives along directions of
    /// the code, `[directions, latent]`; only for models in use, not in training.
    fn decode_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded;

    /// Returns what the raw output stands for.
    fn output(&self) -> Output;

    /// Returns codes drawn from the distributions of samples; none if each sample has one code.
    fn draw(&self, _inputs: Tensor<2>, _rng: &mut ChaCha8Rng) -> Option<Tensor<2>> {
        None
    }
}

/// A model that can be trained.
pub trait Autoencoder: Codec + Module {
    /// Returns the losses of one batch.
    fn losses(&self, batch: &Batch) -> Losses;

    /// Returns how reconstructions are compared.
    fn reconstruction(&self) -> Reconstruction;

    /// Returns the losses of one batch with the gradients of their total.
    fn learn(&self, batch: &Batch) -> Lesson {
        Lesson::of(self, self.losses(batch))
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
    fn before_epoch(&mut self, _around: &Surroundings<'_>) {}

    /// Adapts the model after a step.
    fn after_step(&mut self, _clock: Clock, _around: &Surroundings<'_>) {}

    /// Returns the number of stages, each as long as the training is asked to be.
    fn stages(&self) -> usize {
        1
    }

    /// Goes over to the next stage, with an optimizer that remembers nothing.
    fn next_stage(&mut self) -> Result<(), ModelError> {
        Ok(())
    }

    /// Computes anew what follows from the weights: at the start, after a pause, in a new stage.
    fn prepare(&mut self, _around: &Surroundings<'_>) {}

    /// Returns what training has changed besides the weights; kept in checkpoints.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes back what [`Autoencoder::memory`] returned, before weights are loaded.
    fn restore_memory(&mut self, _memory: Vec<f64>) -> Result<(), ModelError> {
        Ok(())
    }

    /// Returns named numbers of the model's state, for the record of training.
    fn vitals(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
}

/// Names the numbers of a list by their places: `gamma_1`, `gamma_2`, ...
fn numbered(name: &str, values: &[f64]) -> Vec<(String, f64)> {
    let name = |place: usize| format!("{name}_{}", place + 1);
    values.iter().enumerate().map(|(place, &value)| (name(place), value)).collect()
}
