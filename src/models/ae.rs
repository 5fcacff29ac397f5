//! AE: a plain autoencoder, the reference row without any order or sparsity.
//!
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::Tensor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decoder::Decoder;
use super::encoder::Encoder;
use super::network::NetworkSpec;
use super::pytorch::{EncoderNetwork, Networks};
use super::{
    Autoencoder, Batch, BuildContext, Codec, CommonSettings, Decode, Losses, ModelError,
    ModelSettings, Reconstruction,
};
use crate::data::SampleForm;

/// Settings of a plain autoencoder, for instance `Ae(latent: 16, network: Conv(channels: [16,
/// 32]))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The encoder and decoder network.
    pub network: NetworkSpec,
    /// Reconstruction loss; if left out, the one that goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

impl ModelSettings for AeSpec {
    type Model = Ae;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] =
        &["Ae(latent: 3, network: Conv(channels: [4, 6], batch_norm: true))"];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings::new(self.latent, &self.network, self.reconstruction)
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Ae, ModelError> {
        let latent = self.latent.get();
        Ae::with_widths([latent; 2], &self.network, self.reconstruction, context)
    }
}

/// A plain autoencoder in training, and the pair of networks that most other models are built on.
#[derive(Module, Debug)]
pub struct Ae {
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    #[module(skip)]
    reconstruction: Reconstruction,
}

impl Ae {
    /// Makes the networks of a model, given the number of values that come out of the encoder and of
    /// those that go into the decoder.
    pub(super) fn with_widths(
        [encoded, decoded]: [usize; 2],
        network: &NetworkSpec,
        reconstruction: Option<Reconstruction>,
        context: &BuildContext<'_>,
    ) -> Result<Self, ModelError> {
        let default = network.default_reconstruction(context.form);
        Ok(Self {
            encoder: Encoder::new(network, encoded, context, "init/encoder")?,
            decoder: Decoder::new(network, decoded, context, "init/decoder")?,
            reconstruction: Reconstruction::choose(reconstruction, default, context)?,
        })
    }

    /// Returns the reconstruction loss of what codes are decoded to.
    pub(super) fn loss_of(&self, codes: Tensor<2>, samples: &Tensor<2>) -> Tensor<1> {
        self.reconstruction.loss(self.decode(codes), self.output(), samples.clone())
    }
}

impl Codec for Ae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.encoder.forward(inputs)
    }

    fn decoder(&self) -> &dyn Decode {
        &self.decoder
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        Networks {
            encoder: EncoderNetwork::Code(self.encoder.pytorch(form)),
            decoder: self.decoder.pytorch(form),
            output: self.output(),
        }
    }
}

impl Autoencoder for Ae {
    fn reconstruction(&self) -> Reconstruction {
        self.reconstruction
    }

    fn losses(&self, batch: &Batch) -> Losses {
        let codes = self.encode(batch.inputs.clone());
        let total = self.loss_of(codes.clone(), &batch.inputs);
        Losses::of_reconstruction(total, codes)
    }
}
