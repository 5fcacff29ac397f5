//! PCA-AE: coordinates that are learned one after the other, each by an encoder of its own.
//!
//! What: stage k trains a new encoder with one output, normalized to mean 0 and variance 1, and a
//! fresh decoder of k inputs; earlier encoders are frozen and their codes are computed once. The
//! loss is the reconstruction + lambda times the mean squared covariance of the new coordinate with
//! the earlier ones.
//! Reference: Pham et al. 2022 (arXiv 2006.07827) and its published notebook: lambda 1, losses
//! averaged over pixels, as many epochs for each stage.
//! Assumptions: frozen encoders are evaluated with their running statistics (the notebook keeps
//! them in training mode); 1e-5 is added to variances, so that a dead coordinate stays finite.
//! With a shared trunk, stage 1 trains a whole encoder and later stages one row on its features,
//! which the paper's runtimes suggest.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::decoder::Decoder;
use super::encoder::Encoder;
use super::layers::{Dense, Initializer, PlainNorm};
use super::network::NetworkSpec;
use super::{
    Autoencoder, Batch, Codec, Decoded, Losses, ModelError, Output, Reconstruction, Start,
    Surroundings,
};
use crate::data::SampleForm;
use crate::numerics::units::NonNegativeF64;
use crate::numerics::{Points, Seed};

/// Settings of a PCA-AE. Every coordinate is trained for the whole length, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcaAeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The network between samples and codes.
    pub network: NetworkSpec,
    /// Weight of the covariance with earlier coordinates.
    #[serde(default = "one")]
    pub covariance: NonNegativeF64,
    /// What the encoders have in common.
    #[serde(default)]
    pub trunk: Trunk,
    /// How reconstructions are compared; left out, what goes with the network, averaged over values.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

/// What the encoders of a PCA-AE have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trunk {
    /// Nothing: each is a whole network.
    #[default]
    Separate,
    /// All but the last layer, which is trained in the first stage and frozen then: cheaper.
    Shared,
}

fn one() -> NonNegativeF64 {
    NonNegativeF64::new(1.0).unwrap_or_else(|_| unreachable!("1 is not negative"))
}

/// What new encoders and decoders are made from.
#[derive(Clone, Debug)]
struct Plan {
    spec: PcaAeSpec,
    form: SampleForm,
    seed: Seed,
    device: Device,
}

/// A PCA-AE in training.
#[derive(Module, Debug)]
pub struct PcaAe {
    /// One for each coordinate so far, or a single one if the trunk is shared.
    encoders: Vec<Encoder>,
    /// The last layers of the later coordinates, if the trunk is shared.
    heads: Vec<Dense>,
    norms: Vec<PlainNorm>,
    decoder: Decoder,
    #[module(skip)]
    plan: Plan,
    /// Codes of all training samples in the coordinates before the newest.
    #[module(skip)]
    earlier: Points,
    #[module(skip)]
    reconstruction: Reconstruction,
}

impl PcaAe {
    /// Makes an untrained PCA-AE, with the encoder of its first coordinate.
    pub fn new(spec: &PcaAeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let usual = spec.network.usual_reconstruction(start.form).averaged();
        let reconstruction = Reconstruction::choose(spec.reconstruction, usual, start)?;
        Ok(Self {
            encoders: vec![Encoder::new(&spec.network, 1, start, "init/encoder/1")?],
            heads: Vec::new(),
            norms: vec![PlainNorm::new(start.device)],
            decoder: Decoder::new(&spec.network, 1, start, "init/decoder/1")?,
            plan: Plan {
                spec: spec.clone(),
                form: start.form,
                seed: start.seed,
                device: start.device.clone(),
            },
            earlier: Points::from_rows(0, Vec::new()),
            reconstruction,
        })
    }

    /// Makes a PCA-AE with all of its coordinates, for weights to be loaded into.
    pub fn complete(spec: &PcaAeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let mut model = Self::new(spec, start)?;
        while model.coordinates() < spec.latent.get() {
            model.grow()?;
        }
        Ok(model)
    }

    /// Takes the earlier codes of the training samples from elsewhere.
    #[cfg(test)]
    pub(super) fn take_earlier(&mut self, earlier: Points) {
        self.earlier = earlier;
    }

    /// Returns the number of coordinates so far.
    fn coordinates(&self) -> usize {
        self.norms.len()
    }

    /// Adds the encoder of one more coordinate and takes a fresh decoder.
    fn grow(&mut self) -> Result<(), ModelError> {
        let coordinate = self.coordinates() + 1;
        let Plan { spec, form, seed, device } = &self.plan;
        let start = Start { form: *form, seed: *seed, distance_unit: 1.0, device };
        let stream = format!("init/encoder/{coordinate}");
        match spec.trunk {
            Trunk::Separate => {
                self.encoders.push(Encoder::new(&spec.network, 1, &start, &stream)?);
            }
            Trunk::Shared => {
                let mut initial = Initializer { rng: seed.stream(&stream), device };
                self.heads.push(Dense::new(self.encoders[0].features(), 1, &mut initial));
            }
        }
        let stream = format!("init/decoder/{coordinate}");
        self.decoder = Decoder::new(&spec.network, coordinate, &start, &stream)?;
        self.norms.push(PlainNorm::new(device));
        Ok(())
    }

    /// Returns one coordinate: `[batch, values]` to `[batch, 1]`.
    fn coordinate(&self, index: usize, inputs: Tensor<2>) -> Tensor<2> {
        let raw = match (self.plan.spec.trunk, index) {
            (Trunk::Separate, index) => self.encoders[index].forward(inputs).transpose(),
            (Trunk::Shared, 0) => self.encoders[0].forward(inputs).transpose(),
            (Trunk::Shared, index) => self.heads[index - 1].forward(self.frozen_features(inputs)),
        };
        self.norms[index].forward(raw).transpose()
    }

    /// Returns the features of the shared trunk, which nothing is learned through any more.
    fn frozen_features(&self, inputs: Tensor<2>) -> Tensor<2> {
        if inputs.device().is_autodiff() {
            Tensor::from_inner(self.encoders[0].valid().look(inputs.inner()))
        } else {
            self.encoders[0].look(inputs)
        }
    }

    /// Returns the earlier codes of the samples in a batch.
    fn earlier_codes(&self, batch: &Batch) -> Tensor<2> {
        let width = self.earlier.width();
        let rows = batch.rows.iter().flat_map(|&row| self.earlier.row(row).iter().copied());
        let data = TensorData::new(rows.collect::<Vec<_>>(), [batch.rows.len(), width]);
        Tensor::from_data(data, &batch.inputs.device())
    }
}

impl Codec for PcaAe {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        let columns = (0..self.coordinates()).map(|index| self.coordinate(index, inputs.clone()));
        Tensor::cat(columns.collect(), 1)
    }

    fn decode(&self, codes: Tensor<2>) -> Tensor<2> {
        self.decoder.forward(codes)
    }

    fn decode_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        self.decoder.forward_with_tangents(codes, directions)
    }

    fn output(&self) -> Output {
        Output::of(self.plan.form)
    }
}

impl Autoencoder for PcaAe {
    fn reconstruction(&self) -> Reconstruction {
        self.reconstruction
    }

    fn losses(&self, batch: &Batch) -> Losses {
        let newest = self.coordinate(self.coordinates() - 1, batch.inputs.clone());
        let (codes, covariance) = if self.coordinates() == 1 {
            (newest.clone(), Tensor::zeros([1], &newest.device()))
        } else {
            let earlier = self.earlier_codes(batch);
            let covariances = (earlier.clone() * newest.clone()).mean_dim(0); // [1, k - 1]
            (Tensor::cat(vec![earlier, newest], 1), covariances.square().mean())
        };
        let output = self.decode(codes.clone());
        let reconstruction = self.reconstruction.loss(output, self.output(), batch.inputs.clone());
        let weighted = covariance.clone().mul_scalar(self.plan.spec.covariance.get());
        Losses {
            total: reconstruction.clone() + weighted,
            terms: vec![("reconstruction", reconstruction), ("covariance", covariance)],
            codes,
        }
    }

    fn stages(&self) -> usize {
        self.plan.spec.latent.get()
    }

    fn next_stage(&mut self) -> Result<(), ModelError> {
        self.grow()
    }

    fn prepare(&mut self, around: &Surroundings<'_>) {
        let frozen = self.coordinates() - 1;
        let model = self.valid();
        self.earlier = if frozen == 0 {
            Points::from_rows(0, Vec::new())
        } else {
            around.map_all(&|samples| {
                let columns = (0..frozen).map(|index| model.coordinate(index, samples.clone()));
                Tensor::cat(columns.collect(), 1)
            })
        };
    }

    fn memory(&self) -> Vec<f64> {
        vec![self.coordinates() as f64]
    }

    fn restore_memory(&mut self, memory: Vec<f64>) -> Result<(), ModelError> {
        let coordinates = memory.first().map_or(1, |&count| count as usize);
        while self.coordinates() < coordinates {
            self.grow()?;
        }
        Ok(())
    }

    fn vitals(&self) -> Vec<(String, f64)> {
        vec![("coordinate".to_owned(), self.coordinates() as f64)]
    }
}
