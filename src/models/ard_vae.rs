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
use serde::{Deserialize, Serialize};

use super::network::NetworkSpec;
use super::vae::{Vae, VaeSpec};
use super::{
    Autoencoder, Batch, Codec, Decoded, Losses, ModelError, Output, Reconstruction, Start,
    Surroundings,
};
use crate::numerics::units::NonNegativeF64;

/// Keeps a prior from shrinking to nothing, which no code could be compared with.
const LEAST_VARIANCE: f64 = 1e-10;

/// Settings of an ARD-VAE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArdVaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The network between samples and codes.
    pub network: NetworkSpec,
    /// Weight of the divergence from the prior.
    pub beta: NonNegativeF64,
    /// Training samples set aside for the prior in each epoch, drawn anew.
    #[serde(default = "usual_prior_samples")]
    pub prior_samples: NonZeroUsize,
    /// How reconstructions are compared; left out, what goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

const fn usual_prior_samples() -> NonZeroUsize {
    const USUAL: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
    USUAL
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

impl ArdVae {
    /// Makes an untrained ARD-VAE.
    pub fn new(spec: &ArdVaeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let vae = VaeSpec {
            latent: spec.latent,
            network: spec.network.clone(),
            beta: spec.beta,
            reconstruction: spec.reconstruction,
        };
        Ok(Self {
            vae: Vae::new(&vae, start)?,
            prior_samples: spec.prior_samples.get(),
            prior: vec![1.0; spec.latent.get()],
        })
    }
}

impl Codec for ArdVae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.vae.encode(inputs)
    }

    fn decode(&self, codes: Tensor<2>) -> Tensor<2> {
        self.vae.decode(codes)
    }

    fn decode_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        self.vae.decode_with_tangents(codes, directions)
    }

    fn draw(&self, inputs: Tensor<2>, rng: &mut ChaCha8Rng) -> Option<Tensor<2>> {
        self.vae.draw(inputs, rng)
    }

    fn output(&self) -> Output {
        self.vae.output()
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

    fn before_epoch(&mut self, around: &Surroundings<'_>) {
        let vae = self.vae.valid();
        let rng = around.seed.stream(&format!("prior/{}", around.epoch));
        let rng = std::cell::RefCell::new(rng);
        let drawn = around
            .map_held_out(&|samples| vae.distributions(samples).draw_from(&mut rng.borrow_mut()));
        let moments = drawn.second_moments();
        if moments.iter().all(|moment| moment.is_finite()) {
            self.prior = moments.into_iter().map(|moment| moment.max(LEAST_VARIANCE)).collect();
        }
    }

    fn memory(&self) -> Vec<f64> {
        self.prior.clone()
    }

    fn restore_memory(&mut self, memory: Vec<f64>) -> Result<(), ModelError> {
        self.prior = memory;
        Ok(())
    }

    fn vitals(&self) -> Vec<(String, f64)> {
        super::numbered("prior_variance", &self.prior)
    }
}
