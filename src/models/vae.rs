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
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ae::Ae;
use super::gaussian::{self, Gaussian};
use super::network::NetworkSpec;
use super::pytorch::{EncoderNetwork, Networks};
use super::{
    Autoencoder, Batch, BuildContext, Codec, CommonSettings, Decode, Losses, ModelError,
    ModelSettings, Reconstruction,
};
use crate::data::SampleForm;
use crate::numerics::units::NonNegativeF64;

/// Settings of a VAE, for instance `Vae(latent: 16, network: Mlp(widths: [64]), beta: 4)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The encoder and decoder network.
    pub network: NetworkSpec,
    /// Weight of the KL divergence; 1 makes a plain VAE.
    #[serde(default = "one")]
    pub beta: NonNegativeF64,
    /// Reconstruction loss; if left out, the one that goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

fn one() -> NonNegativeF64 {
    NonNegativeF64::new(1.0).unwrap_or_else(|_| unreachable!("1 is not negative"))
}

impl ModelSettings for VaeSpec {
    type Model = Vae;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] = &["Vae(latent: 3, network: Conv(channels: [4, 6]))"];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings::new(self.latent, &self.network, self.reconstruction)
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Vae, ModelError> {
        let latent = self.latent.get();
        let widths = [2 * latent, latent];
        Ok(Vae {
            ae: Ae::with_widths(widths, &self.network, self.reconstruction, context)?,
            latent,
            beta: self.beta.get(),
        })
    }
}

/// A VAE in training.
#[derive(Module, Debug)]
pub struct Vae {
    ae: Ae,
    #[module(skip)]
    latent: usize,
    #[module(skip)]
    beta: f64,
}

impl Vae {
    /// Returns the distributions of codes.
    pub(super) fn distributions(&self, inputs: Tensor<2>) -> Gaussian {
        Gaussian::of(&self.ae.encoder, inputs)
    }

    /// Returns the losses against a normal prior with these variances.
    pub(super) fn losses_under(&self, prior: &[f64], batch: &Batch) -> Losses {
        let distributions = self.distributions(batch.inputs.clone());
        let drawn = match &batch.noise {
            Some(noise) => distributions.draw(noise.clone()),
            None => distributions.mean.clone(),
        };
        let reconstruction = self.ae.loss_of(drawn, &batch.inputs);
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

    fn decoder(&self) -> &dyn Decode {
        self.ae.decoder()
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        let encoder = EncoderNetwork::Distribution(self.ae.encoder.pytorch(form));
        Networks { encoder, ..self.ae.pytorch(form) }
    }

    fn draw(&self, inputs: Tensor<2>, rng: &mut ChaCha8Rng) -> Option<Tensor<2>> {
        Some(self.distributions(inputs).draw_from(rng))
    }
}

impl Autoencoder for Vae {
    fn reconstruction(&self) -> Reconstruction {
        self.ae.reconstruction()
    }

    fn losses(&self, batch: &Batch) -> Losses {
        self.losses_under(&vec![1.0; self.latent], batch)
    }

    fn noise(&self, rng: &mut ChaCha8Rng, batch: usize) -> Option<(usize, Vec<f32>)> {
        Some((self.latent, gaussian::noise(rng, batch * self.latent)))
    }
}
