//! AE: a plain autoencoder, the reference row without any order or sparsity.
//!
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::decoder::Decoder;
use super::encoder::Encoder;
use super::network::NetworkSpec;
use super::{
    Autoencoder, Batch, Codec, Decoded, Losses, ModelError, Output, Reconstruction, Start,
};

/// Settings of a plain autoencoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The network between samples and codes.
    pub network: NetworkSpec,
    /// How reconstructions are compared; left out, what goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

/// A plain autoencoder in training.
#[derive(Module, Debug)]
pub struct Ae {
    encoder: Encoder,
    decoder: Decoder,
    #[module(skip)]
    reconstruction: Reconstruction,
    #[module(skip)]
    output: Output,
}

impl Ae {
    /// Makes an untrained autoencoder.
    pub fn new(spec: &AeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let latent = spec.latent.get();
        let usual = spec.network.usual_reconstruction(start.form);
        Ok(Self {
            encoder: Encoder::new(&spec.network, latent, start, "init/encoder")?,
            decoder: Decoder::new(&spec.network, latent, start, "init/decoder")?,
            reconstruction: Reconstruction::choose(spec.reconstruction, usual, start)?,
            output: Output::of(start.form),
        })
    }
}

impl Codec for Ae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.encoder.forward(inputs)
    }

    fn decode(&self, codes: Tensor<2>) -> Tensor<2> {
        self.decoder.forward(codes)
    }

    fn decode_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        self.decoder.forward_with_tangents(codes, directions)
    }

    fn output(&self) -> Output {
        self.output
    }
}

impl Autoencoder for Ae {
    fn reconstruction(&self) -> Reconstruction {
        self.reconstruction
    }

    fn losses(&self, batch: &Batch) -> Losses {
        let codes = self.encode(batch.inputs.clone());
        let output = self.decode(codes.clone());
        let total = self.reconstruction.loss(output, self.output, batch.inputs.clone());
        Losses { terms: vec![("reconstruction", total.clone())], total, codes }
    }
}
