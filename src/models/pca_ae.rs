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
use burn::tensor::{Device, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decoder::Decoder;
use super::encoder::Encoder;
use super::layers::{Dense, Initializer, NonAffineBatchNorm};
use super::network::NetworkSpec;
use super::pytorch::{EncoderNetwork, Networks};
use super::{
    Autoencoder, Batch, BuildContext, Codec, CommonSettings, Decode, EpochContext, Losses,
    ModelError, ModelSettings, Reconstruction,
};
use crate::data::SampleForm;
use crate::device::send;
use crate::numerics::units::NonNegativeF64;
use crate::numerics::{Points, Seed};

/// Settings of a PCA-AE, for instance `PcaAe(latent: 4, network: Conv(channels: [16, 32]))`. Every
/// coordinate is trained for the whole length, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PcaAeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The encoder and decoder network.
    pub network: NetworkSpec,
    /// Weight of the covariance with earlier coordinates.
    #[serde(default = "one")]
    pub covariance: NonNegativeF64,
    /// What the encoders have in common.
    #[serde(default)]
    pub trunk: Trunk,
    /// Reconstruction loss; if left out, the one that goes with the network, averaged
    /// over values.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

/// What the encoders of a PCA-AE have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Trunk {
    /// Nothing: each is a separate network.
    #[default]
    Separate,
    /// All but the last layer; they are trained with the first coordinate and then frozen, which is
    /// cheaper.
    Shared,
}

fn one() -> NonNegativeF64 {
    NonNegativeF64::new(1.0).unwrap_or_else(|_| unreachable!("1 is not negative"))
}

impl PcaAeSpec {
    fn loss(&self, form: SampleForm) -> Reconstruction {
        let default = || self.network.default_reconstruction(form).averaged();
        self.reconstruction.unwrap_or_else(default)
    }
}

impl ModelSettings for PcaAeSpec {
    type Model = PcaAe;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] = &[
        "PcaAe(latent: 3, network: Conv(channels: [4, 6]))",
        "PcaAe(latent: 3, network: Conv(channels: [4, 6], batch_norm: true), trunk: Shared)",
    ];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings::new(self.latent, &self.network, self.reconstruction)
    }

    fn reconstruction(&self, form: SampleForm) -> Option<Reconstruction> {
        Some(self.loss(form))
    }

    fn stages(&self) -> usize {
        self.latent.get()
    }

    fn forward_flops(&self, form: SampleForm, _batch: usize) -> Result<f64, ModelError> {
        let encoders = match self.trunk {
            Trunk::Separate => self.latent.get() as f64,
            Trunk::Shared => 1.0,
        };
        let one = self.network.flops(form, 1)?.encode;
        let decoders = (1..=self.latent.get()).map(|inputs| self.network.flops(form, inputs));
        let decoders = decoders.map(|flops| Ok(flops?.decode));
        Ok(encoders * one + decoders.sum::<Result<f64, ModelError>>()?)
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<PcaAe, ModelError> {
        let reconstruction = Reconstruction::choose(None, self.loss(context.form), context)?;
        Ok(PcaAe {
            encoders: vec![Encoder::new(&self.network, 1, context, "init/encoder/1")?],
            heads: Vec::new(),
            norms: vec![NonAffineBatchNorm::new(context.device)],
            decoder: Decoder::new(&self.network, 1, context, "init/decoder/1")?,
            plan: Plan {
                spec: self.clone(),
                form: context.form,
                seed: context.seed,
                device: context.device.clone(),
            },
            earlier: Points::from_rows(0, Vec::new()),
            reconstruction,
        })
    }
}

/// What new encoders and decoders are built from.
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
    norms: Vec<NonAffineBatchNorm>,
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
        let context = BuildContext { form: *form, seed: *seed, distance_unit: 1.0, device };
        let stream = format!("init/encoder/{coordinate}");
        match spec.trunk {
            Trunk::Separate => {
                self.encoders.push(Encoder::new(&spec.network, 1, &context, &stream)?);
            }
            Trunk::Shared => {
                let mut initial = Initializer { rng: seed.stream(&stream), device };
                self.heads.push(Dense::new(self.encoders[0].feature_count(), 1, &mut initial));
            }
        }
        let stream = format!("init/decoder/{coordinate}");
        self.decoder = Decoder::new(&spec.network, coordinate, &context, &stream)?;
        self.norms.push(NonAffineBatchNorm::new(device));
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
            Tensor::from_inner(self.encoders[0].valid().features(inputs.inner()))
        } else {
            self.encoders[0].features(inputs)
        }
    }

    /// Returns the encoders as PyTorch has them; with a shared trunk, they are one.
    fn pytorch_encoder(&self, form: SampleForm) -> EncoderNetwork {
        match self.plan.spec.trunk {
            Trunk::Separate => {
                let each = self.encoders.iter().zip(self.norms.chunks(1)).map(|(encoder, norm)| {
                    let mut layers = encoder.pytorch(form);
                    layers.push(NonAffineBatchNorm::pytorch_side_by_side(norm));
                    layers
                });
                EncoderNetwork::Coordinates(each.collect())
            }
            Trunk::Shared => {
                let trunk = &self.encoders[0];
                let heads: Vec<&Dense> =
                    [trunk.last_layer()].into_iter().chain(&self.heads).collect();
                let mut layers = trunk.pytorch_features(form);
                layers.push(Dense::pytorch_side_by_side(&heads));
                layers.push(NonAffineBatchNorm::pytorch_side_by_side(&self.norms));
                EncoderNetwork::Code(layers)
            }
        }
    }

    /// Returns the earlier codes of the samples in a batch.
    fn earlier_codes(&self, batch: &Batch) -> Tensor<2> {
        let width = self.earlier.width();
        let rows = batch.rows.iter().flat_map(|&row| self.earlier.row(row).iter().copied());
        send(rows.collect(), [batch.rows.len(), width], &batch.inputs.device())
    }
}

impl Codec for PcaAe {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        let columns = (0..self.coordinates()).map(|index| self.coordinate(index, inputs.clone()));
        Tensor::cat(columns.collect(), 1)
    }

    fn decoder(&self) -> &dyn Decode {
        &self.decoder
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        Networks {
            encoder: self.pytorch_encoder(form),
            decoder: self.decoder.pytorch(form),
            output: self.output(),
        }
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

    fn prepare(&mut self, context: &EpochContext<'_>) {
        let frozen = self.coordinates() - 1;
        let model = self.valid();
        self.earlier = if frozen == 0 {
            Points::from_rows(0, Vec::new())
        } else {
            context.map_all(&|samples| {
                let columns = (0..frozen).map(|index| model.coordinate(index, samples.clone()));
                Tensor::cat(columns.collect(), 1)
            })
        };
    }

    fn extra_state(&self) -> Vec<f64> {
        vec![self.coordinates() as f64]
    }

    fn restore_extra_state(&mut self, state: Vec<f64>) -> Result<(), ModelError> {
        let coordinates = state.first().map_or(1, |&count| count as usize);
        while self.coordinates() < coordinates {
            self.grow()?;
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<(String, f64)> {
        vec![("coordinate".to_owned(), self.coordinates() as f64)]
    }
}
