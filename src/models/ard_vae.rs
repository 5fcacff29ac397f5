//! ARD-VAE: a VAE whose prior finds out which coordinates matter.
//!
//! What: coordinate l has the prior N(0, v_l). At the start of every epoch some training samples
//! are set aside, encoded, and v_l becomes the mean of z_l^2 over them; it is constant for the rest
//! of the epoch, and the samples set aside are not learned from. Coordinates without use shrink
//! together with their prior.
//! Reference: Saha, Joshi and Whitaker 2025 (arXiv 2501.10901) and its published code: no
//! hyper-hyper-parameters (a0 = b0 = 0), drawn codes, a normal in place of the Student t.
//! Assumptions: the loss has log v_l where that code adds v_l, a constant either way, so gradients
//! agree. The prior of the first epoch comes from the untrained encoder.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::Tensor;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::NetworkSpec;
use super::pytorch::Networks;
use super::vae::{Vae, VaeSpec};
use super::{
    Autoencoder, Batch, BuildContext, Codec, CommonSettings, Decode, EpochContext, Losses,
    ModelError, ModelSettings, Reconstruction,
};
use crate::data::SampleForm;
use crate::numerics::units::NonNegativeF64;

/// Keeps a prior from shrinking to nothing, which no code could be compared with.
const LEAST_VARIANCE: f64 = 1e-10;

/// Settings of an ARD-VAE, for instance `ArdVae(latent: 16, network: Paper(of: Dsprites), beta:
/// 5)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArdVaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The encoder and decoder network.
    pub network: NetworkSpec,
    /// Weight of the KL divergence from the prior.
    pub beta: NonNegativeF64,
    /// Number of training samples set aside for the prior, drawn anew in each epoch.
    #[serde(default = "default_prior_samples")]
    pub prior_samples: NonZeroUsize,
    /// Reconstruction loss; if left out, the one that goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

const fn default_prior_samples() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
    DEFAULT
}

impl ModelSettings for ArdVaeSpec {
    type Model = ArdVae;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] =
        &["ArdVae(latent: 3, network: Conv(channels: [4, 6]), beta: 2, prior_samples: 10)"];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings::new(self.latent, &self.network, self.reconstruction)
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<ArdVae, ModelError> {
        let vae = VaeSpec {
            latent: self.latent,
            network: self.network.clone(),
            beta: self.beta,
            reconstruction: self.reconstruction,
        };
        Ok(ArdVae {
            vae: vae.build(context)?,
            prior_samples: self.prior_samples.get(),
            prior: vec![1.0; self.latent.get()],
        })
    }
}

/// An ARD-VAE in training.
#[derive(Module, Debug)]
pub struct ArdVae {
    vae: Vae,
    #[module(skip)]
    prior_samples: usize,
    #[module(skip)]
    prior: Vec<f64>,
}

impl Codec for ArdVae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.vae.encode(inputs)
    }

    fn decoder(&self) -> &dyn Decode {
        self.vae.decoder()
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        self.vae.pytorch(form)
    }

    fn draw(&self, inputs: Tensor<2>, rng: &mut ChaCha8Rng) -> Option<Tensor<2>> {
        self.vae.draw(inputs, rng)
    }
}

impl Autoencoder for ArdVae {
    fn reconstruction(&self) -> Reconstruction {
        self.vae.reconstruction()
    }

    fn losses(&self, batch: &Batch) -> Losses {
        self.vae.losses_under(&self.prior, batch)
    }

    fn noise(&self, rng: &mut ChaCha8Rng, batch: usize) -> Option<(usize, Vec<f32>)> {
        self.vae.noise(rng, batch)
    }

    fn held_out(&self) -> usize {
        self.prior_samples
    }

    fn before_epoch(&mut self, context: &EpochContext<'_>) {
        let vae = self.vae.valid();
        let rng = context.seed.stream(&format!("prior/{}", context.epoch));
        let rng = std::cell::RefCell::new(rng);
        let drawn = context
            .map_held_out(&|samples| vae.distributions(samples).draw_from(&mut rng.borrow_mut()));
        let moments = drawn.second_moments();
        if moments.iter().all(|moment| moment.is_finite()) {
            self.prior = moments.into_iter().map(|moment| moment.max(LEAST_VARIANCE)).collect();
        }
    }

    fn extra_state(&self) -> Vec<f64> {
        self.prior.clone()
    }

    fn restore_extra_state(&mut self, state: Vec<f64>) -> Result<(), ModelError> {
        self.prior = state;
        Ok(())
    }

    fn metrics(&self) -> Vec<(String, f64)> {
        super::numbered("prior_variance", &self.prior)
    }
}
