//! IRMAE: linear layers between encoder and decoder, whose product tends to a low rank.
//!
//! What: l square linear layers without bias follow the encoder and are trained with it; gradient
//! descent on such a product prefers few directions. Codes are what comes after the layers.
//! Reference: Jing, Zbontar and LeCun 2020 (arXiv 2010.00679) and its published code: PyTorch's
//! default initial weights, no other regularization.
//! Assumptions: the rank has no preferred axes, so it is read from the spectrum of the codes'
//! covariance (`Estimate` with `Spectrum`), not from single coordinates.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::Tensor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ae::Ae;
use super::flops;
use super::layers::{Initializer, Linear};
use super::network::NetworkSpec;
use super::pytorch::{EncoderNetwork, Networks};
use super::{
    Autoencoder, Batch, BuildContext, Codec, CommonSettings, Decode, Losses, ModelError,
    ModelSettings, Reconstruction,
};
use crate::data::SampleForm;

/// Settings of an IRMAE, for instance `Irmae(latent: 16, network: Conv(channels: [16, 32]))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IrmaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The encoder and decoder network.
    pub network: NetworkSpec,
    /// Number of linear layers; the paper uses 4.
    #[serde(default = "default_layers")]
    pub layers: NonZeroUsize,
    /// Reconstruction loss; if left out, the one that goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

const fn default_layers() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    DEFAULT
}

impl ModelSettings for IrmaeSpec {
    type Model = Irmae;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] =
        &["Irmae(latent: 3, network: Conv(channels: [4, 6]), layers: 2)"];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings::new(self.latent, &self.network, self.reconstruction)
    }

    fn forward_flops(&self, form: SampleForm, _batch: usize) -> Result<f64, ModelError> {
        let latent = self.latent.get();
        let layers = self.layers.get() as f64 * flops::dense(latent, latent);
        Ok(self.common().flops(form)?.total() + layers)
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Irmae, ModelError> {
        let latent = self.latent.get();
        let rng = context.seed.stream("init/linear");
        let mut initial = Initializer { rng, device: context.device };
        Ok(Irmae {
            ae: Ae::with_widths([latent; 2], &self.network, self.reconstruction, context)?,
            linear: (0..self.layers.get()).map(|_| Linear::new(latent, &mut initial)).collect(),
        })
    }
}

/// An IRMAE in training.
#[derive(Module, Debug)]
pub struct Irmae {
    ae: Ae,
    linear: Vec<Linear>,
}

impl Codec for Irmae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        let codes = self.ae.encode(inputs);
        self.linear.iter().fold(codes, |codes, layer| layer.forward(codes))
    }

    fn decoder(&self) -> &dyn Decode {
        self.ae.decoder()
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        let networks = self.ae.pytorch(form);
        let mut layers = self.ae.encoder.pytorch(form);
        layers.extend(self.linear.iter().map(Linear::pytorch));
        Networks { encoder: EncoderNetwork::Code(layers), ..networks }
    }
}

impl Autoencoder for Irmae {
    fn reconstruction(&self) -> Reconstruction {
        self.ae.reconstruction()
    }

    fn losses(&self, batch: &Batch) -> Losses {
        let codes = self.encode(batch.inputs.clone());
        let total = self.ae.loss_of(codes.clone(), &batch.inputs);
        Losses::of_reconstruction(total, codes)
    }
}
