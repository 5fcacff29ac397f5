//! The Adam optimizer, with moments kept by the names of the weights.
//!
//! What: Adam with bias correction; weight decay, if any, is added to the gradient (L2), as in
//! PyTorch's `Adam`, and not subtracted from the weights as in AdamW.
//! Reference: Kingma and Ba 2015, algorithm 1; epsilon outside the root as in PyTorch.
//! Assumptions: written here rather than taken from burn because a checkpoint needs the moments
//! by name, and because burn keys them by identifiers that change from process to process.
//! Checked against: hand-computed steps below and PyTorch (tests/reference/models.json, and with
//! weight decay tests/reference/classification.json).

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::device::{read, send};
use crate::kernels::{AdamState, AdamStep};
use crate::models::{Gradients, ParameterPath, WeightArray, Weights};
use crate::numerics::units::{Fraction, NonNegativeF64, PositiveF64};

/// Settings of Adam, for instance `Adam(rate: 3e-3)`; the defaults are PyTorch's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdamSpec {
    /// Learning rate.
    pub rate: PositiveF64,
    /// Decay rate of the first moment (mean gradient), below 1.
    #[serde(default = "default_beta_1", deserialize_with = "decay")]
    #[schemars(extend("exclusiveMaximum" = 1))]
    pub beta_1: Fraction,
    /// Decay rate of the second moment (mean squared gradient), below 1.
    #[serde(default = "default_beta_2", deserialize_with = "decay")]
    #[schemars(extend("exclusiveMaximum" = 1))]
    pub beta_2: Fraction,
    /// Added to the root of the mean squared gradient.
    #[serde(default = "default_epsilon")]
    pub epsilon: PositiveF64,
    /// Weight decay: the multiple of each weight that is added to its gradient.
    #[serde(default = "no_decay", skip_serializing_if = "is_no_decay")]
    #[schemars(!skip_serializing_if)]
    pub weight_decay: NonNegativeF64,
}

impl AdamSpec {
    /// Returns PyTorch's defaults with a learning rate and a weight decay.
    pub fn with_rate(rate: PositiveF64, weight_decay: NonNegativeF64) -> Self {
        Self {
            rate,
            beta_1: default_beta_1(),
            beta_2: default_beta_2(),
            epsilon: default_epsilon(),
            weight_decay,
        }
    }
}

fn no_decay() -> NonNegativeF64 {
    NonNegativeF64::new(0.0).unwrap_or_else(|_| unreachable!("0 is not below 0"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_no_decay(decay: &NonNegativeF64) -> bool {
    *decay == no_decay()
}

fn default_beta_1() -> Fraction {
    Fraction::new(0.9).unwrap_or_else(|_| unreachable!("0.9 lies between 0 and 1"))
}

fn default_beta_2() -> Fraction {
    Fraction::new(0.999).unwrap_or_else(|_| unreachable!("0.999 lies between 0 and 1"))
}

fn default_epsilon() -> PositiveF64 {
    PositiveF64::new(1e-8).unwrap_or_else(|_| unreachable!("1e-8 lies above 0"))
}

/// Reads a decay; one of 1 would ignore every gradient and divide by zero.
fn decay<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fraction, D::Error> {
    let decay = Fraction::deserialize(deserializer)?;
    if decay.get() < 1.0 {
        Ok(decay)
    } else {
        Err(D::Error::custom(format!("expected a decay below 1, found {decay}")))
    }
}

/// First and second moments of the gradients of one weight array, flattened.
#[derive(Clone, Debug)]
struct Moments {
    first: Tensor<1>,
    second: Tensor<1>,
}

/// Adam with its moments.
#[derive(Clone, Debug)]
pub(crate) struct Adam {
    rate: f64,
    beta_1: f64,
    beta_2: f64,
    epsilon: f64,
    weight_decay: f64,
    steps: usize,
    moments: BTreeMap<String, Moments>,
}

impl Adam {
    pub(crate) fn new(spec: &AdamSpec) -> Self {
        Self {
            rate: spec.rate.get(),
            beta_1: spec.beta_1.get(),
            beta_2: spec.beta_2.get(),
            epsilon: spec.epsilon.get(),
            weight_decay: spec.weight_decay.get(),
            steps: 0,
            moments: BTreeMap::new(),
        }
    }

    /// Returns the module one step further; `factor` scales the learning rate.
    pub(crate) fn step<M: Module>(&mut self, module: M, gradients: Gradients, factor: f64) -> M {
        self.steps += 1;
        let path = ParameterPath::default();
        module.map(&mut Step { adam: self, gradients, factor, path })
    }

    /// Forgets all steps and moments.
    pub(super) fn reset(&mut self) {
        self.steps = 0;
        self.moments.clear();
    }

    /// Returns the number of steps taken.
    pub(super) const fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the moments, named after their weights.
    pub(super) fn moments(&self) -> [Weights; 2] {
        let collect = |pick: fn(&Moments) -> &Tensor<1>| {
            let arrays = self.moments.iter().map(|(name, moments)| {
                let values = read(pick(moments).clone());
                (name.clone(), WeightArray { shape: vec![values.len()], values })
            });
            Weights(arrays.collect())
        };
        [collect(|moments| &moments.first), collect(|moments| &moments.second)]
    }

    /// Takes back what [`Adam::moments`] returned after this many steps.
    pub(super) fn restore(&mut self, steps: usize, [first, second]: [Weights; 2], device: &Device) {
        let tensor = |array: WeightArray| {
            let count = array.values.len();
            send(array.values, [count], device)
        };
        self.steps = steps;
        self.moments = first
            .0
            .into_iter()
            .zip(second.0.into_values())
            .map(|((name, first), second)| {
                (name, Moments { first: tensor(first), second: tensor(second) })
            })
            .collect();
    }

    /// Returns the updated values of one weight array.
    fn update(
        &mut self,
        name: String,
        values: Tensor<1>,
        gradient: Tensor<1>,
        factor: f64,
    ) -> Tensor<1> {
        let step = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let coefficients = AdamStep {
            beta_1: self.beta_1,
            beta_2: self.beta_2,
            epsilon: self.epsilon,
            weight_decay: self.weight_decay,
            rate: factor * self.rate / (1.0 - self.beta_1.powi(step)),
            correction: (1.0 - self.beta_2.powi(step)).sqrt(),
        };
        let zeros = || Moments { first: values.zeros_like(), second: values.zeros_like() };
        let Moments { first, second } = self.moments.remove(&name).unwrap_or_else(zeros);
        let state = AdamState { weights: values, first, second };
        let AdamState { weights, first, second } = state.step(gradient, coefficients);
        self.moments.insert(name, Moments { first, second });
        weights
    }
}

/// One step over all weights of a module.
struct Step<'a> {
    adam: &'a mut Adam,
    gradients: Gradients,
    factor: f64,
    path: ParameterPath,
}

impl ModuleMapper for Step<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.name();
        let Some(gradient) = self.gradients.0.remove(&name) else {
            return param;
        };
        let shape = param.dims();
        let count = shape.iter().product::<usize>();
        param.map(|values| {
            let values = values.inner().reshape([count]);
            let updated = self.adam.update(name, values, gradient, self.factor);
            Tensor::from_inner(updated.reshape(shape)).require_grad()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{open, test_device};
    use crate::models::Autoencoder;
    use crate::models::reference::{Case, assert_close};

    fn adam() -> Adam {
        Adam::new(&ron::from_str("(rate: 0.1)").unwrap())
    }

    #[test]
    fn settings_left_out_and_settings_spelled_out_are_stored_alike() {
        let stored = |text: &str| {
            let spec: AdamSpec = ron::from_str(text).unwrap();
            serde_json::to_string(&spec).unwrap()
        };
        let all = stored("(rate: 1e-3, beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8)");
        assert_eq!(stored("(rate: 1e-3)"), all);
        assert_eq!(all, r#"{"rate":0.001,"beta_1":0.9,"beta_2":0.999,"epsilon":1e-8}"#);
    }

    #[test]
    fn without_a_gradient_weight_decay_pulls_weights_toward_zero() {
        let mut decaying = Adam::new(&ron::from_str("(rate: 0.1, weight_decay: 0.5)").unwrap());
        assert!((step(&mut decaying, 2.0, 0.0) - 1.9).abs() < 1e-6);
        assert!((step(&mut adam(), 2.0, 0.0) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn a_decay_of_one_is_refused() {
        let error = ron::from_str::<AdamSpec>("(rate: 1e-3, beta_2: 1.0)").unwrap_err();
        assert_eq!(error.code.to_string(), "expected a decay below 1, found 1");
    }

    fn step(adam: &mut Adam, value: f32, gradient: f32) -> f32 {
        let device = open(test_device()).unwrap();
        adam.steps += 1;
        let tensor = |value: f32| Tensor::<1>::from_floats([value], &device);
        adam.update("w".into(), tensor(value), tensor(gradient), 1.0).into_scalar()
    }

    #[test]
    fn the_first_step_has_the_length_of_the_rate_whatever_the_gradient() {
        assert!((step(&mut adam(), 1.0, 5.0) - 0.9).abs() < 1e-6);
        assert!((step(&mut adam(), 1.0, -1e-3) - 1.1).abs() < 1e-5);
    }

    #[test]
    fn the_second_step_follows_the_bias_corrected_means() {
        let mut adam = adam();
        let after_first = step(&mut adam, 1.0, 1.0);
        let after_second = step(&mut adam, after_first, -1.0);
        // Means: (.09 - .1) / .19 and (.000999 + .001) / .001999.
        let mean = (0.09 - 0.1) / 0.19;
        assert!((after_second - (after_first - 0.1 * mean)).abs() < 1e-6, "{after_second}");
    }

    /// Steps that the reference took.
    const STEPS: usize = 3;

    fn trained<M: Autoencoder>(mut model: M, case: &Case) -> Weights {
        let mut adam = Adam::new(&ron::from_str("(rate: 0.01)").unwrap());
        for _ in 0..STEPS {
            let gradients = model.losses_and_gradients(&case.batch()).gradients;
            model = adam.step(model, gradients, 1.0);
        }
        Weights::of(&model)
    }

    #[test]
    fn weights_after_some_steps_agree_with_pytorch() {
        let case = Case::named("pcae");
        assert_close(&trained(case.pcae(), &case), &case.weights_after_steps(), 1e-4);
        let case = Case::named("hae");
        assert_close(&trained(case.hae(), &case), &case.weights_after_steps(), 1e-4);
    }

    #[test]
    fn moments_survive_being_stored() {
        let mut adam_1 = adam();
        let value = step(&mut adam_1, 1.0, 0.7);
        let mut adam_2 = adam();
        let device = open(test_device()).unwrap();
        adam_2.restore(1, adam_1.moments(), &device);
        let (left, right) = (step(&mut adam_1, value, 0.2), step(&mut adam_2, value, 0.2));
        assert_eq!(left.to_bits(), right.to_bits());
    }
}
