//! VAE and beta-VAE: codes are drawn from a normal distribution kept near the standard one.
//!
//! What: reconstruction of a drawn code + beta times the divergence from N(0, 1).
//! Reference: Kingma and Welling 2014; Higgins et al. 2017 for beta.
//! Assumptions: the code of a sample is the mean of its distribution.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::Tensor;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::decoder::Decoder;
use super::encoder::Encoder;
use super::gaussian::{self, Gaussian};
use super::network::NetworkSpec;
use super::{
    Autoencoder, Batch, Codec, Decoded, Losses, ModelError, Output, Reconstruction, Start,
};
use crate::numerics::units::NonNegativeF64;

/// Settings of a VAE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The network between samples and codes.
    pub network: NetworkSpec,
    /// Weight of the divergence; 1 makes a plain VAE.
    #[serde(default = "one")]
    pub beta: NonNegativeF64,
    /// How reconstructions are compared; left out, what goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

fn one() -> NonNegativeF64 {
    NonNegativeF64::new(1.0).unwrap_or_else(|_| unreachable!("1 is not negative"))
}

/// A VAE in training.
#[derive(Module, Debug)]
pub struct Vae {
    encoder: Encoder,
    decoder: Decoder,
    #[module(skip)]
    latent: usize,
    #[module(skip)]
    beta: f64,
    #[module(skip)]
    reconstruction: Reconstruction,
    #[module(skip)]
    output: Output,
}

impl Vae {
    /// Makes an untrained VAE.
    pub fn new(spec: &VaeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let latent = spec.latent.get();
        let usual = spec.network.usual_reconstruction(start.form);
        Ok(Self {
            encoder: Encoder::new(&spec.network, 2 * latent, start, "init/encoder")?,
            decoder: Decoder::new(&spec.network, latent, start, "init/decoder")?,
            latent,
            beta: spec.beta.get(),
            reconstruction: Reconstruction::choose(spec.reconstruction, usual, start)?,
            output: Output::of(start.form),
        })
    }

    /// Returns the distributions of codes.
    pub(super) fn distributions(&self, inputs: Tensor<2>) -> Gaussian {
        Gaussian::of(&self.encoder, inputs)
    }

    /// Returns the losses against a normal prior with these variances.
    pub(super) fn losses_under(&self, prior: &[f64], batch: &Batch) -> Losses {
        let distributions = self.distributions(batch.inputs.clone());
        let drawn = match &batch.noise {
            Some(noise) => distributions.draw(noise.clone()),
            None => distributions.mean.clone(),
        };
        let output = self.decode(drawn);
        let reconstruction = self.reconstruction.loss(output, self.output, batch.inputs.clone());
        let divergence = distributions.divergence(prior);
        Losses {
            total: reconstruction.clone() + divergence.clone().mul_scalar(self.beta),
            terms: vec![("reconstruction", reconstruction), ("kl", divergence)],
            codes: distributions.mean,
        }
    }
}

impl Codec for Vae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.distributions(inputs).mean
    }

    fn decode(&self, codes: Tensor<2>) -> Tensor<2> {
        self.decoder.forward(codes)
    }

    fn decode_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        self.decoder.forward_with_tangents(codes, directions)
    }

    fn draw(&self, inputs: Tensor<2>, rng: &mut ChaCha8Rng) -> Option<Tensor<2>> {
        Some(self.distributions(inputs).draw_from(rng))
    }

    fn output(&self) -> Output {
        self.output
    }
}

impl Autoencoder for Vae {
    fn reconstruction(&self) -> Reconstruction {
        self.reconstruction
    }

    fn losses(&self, batch: &Batch) -> Losses {
        self.losses_under(&vec![1.0; self.latent], batch)
    }

    fn noise(&self, rng: &mut ChaCha8Rng, batch: usize) -> Option<(usize, Vec<f32>)> {
        Some((self.latent, gaussian::noise(rng, batch * self.latent)))
    }
}
