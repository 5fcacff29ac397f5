//! HAE: a hierarchical autoencoder, whose code must do well when it is cut off anywhere.
//!
//! What: the code is encoded once; each prefix (the other coordinates set to zero) is decoded, and
//! the weighted reconstruction losses add up. Or nested dropout: one prefix a sample.
//! Reference: see `prefixes`; the paper's runtime grows by one decoding for each coordinate, so it
//! decodes all prefixes in every step, with equal weights ("no hyperparameters").
//! Assumptions: decoding goes backward one prefix at a time and the gradients are added up, so
//! memory does not grow with the number of coordinates.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::{Tensor, TensorData};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::decoder::Decoder;
use super::encoder::Encoder;
use super::lesson::{Lesson, Slopes};
use super::network::NetworkSpec;
use super::prefixes::{PrefixSpec, Settling, masks};
use super::{
    Autoencoder, Batch, Clock, Codec, Decoded, Losses, ModelError, Output, Reconstruction, Start,
    Surroundings,
};

/// Settings of an HAE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The network between samples and codes.
    pub network: NetworkSpec,
    /// Which prefixes are decoded, and with which weights.
    #[serde(default)]
    pub prefixes: PrefixSpec,
    /// How reconstructions are compared; left out, what goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

/// An HAE in training.
#[derive(Module, Debug)]
pub struct Hae {
    encoder: Encoder,
    decoder: Decoder,
    #[module(skip)]
    prefixes: PrefixSpec,
    /// Weight of each prefix; none if they are drawn.
    #[module(skip)]
    weights: Vec<f64>,
    #[module(skip)]
    latent: usize,
    #[module(skip)]
    settling: Settling,
    #[module(skip)]
    reconstruction: Reconstruction,
    #[module(skip)]
    output: Output,
}

impl Hae {
    /// Makes an untrained HAE.
    pub fn new(spec: &HaeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let latent = spec.latent.get();
        let usual = spec.network.usual_reconstruction(start.form);
        let weights = match &spec.prefixes {
            PrefixSpec::All { weights } => {
                weights.values(latent).ok_or(ModelError::PrefixWeights { latent })?
            }
            PrefixSpec::Sampled { .. } => Vec::new(),
        };
        Ok(Self {
            encoder: Encoder::new(&spec.network, latent, start, "init/encoder")?,
            decoder: Decoder::new(&spec.network, latent, start, "init/decoder")?,
            prefixes: spec.prefixes.clone(),
            weights,
            latent,
            settling: Settling::default(),
            reconstruction: Reconstruction::choose(spec.reconstruction, usual, start)?,
            output: Output::of(start.form),
        })
    }

    /// Returns the loss of decoding codes.
    fn loss_of(&self, codes: Tensor<2>, batch: &Batch) -> Tensor<1> {
        self.reconstruction.loss(self.decode(codes), self.output, batch.inputs.clone())
    }

    /// Returns the codes without those beyond a prefix.
    fn prefix(&self, codes: &Tensor<2>, length: usize) -> Tensor<2> {
        let mask: Vec<f32> = (0..self.latent).map(|c| f32::from(u8::from(c < length))).collect();
        let mask = TensorData::new(mask, [1, self.latent]);
        codes.clone() * Tensor::from_data(mask, &codes.device())
    }

    /// Returns the codes, with nothing to be learned through the settled coordinates.
    fn hold_settled(&self, codes: Tensor<2>) -> Tensor<2> {
        match self.settling.settled {
            0 => codes,
            settled => {
                let still = codes.clone().narrow(1, 0, settled).detach();
                let rest = codes.narrow(1, settled, self.latent - settled);
                Tensor::cat(vec![still, rest], 1)
            }
        }
    }
}

impl Codec for Hae {
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

impl Autoencoder for Hae {
    fn reconstruction(&self) -> Reconstruction {
        self.reconstruction
    }

    fn losses(&self, batch: &Batch) -> Losses {
        let codes = self.encode(batch.inputs.clone());
        if let Some(mask) = &batch.noise {
            let kept = self.hold_settled(codes.clone()) * mask.clone();
            let total = self.loss_of(kept, batch);
            return Losses { terms: vec![("reconstruction", total.clone())], total, codes };
        }
        let whole = self.loss_of(codes.clone(), batch);
        let mut total = Tensor::zeros([1], &codes.device());
        for (index, &weight) in self.weights.iter().enumerate() {
            let loss = match index + 1 {
                length if length == self.latent => whole.clone(),
                length => self.loss_of(self.prefix(&codes, length), batch),
            };
            total = total + loss.mul_scalar(weight);
        }
        let terms = vec![("reconstruction", whole), ("prefixes", total.clone())];
        Losses { total, terms, codes }
    }

    fn learn(&self, batch: &Batch) -> Lesson {
        if self.weights.is_empty() {
            return Lesson::of(self, self.losses(batch));
        }
        let codes = self.encode(batch.inputs.clone());
        // The decoder goes backward to here once for each prefix, the encoder from here once.
        let middle = codes.clone().detach().require_grad();
        let mut slopes = Slopes::default();
        let mut total = Tensor::zeros([1], &codes.clone().inner().device());
        let mut whole = total.clone();
        let mut slope_of_codes = codes.clone().inner().zeros_like();
        for (index, &weight) in self.weights.iter().enumerate() {
            let loss = self.loss_of(self.prefix(&middle, index + 1), batch);
            let mut gradients = loss.clone().mul_scalar(weight).backward();
            if let Some(slope) = middle.grad_remove(&mut gradients) {
                slope_of_codes = slope_of_codes + slope;
            }
            slopes.add(Slopes::of(&self.decoder, gradients).below("decoder"));
            whole = loss.inner();
            total = total + whole.clone().mul_scalar(weight);
        }
        let along = (codes.clone() * Tensor::from_inner(slope_of_codes)).sum();
        slopes.add(Slopes::of(&self.encoder, along.backward()).below("encoder"));
        let terms = vec![("total", total.clone()), ("reconstruction", whole), ("prefixes", total)];
        Lesson { terms, codes: codes.inner(), slopes }
    }

    fn noise(&self, rng: &mut ChaCha8Rng, batch: usize) -> Option<(usize, Vec<f32>)> {
        let PrefixSpec::Sampled { ratio, .. } = &self.prefixes else {
            return None;
        };
        let masks = masks(rng, batch, self.latent, self.settling.settled, ratio.get());
        Some((self.latent, masks))
    }

    fn after_step(&mut self, clock: Clock, around: &Surroundings<'_>) {
        if let PrefixSpec::Sampled { sweep: Some(sweep), .. } = self.prefixes
            && clock.epoch_ended
        {
            let model = self.valid();
            self.settling.watch(sweep, &around.map_all(&|samples| model.encode(samples)));
        }
    }

    fn memory(&self) -> Vec<f64> {
        self.settling.to_memory()
    }

    fn restore_memory(&mut self, memory: Vec<f64>) -> Result<(), ModelError> {
        self.settling = Settling::of_memory(&memory);
        Ok(())
    }

    fn vitals(&self) -> Vec<(String, f64)> {
        match self.prefixes {
            PrefixSpec::Sampled { sweep: Some(_), .. } => {
                vec![("settled".to_owned(), self.settling.settled as f64)]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::reference::{Case, assert_close, slopes};

    #[test]
    fn going_backward_prefix_by_prefix_gives_the_gradients_of_the_sum() {
        for name in ["hae", "hae-geometric", "hae-listed"] {
            let case = Case::named(name);
            let model = case.hae();
            let batch = case.batch();
            let at_once = Lesson::of(&model, model.losses(&batch));
            let one_by_one = model.learn(&batch);
            assert_close(&slopes(&one_by_one), &slopes(&at_once), 1e-5);
        }
    }
}
