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
use serde::{Deserialize, Serialize};

use super::decoder::Decoder;
use super::encoder::Encoder;
use super::layers::{Initializer, Mixing};
use super::network::NetworkSpec;
use super::{
    Autoencoder, Batch, Codec, Decoded, Losses, ModelError, Output, Reconstruction, Start,
};

/// Settings of an IRMAE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IrmaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The network between samples and codes.
    pub network: NetworkSpec,
    /// Number of linear layers; the paper takes 4.
    #[serde(default = "usual_layers")]
    pub layers: NonZeroUsize,
    /// How reconstructions are compared; left out, what goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

const fn usual_layers() -> NonZeroUsize {
    const USUAL: NonZeroUsize = NonZeroUsize::new(4).unwrap();
    USUAL
}

/// An IRMAE in training.
#[derive(Module, Debug)]
pub struct Irmae {
    encoder: Encoder,
    linear: Vec<Mixing>,
    decoder: Decoder,
    #[module(skip)]
    reconstruction: Reconstruction,
    #[module(skip)]
    output: Output,
}

impl Irmae {
    /// Makes an untrained IRMAE.
    pub fn new(spec: &IrmaeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let latent = spec.latent.get();
        let usual = spec.network.usual_reconstruction(start.form);
        let rng = start.seed.stream("init/linear");
        let mut initial = Initializer { rng, device: start.device };
        Ok(Self {
            encoder: Encoder::new(&spec.network, latent, start, "init/encoder")?,
            linear: (0..spec.layers.get()).map(|_| Mixing::new(latent, &mut initial)).collect(),
            decoder: Decoder::new(&spec.network, latent, start, "init/decoder")?,
            reconstruction: Reconstruction::choose(spec.reconstruction, usual, start)?,
            output: Output::of(start.form),
        })
    }
}

impl Codec for Irmae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        let codes = self.encoder.forward(inputs);
        self.linear.iter().fold(codes, |codes, layer| layer.forward(codes))
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

impl Autoencoder for Irmae {
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
