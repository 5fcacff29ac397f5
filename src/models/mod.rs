//! Autoencoders: what a user may ask for, and what training and encoding need of them.
//!
//! One file for each model. To add one: a `mod` line, a [`ModelSpec`] variant, and its arms in
//! this folder's [`ModelSpec`] methods and in `training::fit`. A model states its losses; the
//! training loop, the optimizer and the checkpoints are shared.

pub mod blocks;
pub mod gamma;
pub mod losses;
mod pcae;
#[cfg(test)]
pub(crate) mod reference;
pub mod weights;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::gamma::{GammaSpec, Interval};
pub use self::losses::Losses;
pub use self::pcae::{Objective, Pcae, PcaeSpec};
pub use self::weights::{WeightArray, Weights, WeightsError};
use crate::data::ImageShape;
use crate::numerics::{Points, Seed};

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
    /// Stored weights do not fit the model.
    #[error("weights do not fit the model")]
    Weights(#[from] WeightsError),
}

/// The models a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ModelSpec {
    /// The paper's autoencoder: isometric codes with ordered variances.
    Pcae(PcaeSpec),
}

impl ModelSpec {
    /// Returns whether training needs a table of distances between the training images.
    pub fn needs_distances(&self) -> bool {
        match self {
            Self::Pcae(_) => true,
        }
    }

    /// Builds a trained model that encodes and decodes on `device`.
    pub fn codec(
        &self,
        shape: ImageShape,
        weights: &Weights,
        device: &Device,
    ) -> Result<Box<dyn Codec>, ModelError> {
        // The initial weights are all replaced, so their seed and the unit of distance are moot.
        let start = Start { shape, seed: Seed(0), distance_unit: 1.0, device };
        match self {
            Self::Pcae(spec) => Ok(Box::new(weights.load_into(Pcae::new(spec, &start)?)?)),
        }
    }
}

/// What a model needs to know when its training starts.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// Shape of the training images.
    pub shape: ImageShape,
    /// Source of the initial weights.
    pub seed: Seed,
    /// Length that counts as 1 in the table of distances, see [`crate::geometry::Distances`].
    pub distance_unit: f64,
    /// Where the weights live.
    pub device: &'a Device,
}

/// Some training images, and how far they are from one another.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Pixels between 0 and 1: `[batch, channels, height, width]`.
    pub images: Tensor<4>,
    /// Squared distances between the images, if the model needs them: `[batch, batch]`.
    pub squared_distances: Option<Tensor<2>>,
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

/// Turns images into codes and codes into images.
pub trait Codec {
    /// Returns the codes of images: `[batch, latent]`.
    fn encode(&self, images: Tensor<4>) -> Tensor<2>;

    /// Returns the logits of the pixels decoded from codes: `[batch, channels, height, width]`.
    fn decode(&self, codes: Tensor<2>) -> Tensor<4>;
}

/// A model that can be trained.
pub trait Autoencoder: Codec + Module {
    /// Returns the losses of one batch.
    fn losses(&self, batch: &Batch) -> Losses;

    /// Adapts the model after a step; `codes` encodes all training images when called.
    fn after_step(&mut self, _clock: Clock, _codes: &dyn Fn(&Self) -> Points) {}

    /// Returns what training has changed besides the weights; kept in checkpoints.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes back what [`Autoencoder::memory`] returned.
    fn restore_memory(&mut self, _memory: Vec<f64>) {}
}
