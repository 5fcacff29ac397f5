//! PCAE: an autoencoder whose codes keep geodesic distances and order their variances.
//!
//! What: reconstruction + beta (variance + isometry), where variance is the sum of gamma_i times
//! the variance of coordinate i, and isometry the mean of | |z - z'|^2 - d^2 | over pairs.
//! Reference: the paper, eq. for L_PCAE and section "The choice of l and gamma".
//! Assumptions: biased variance and the mean over all n^2 pairs (theorem 2 needs a matching pair
//! of estimators). beta refers to distances in their original unit: if the table was divided by
//! its mean m, codes live in the scaled unit and beta is multiplied by m^2, so scaling changes
//! how well training converges but not what is minimized.
//! Checked against: tests/reference/pcae_loss.json (PyTorch 2.9), relative tolerance 1e-5.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::blocks::{Decoder, Encoder, NetworkSpec};
use super::gamma::{GammaSpec, initial_weights, updated_weights};
use super::{Autoencoder, Batch, Clock, Codec, Losses, ModelError, Start, losses};
use crate::numerics::Points;
use crate::numerics::units::NonNegativeF64;

/// Settings of a PCAE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The network between images and codes.
    pub network: NetworkSpec,
    /// Weight of the variance and isometry terms, for distances in their original unit.
    pub beta: NonNegativeF64,
    /// Which terms are minimized beside the reconstruction.
    #[serde(default)]
    pub objective: Objective,
    /// Weights of the coordinates in the variance term.
    pub gamma: GammaSpec,
}

/// Which terms are minimized beside the reconstruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Objective {
    /// Variance and isometry.
    #[default]
    Full,
    /// Isometry alone, an ablation: coordinates lose their order.
    IsometryOnly,
    /// Variance alone, an ablation: codes shrink.
    VarianceOnly,
}

/// A PCAE in training.
#[derive(Module, Debug)]
pub struct Pcae {
    encoder: Encoder,
    decoder: Decoder,
    #[module(skip)]
    beta: f64,
    #[module(skip)]
    objective: Objective,
    #[module(skip)]
    gamma_spec: GammaSpec,
    #[module(skip)]
    gamma: Vec<f64>,
}

impl Pcae {
    /// Makes an untrained PCAE.
    pub fn new(spec: &PcaeSpec, start: &Start<'_>) -> Result<Self, ModelError> {
        let latent = spec.latent.get();
        Ok(Self {
            encoder: Encoder::new(&spec.network, latent, start)?,
            decoder: Decoder::new(&spec.network, latent, start)?,
            beta: spec.beta.get() * start.distance_unit.powi(2),
            objective: spec.objective,
            gamma_spec: spec.gamma.clone(),
            gamma: initial_weights(latent),
        })
    }

    /// Returns the weighted sum of the coordinates' variances, given codes with a mean of zero.
    fn variance(&self, centered: Tensor<2>) -> Tensor<1> {
        let gamma: Vec<f32> = self.gamma.iter().map(|&weight| weight as f32).collect();
        let gamma = Tensor::<1>::from_floats(gamma.as_slice(), &centered.device());
        let variances = centered.square().mean_dim(0); // [1, latent]
        (variances * gamma.unsqueeze()).sum()
    }
}

/// Returns the mean over all pairs of how much their squared distances differ.
fn isometry(codes: Tensor<2>, squared_distances: Tensor<2>) -> Tensor<1> {
    let squares = codes.clone().square().sum_dim(1); // [batch, 1]
    let products = codes.clone().matmul(codes.transpose()); // [batch, batch]
    let between = squares.clone() + squares.transpose() - products.mul_scalar(2.0);
    (between - squared_distances).abs().mean_dim(1).mean()
}

impl Codec for Pcae {
    fn encode(&self, images: Tensor<4>) -> Tensor<2> {
        self.encoder.forward(images)
    }

    fn decode(&self, codes: Tensor<2>) -> Tensor<4> {
        self.decoder.forward(codes)
    }
}

impl Autoencoder for Pcae {
    fn losses(&self, batch: &Batch) -> Losses {
        let codes = self.encode(batch.images.clone());
        let logits = self.decode(codes.clone());
        let reconstruction = losses::reconstruction(logits, batch.images.clone());
        // Distances do not depend on the mean, and are more precise without it.
        let centered = codes.clone() - codes.mean_dim(0);
        let variance = self.variance(centered.clone());
        let mut terms =
            vec![("reconstruction", reconstruction.clone()), ("variance", variance.clone())];
        let mut total = reconstruction;
        if self.objective != Objective::IsometryOnly {
            total = total + variance.mul_scalar(self.beta);
        }
        if let Some(squared_distances) = &batch.squared_distances {
            let isometry = isometry(centered, squared_distances.clone());
            terms.push(("isometry", isometry.clone()));
            if self.objective != Objective::VarianceOnly {
                total = total + isometry.mul_scalar(self.beta);
            }
        }
        Losses { total, terms }
    }

    fn after_step(&mut self, clock: Clock, codes: &dyn Fn(&Self) -> Points) {
        let GammaSpec::Dynamic { threshold, every } = self.gamma_spec else {
            return;
        };
        if !every.is_due(clock) {
            return;
        }
        if let Some(weights) = updated_weights(&codes(self).variances(), threshold) {
            self.gamma = weights;
        }
    }

    fn memory(&self) -> Vec<f64> {
        self.gamma.clone()
    }

    fn restore_memory(&mut self, memory: Vec<f64>) {
        self.gamma = memory;
    }
}

#[cfg(test)]
mod tests {
    use burn::module::{ModuleVisitor, Param};
    use burn::tensor::{Device, Gradients};

    use super::*;
    use crate::device::{DeviceName, open_for_training};
    use crate::models::reference::{Reference, assert_close, weights};
    use crate::models::{WeightArray, Weights};

    fn device() -> Device {
        open_for_training(DeviceName::Cpu).unwrap()
    }

    fn values(losses: Losses) -> std::collections::BTreeMap<String, f64> {
        let read = |tensor: Tensor<1>| f64::from(tensor.into_scalar::<f32>());
        let terms = losses.terms.into_iter().map(|(name, term)| (name.to_owned(), read(term)));
        terms.chain([("total".to_owned(), read(losses.total))]).collect()
    }

    /// Reads the gradient of every weight.
    struct Reader {
        path: Vec<String>,
        gradients: Gradients,
        found: Weights,
    }

    impl ModuleVisitor for Reader {
        fn enter_module(&mut self, name: &str, _container: &str) {
            self.path.push(name.into());
        }

        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = param.val().grad(&self.gradients).expect("every weight has a gradient");
            let data = gradient.into_data();
            let array =
                WeightArray { shape: data.shape().to_vec(), values: data.iter::<f32>().collect() };
            self.found.0.insert(self.path.join("."), array);
        }
    }

    #[test]
    fn codes_and_losses_agree_with_pytorch() {
        let reference = Reference::load();
        let device = device();
        let model = reference.model(Objective::Full, 1.0, &device);
        let batch = reference.batch(&device);
        let codes = model.encode(batch.images.clone()).into_data();
        for (found, expected) in codes.iter::<f64>().zip(&reference.codes) {
            assert!((found - expected).abs() < 1e-5 * expected.abs().max(1.0));
        }
        let found = values(model.losses(&batch));
        for (name, expected) in &reference.losses {
            assert!((found[name] - expected).abs() < 1e-5 * expected.abs(), "{name}");
        }
    }

    #[test]
    fn gradients_of_all_weights_agree_with_pytorch() {
        let reference = Reference::load();
        let device = device();
        let model = reference.model(Objective::Full, 1.0, &device);
        let gradients = model.losses(&reference.batch(&device)).total.backward();
        let mut reader = Reader { path: Vec::new(), gradients, found: Weights::default() };
        model.visit(&mut reader);
        assert_close(&reader.found, &weights(&reference.gradients), 1e-4);
    }

    #[test]
    fn the_ablations_leave_out_one_term_each() {
        let reference = Reference::load();
        let device = device();
        let total = |objective| {
            let model = reference.model(objective, 1.0, &device);
            values(model.losses(&reference.batch(&device)))["total"]
        };
        let expected = &reference.losses;
        let beta = (expected["total"] - expected["reconstruction"])
            / (expected["variance"] + expected["isometry"]);
        let isometry_only = expected["reconstruction"] + beta * expected["isometry"];
        let variance_only = expected["reconstruction"] + beta * expected["variance"];
        assert!((total(Objective::IsometryOnly) - isometry_only).abs() < 1e-3);
        assert!((total(Objective::VarianceOnly) - variance_only).abs() < 1e-3);
    }

    #[test]
    fn beta_refers_to_distances_in_their_original_unit() {
        let reference = Reference::load();
        let device = device();
        let total = |unit| {
            let model = reference.model(Objective::Full, unit, &device);
            values(model.losses(&reference.batch(&device)))["total"]
        };
        // `model` divides beta by the squared unit, which the unit then takes back.
        assert!((total(7.0) - total(1.0)).abs() < 1e-4);
    }

    #[test]
    fn a_misspelled_setting_is_refused_at_its_place() {
        let text = "(latent: 4, network: Conv(channels: [2]), beta: 16, gamma: Fixed, betta: 1)";
        let error = ron::from_str::<PcaeSpec>(text).unwrap_err();
        assert!(error.to_string().contains("betta"), "{error}");
        let text = "(latent: 4, network: Conv(channels: [2]), beta: 16, \
                    gamma: Dynamic(threshold: 0.9, every: Steps(4), t: 1))";
        assert!(ron::from_str::<PcaeSpec>(text).is_err());
    }

    #[test]
    fn gamma_follows_the_variances_when_an_update_is_due() {
        let reference = Reference::load();
        let device = device();
        let mut model = reference.model(Objective::Full, 1.0, &device);
        let codes = |_: &Pcae| Points::new(2, 3, vec![1.0, 0.0, 0.0, -1.0, 0.0, 0.0]).unwrap();
        let clock = Clock { step: 10, epoch: 1, epoch_ended: false };
        model.after_step(clock, &codes);
        assert_eq!(model.memory(), initial_weights(3), "fixed weights stay");
        let threshold = crate::numerics::units::Fraction::new(0.9).unwrap();
        let every = super::super::Interval::Steps(NonZeroUsize::new(5).unwrap());
        model.gamma_spec = GammaSpec::Dynamic { threshold, every };
        model.after_step(Clock { step: 9, ..clock }, &codes);
        assert_eq!(model.memory(), initial_weights(3), "not due yet");
        model.after_step(clock, &codes);
        assert_eq!(model.memory(), [1.0, 1.25, 1.5]);
    }
}
