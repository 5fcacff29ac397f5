//! HAE: a hierarchical autoencoder, whose code must do well when it is cut off anywhere.
//!
//! What: the code is encoded once; each prefix (the other coordinates set to zero) is decoded, and
//! the weighted reconstruction losses add up. Or nested dropout: one prefix a sample.
//! Reference: see `prefixes`; the paper's runtime grows by one decoding for each coordinate, so it
//! decodes all prefixes in every step, with equal weights ("no hyperparameters").
//! Assumptions: decoding goes backward one prefix at a time and the gradients are added up, so
//! memory does not grow with the number of coordinates. A batch normalization normalizes each prefix
//! by its own batch, but its running statistics are those of whole codes, which inference decodes.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ae::Ae;
use super::network::NetworkSpec;
use super::prefixes::{PrefixSpec, SweepState, masks};
use super::pytorch::Networks;
use super::step_output::{Gradients, StepOutput};
use super::{
    Autoencoder, Batch, BuildContext, Codec, CommonSettings, Decode, EpochContext, Losses,
    ModelError, ModelSettings, Reconstruction, StepPosition,
};
use crate::data::SampleForm;
use crate::device::send;

/// Settings of an HAE, for instance `Hae(latent: 16, network: Conv(channels: [16, 32]))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The encoder and decoder network.
    pub network: NetworkSpec,
    /// Which prefixes are decoded, and with which weights.
    #[serde(default)]
    pub prefixes: PrefixSpec,
    /// Reconstruction loss; if left out, the one that goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

impl ModelSettings for HaeSpec {
    type Model = Hae;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] = &[
        "Hae(latent: 3, network: Conv(channels: [4, 6], batch_norm: true))",
        "Hae(latent: 3, network: Conv(channels: [4, 6]), \
             prefixes: Sampled(ratio: 0.9, sweep: (tolerance: 0.5, epochs: 1)))",
    ];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings::new(self.latent, &self.network, self.reconstruction)
    }

    fn forward_flops(&self, form: SampleForm, _batch: usize) -> Result<f64, ModelError> {
        let once = self.common().flops(form)?;
        Ok(match self.prefixes {
            PrefixSpec::All { .. } => once.encode + self.latent.get() as f64 * once.decode,
            PrefixSpec::Sampled { .. } => once.total(),
        })
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Hae, ModelError> {
        let latent = self.latent.get();
        let weights = match &self.prefixes {
            PrefixSpec::All { weights } => {
                weights.values(latent).ok_or(ModelError::PrefixWeights { latent })?
            }
            PrefixSpec::Sampled { .. } => Vec::new(),
        };
        Ok(Hae {
            ae: Ae::with_widths([latent; 2], &self.network, self.reconstruction, context)?,
            prefixes: self.prefixes.clone(),
            weights,
            latent,
            sweep_state: SweepState::default(),
        })
    }
}

/// An HAE in training.
#[derive(Module, Debug)]
pub struct Hae {
    ae: Ae,
    #[module(skip)]
    prefixes: PrefixSpec,
    /// Weight of each prefix; none if they are drawn.
    #[module(skip)]
    weights: Vec<f64>,
    #[module(skip)]
    latent: usize,
    #[module(skip)]
    sweep_state: SweepState,
}

impl Hae {
    /// Returns for each prefix, from the shortest to the whole code, 1 for the coordinates in it and 0
    /// for the others.
    fn prefix_masks(&self, device: &Device) -> Vec<Tensor<2>> {
        let count = self.latent;
        let is_in = |at: usize| f32::from(u8::from(at % count <= at / count));
        let table = send((0..count * count).map(is_in).collect(), [count, count], device);
        (0..count).map(|prefix| table.clone().narrow(0, prefix, 1)).collect()
    }

    /// Returns the codes, with nothing to be learned through the settled coordinates.
    fn hold_settled(&self, codes: Tensor<2>) -> Tensor<2> {
        match self.sweep_state.settled {
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
        self.ae.encode(inputs)
    }

    fn decoder(&self) -> &dyn Decode {
        self.ae.decoder()
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        self.ae.pytorch(form)
    }
}

impl Autoencoder for Hae {
    fn reconstruction(&self) -> Reconstruction {
        self.ae.reconstruction()
    }

    fn losses(&self, batch: &Batch) -> Losses {
        let codes = self.encode(batch.inputs.clone());
        if let Some(mask) = &batch.noise {
            let before = self.ae.decoder.statistics();
            let kept = self.hold_settled(codes.clone()) * mask.clone();
            let loss = self.ae.loss_of(kept, &batch.inputs);
            if !before.is_empty() {
                self.ae.decoder.set_statistics(before);
                self.ae.decode(codes.clone().detach());
            }
            return Losses::of_reconstruction(loss, codes);
        }
        let whole = self.ae.loss_of(codes.clone(), &batch.inputs);
        let of_whole = self.ae.decoder.statistics();
        let mut total = Tensor::zeros([1], &codes.device());
        let masks = self.prefix_masks(&codes.device());
        for ((index, &weight), mask) in self.weights.iter().enumerate().zip(masks) {
            let loss = if index + 1 == self.latent {
                whole.clone()
            } else {
                self.ae.loss_of(codes.clone() * mask, &batch.inputs)
            };
            total = total + loss.mul_scalar(weight);
        }
        self.ae.decoder.set_statistics(of_whole);
        let terms = vec![("reconstruction", whole), ("prefixes", total.clone())];
        Losses { total, terms, codes }
    }

    fn losses_and_gradients(&self, batch: &Batch) -> StepOutput {
        if self.weights.is_empty() {
            return StepOutput::of(self, self.losses(batch));
        }
        let codes = self.encode(batch.inputs.clone());
        // The decoder goes backward to here once for each prefix, the encoder from here once.
        let middle = codes.clone().detach().require_grad();
        let mut gradients = Gradients::default();
        let mut total = Tensor::zeros([1], &codes.clone().inner().device());
        let mut whole = total.clone();
        let mut code_gradient = codes.clone().inner().zeros_like();
        let before = self.ae.decoder.statistics();
        let masks = self.prefix_masks(&codes.device());
        for ((index, &weight), mask) in self.weights.iter().enumerate().zip(masks) {
            if index + 1 == self.latent {
                self.ae.decoder.set_statistics(before.clone());
            }
            let loss = self.ae.loss_of(middle.clone() * mask, &batch.inputs);
            let mut of_prefix = loss.clone().mul_scalar(weight).backward();
            if let Some(gradient) = middle.grad_remove(&mut of_prefix) {
                code_gradient = code_gradient + gradient;
            }
            gradients.add(Gradients::of(&self.ae.decoder, of_prefix).below("decoder"));
            whole = loss.inner();
            total = total + whole.clone().mul_scalar(weight);
        }
        // The gradient of this product by the codes is the one that was summed up.
        let product = (codes.clone() * Tensor::from_inner(code_gradient)).sum();
        gradients.add(Gradients::of(&self.ae.encoder, product.backward()).below("encoder"));
        let terms = vec![("total", total.clone()), ("reconstruction", whole), ("prefixes", total)];
        StepOutput { terms, codes: codes.inner(), gradients }
    }

    fn noise(&self, rng: &mut ChaCha8Rng, batch: usize) -> Option<(usize, Vec<f32>)> {
        let PrefixSpec::Sampled { ratio, .. } = &self.prefixes else {
            return None;
        };
        let masks = masks(rng, batch, self.latent, self.sweep_state.settled, ratio.get());
        Some((self.latent, masks))
    }

    fn after_step(&mut self, position: StepPosition, context: &EpochContext<'_>) {
        if let PrefixSpec::Sampled { sweep: Some(sweep), .. } = self.prefixes
            && position.epoch_ended
        {
            let model = self.valid();
            self.sweep_state.watch(sweep, &context.map_all(&|samples| model.encode(samples)));
        }
    }

    fn extra_state(&self) -> Vec<f64> {
        self.sweep_state.to_extra_state()
    }

    fn restore_extra_state(&mut self, state: Vec<f64>) -> Result<(), ModelError> {
        self.sweep_state = SweepState::of_extra_state(&state);
        Ok(())
    }

    fn metrics(&self) -> Vec<(String, f64)> {
        match self.prefixes {
            PrefixSpec::Sampled { sweep: Some(_), .. } => {
                vec![("settled".to_owned(), self.sweep_state.settled as f64)]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::data::ImageShape;
    use crate::device::{open_for_training, test_device};
    use crate::models::reference::{Case, assert_close, gradients, options};
    use crate::numerics::Seed;

    #[test]
    fn going_backward_prefix_by_prefix_gives_the_gradients_of_the_sum() {
        for name in ["hae", "hae-geometric", "hae-listed"] {
            let case = Case::named(name);
            let model = case.hae();
            let batch = case.batch();
            let at_once = StepOutput::of(&model, model.losses(&batch));
            let one_by_one = model.losses_and_gradients(&batch);
            assert_close(&gradients(&one_by_one), &gradients(&at_once), 1e-5);
        }
    }

    #[test]
    fn running_statistics_are_those_of_whole_codes() {
        let text = |prefixes: &str| {
            format!("(latent: 4, network: Conv(channels: [4, 6], batch_norm: true){prefixes})")
        };
        let device = open_for_training(test_device()).unwrap();
        let form = SampleForm::Image(ImageShape { channels: 1, height: 8, width: 8 });
        let context = BuildContext { form, seed: Seed(3), distance_unit: 1.0, device: &device };
        let values: Vec<f32> = (0..4 * 64_u16).map(|at| f32::from(at % 7) / 7.0).collect();
        let inputs = Tensor::from_data(TensorData::new(values, [4, 64]), &device);
        let batch = |noise| Batch {
            rows: (0..4).collect(),
            inputs: inputs.clone(),
            squared_distances: None,
            noise,
        };
        let built = |prefixes: &str| {
            let spec: HaeSpec = options().from_str(&text(prefixes)).unwrap();
            spec.build(&context).unwrap()
        };
        let statistics = |model: &Hae| -> Vec<f32> {
            let all = model.ae.decoder.statistics().into_iter().flatten();
            all.flat_map(|one| one.into_data().iter::<f32>().collect::<Vec<_>>()).collect()
        };
        let plain = built("");
        plain.decode(plain.encode(inputs.clone()));
        let expected = statistics(&plain);
        assert!(!expected.is_empty());

        let (one_by_one, at_once) = (built(""), built(""));
        one_by_one.losses_and_gradients(&batch(None));
        assert_eq!(statistics(&one_by_one), expected);
        at_once.losses(&batch(None));
        assert_eq!(statistics(&at_once), expected);
        let sampled = built(", prefixes: Sampled(ratio: 0.5)");
        let masks = [[1.0, 0.0, 0.0, 0.0]; 4].concat();
        sampled.losses(&batch(Some(Tensor::from_data(TensorData::new(masks, [4, 4]), &device))));
        assert_eq!(statistics(&sampled), expected);
    }
}
