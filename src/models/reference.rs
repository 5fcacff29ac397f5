//! Every model and loss term against PyTorch: codes, outputs, losses, gradients, statistics.
//!
//! The numbers are in tests/reference/models.json; tests of `training` use them too.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;

use super::{
    Autoencoder, Batch, BuildContext, ClosedForm, Codec, Hae, ModelError, ModelSettings, ModelSpec,
    ModelVisitor, Pcae, StepOutput, WeightArray, Weights,
};
use crate::data::SampleForm;
use crate::device::{open_for_training, test_device};
use crate::numerics::{Points, Seed};

/// Relative to the largest entry of an array.
const TOLERANCE: f32 = 1e-4;

#[derive(Clone, Deserialize)]
struct Array {
    shape: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Case {
    name: String,
    model: String,
    form: SampleForm,
    batch: usize,
    inputs: Vec<f32>,
    squared_distances: Option<Vec<f32>>,
    noise: Option<Vec<f32>>,
    earlier: Option<Vec<f32>>,
    memory: Option<Vec<f64>>,
    weights: BTreeMap<String, Array>,
    codes: Vec<f32>,
    outputs: Vec<f32>,
    losses: BTreeMap<String, f64>,
    gradients: BTreeMap<String, Array>,
    #[serde(default)]
    weights_after_steps: BTreeMap<String, Array>,
    #[serde(default)]
    statistics: BTreeMap<String, Array>,
    #[serde(default)]
    codes_eval: Vec<f32>,
    #[serde(default)]
    outputs_eval: Vec<f32>,
}

/// Returns the options with which pipelines are read.
pub(crate) fn options() -> ron::Options {
    ron::Options::default()
        .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
        .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
}

impl Case {
    fn all() -> Vec<Self> {
        #[derive(Deserialize)]
        struct Reference {
            cases: Vec<Case>,
        }
        let text =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/models.json"));
        serde_json::from_str::<Reference>(text).unwrap().cases
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::all().into_iter().find(|case| case.name == name).unwrap()
    }

    fn spec(&self) -> ModelSpec {
        options().from_str(&self.model).unwrap()
    }

    fn device() -> Device {
        open_for_training(test_device()).unwrap()
    }

    pub(crate) fn batch(&self) -> Batch {
        let device = Self::device();
        let table = |values: &Vec<f32>| {
            let shape = [self.batch, values.len() / self.batch];
            Tensor::from_data(TensorData::new(values.clone(), shape), &device)
        };
        Batch {
            rows: (0..self.batch).collect(),
            inputs: table(&self.inputs),
            squared_distances: self.squared_distances.as_ref().map(table),
            noise: self.noise.as_ref().map(table),
        }
    }

    /// Calls a function with what models are built from.
    fn with_context<R>(&self, build: impl FnOnce(&BuildContext<'_>) -> R) -> R {
        let device = Self::device();
        let seed = Seed(0);
        build(&BuildContext { form: self.form, seed, distance_unit: 1.0, device: &device })
    }

    /// Gives a model PyTorch's weights.
    fn load<M: Autoencoder>(&self, model: M) -> M {
        let mut model = model.complete().unwrap();
        if let (Some(state), ModelSpec::ArdVae(_)) = (&self.memory, self.spec()) {
            model.restore_extra_state(state.clone()).unwrap();
        }
        let mut all = Weights::of(&model);
        for (name, array) in self.renamed(&self.weights).0 {
            assert!(all.0.insert(name.clone(), array).is_some(), "{}: no {name}", self.name);
        }
        all.load_into(model).unwrap()
    }

    pub(crate) fn pcae(&self) -> Pcae {
        let ModelSpec::Pcae(spec) = self.spec() else { panic!("{} is no PCAE", self.name) };
        self.load(self.with_context(|context| spec.build(context).unwrap()))
    }

    pub(crate) fn hae(&self) -> Hae {
        let ModelSpec::Hae(spec) = self.spec() else { panic!("{} is no HAE", self.name) };
        self.load(self.with_context(|context| spec.build(context).unwrap()))
    }

    /// Makes the model with PyTorch's weights, in inference.
    pub(crate) fn codec(&self) -> Box<dyn Codec> {
        self.with_context(|context| self.spec().visit(context, InInference(self)).unwrap())
    }

    pub(crate) fn weights_after_steps(&self) -> Weights {
        self.renamed(&self.weights_after_steps)
    }

    /// Returns arrays under the names that they have in the model.
    fn renamed(&self, arrays: &BTreeMap<String, Array>) -> Weights {
        let renamed = |name: &str| match &*self.name {
            "ard-vae" => format!("vae.{name}"),
            "pca-ae" => name.replace("encoders.2.norm.", "norms.2."),
            // Heads belong to the coordinates after the first, which has the trunk's own.
            "pca-ae-shared" => name
                .replace("trunk.", "encoders.0.")
                .replace("heads.2.", "heads.1.")
                .replace("heads_norm.2.", "norms.2."),
            _ => name.to_owned(),
        };
        let array = |array: &Array| WeightArray {
            shape: array.shape.clone(),
            values: array.values.clone(),
        };
        Weights(arrays.iter().map(|(name, found)| (renamed(name), array(found))).collect())
    }

    /// Checks everything about a model with PyTorch's weights.
    fn check<M: Autoencoder>(&self, model: &M) {
        let name = &self.name;
        // First, since batch normalization in training updates the running statistics.
        if !self.codes_eval.is_empty() {
            let model = model.valid();
            let codes = model.encode(self.batch().inputs.inner());
            let width = codes.dims()[1];
            // Only the newest coordinate of a PCA-AE has PyTorch's weights.
            let first = if self.earlier.is_some() { width - 1 } else { 0 };
            let expected: Vec<f32> =
                self.codes_eval.chunks(width).flat_map(|row| &row[first..]).copied().collect();
            let newest = codes.clone().narrow(1, first, width - first);
            assert_values(name, "codes in inference", &newest, &expected);
            if first == 0 {
                let outputs = model.decode(codes);
                assert_values(name, "outputs in inference", &outputs, &self.outputs_eval);
            }
        }
        let step = model.losses_and_gradients(&self.batch());
        let after = Weights::of(model);
        assert_values(name, "codes", &step.codes, &self.codes);
        let output = model.decode(Tensor::from_data(step.codes.to_data(), &Self::device()));
        assert_values(name, "outputs", &output, &self.outputs);
        let terms: BTreeMap<&str, f64> = step
            .terms
            .iter()
            .map(|(term, value)| (*term, f64::from(value.clone().into_scalar::<f32>())))
            .collect();
        assert_eq!(terms.keys().collect::<Vec<_>>(), self.losses.keys().collect::<Vec<_>>());
        for (term, expected) in &self.losses {
            let found = terms[&**term];
            let close = (found - expected).abs() <= f64::from(TOLERANCE) * expected.abs();
            assert!(close, "{name}: {term} is {found}, expected {expected}");
        }
        assert_close(&gradients(&step), &flat(self.renamed(&self.gradients)), TOLERANCE);
        for (array, expected) in self.renamed(&self.statistics).0 {
            let found = Weights([(array.clone(), after.0[&array].clone())].into());
            assert_close(&found, &Weights([(array, expected)].into()), TOLERANCE);
        }
    }
}

/// Makes the codec of a case.
struct InInference<'a>(&'a Case);

impl ModelVisitor for InInference<'_> {
    type Output = Box<dyn Codec>;
    type Error = ModelError;

    fn trainable<M: Autoencoder + 'static>(self, model: M) -> Result<Box<dyn Codec>, ModelError> {
        Ok(Box::new(self.0.load(model).valid()))
    }

    fn closed_form<M: ClosedForm + 'static>(self, _: M) -> Result<Box<dyn Codec>, ModelError> {
        panic!("PCA is compared with scikit-learn")
    }
}

/// Checks the model of a case.
struct Check<'a>(&'a Case);

impl ModelVisitor for Check<'_> {
    type Output = ();
    type Error = ModelError;

    fn trainable<M: Autoencoder + 'static>(self, model: M) -> Result<(), ModelError> {
        self.0.check(&self.0.load(model));
        Ok(())
    }

    fn closed_form<M: ClosedForm + 'static>(self, _: M) -> Result<(), ModelError> {
        panic!("PCA is compared with scikit-learn")
    }
}

fn assert_values(case: &str, what: &str, found: &Tensor<2>, expected: &[f32]) {
    let array = |values: Vec<f32>| {
        let array = WeightArray { shape: vec![values.len()], values };
        Weights([(format!("{case}: {what}"), array)].into())
    };
    let found = array(found.to_data().iter::<f32>().collect());
    assert_close(&found, &array(expected.to_vec()), TOLERANCE);
}

/// Returns the gradients of a step as flat arrays.
pub(crate) fn gradients(step: &StepOutput) -> Weights {
    let array = |gradient: &Tensor<1>| {
        let values: Vec<f32> = gradient.to_data().iter::<f32>().collect();
        WeightArray { shape: vec![values.len()], values }
    };
    let named = step.gradients.0.iter().map(|(name, gradient)| (name.clone(), array(gradient)));
    Weights(named.collect())
}

fn flat(weights: Weights) -> Weights {
    let flat = |array: WeightArray| WeightArray { shape: vec![array.values.len()], ..array };
    Weights(weights.0.into_iter().map(|(name, array)| (name, flat(array))).collect())
}

/// Asserts that every array agrees within `tolerance` times its largest entry, or a hundredth of
/// that for the largest of all: a bias before a normalization has no gradient but rounding.
pub(crate) fn assert_close(found: &Weights, expected: &Weights, tolerance: f32) {
    assert_eq!(found.0.keys().collect::<Vec<_>>(), expected.0.keys().collect::<Vec<_>>());
    let largest = |array: &WeightArray| {
        array.values.iter().fold(0.0_f32, |most, value| most.max(value.abs()))
    };
    let of_all = expected.0.values().map(largest).fold(0.0, f32::max);
    for (name, expected) in &expected.0 {
        let found = &found.0[name];
        assert_eq!(found.shape, expected.shape, "{name}");
        let largest = largest(expected).max(1e-2 * of_all);
        for (found, expected) in found.values.iter().zip(&expected.values) {
            let difference = (found - expected).abs();
            assert!(difference <= tolerance * largest, "{name}: {found} against {expected}");
        }
    }
}

#[test]
fn every_model_and_loss_term_agrees_with_pytorch() {
    for case in Case::all() {
        case.with_context(|context| {
            if let ModelSpec::PcaAe(spec) = case.spec() {
                let mut model = case.load(spec.build(context).unwrap());
                let earlier = case.earlier.clone().unwrap();
                model.take_earlier(Points::from_rows(earlier.len() / case.batch, earlier));
                case.check(&model);
            } else {
                case.spec().visit(context, Check(&case)).unwrap();
            }
        });
    }
}
