//! The PyTorch run in tests/reference/pcae_loss.json, for tests here and in `training`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;

use super::blocks::NetworkSpec;
use super::{Batch, GammaSpec, Objective, Pcae, PcaeSpec, Start, WeightArray, Weights};
use crate::data::ImageShape;
use crate::numerics::Seed;
use crate::numerics::units::NonNegativeF64;

#[derive(Deserialize)]
pub(crate) struct Array {
    shape: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Deserialize)]
pub(crate) struct Reference {
    batch: usize,
    channels: usize,
    side: usize,
    latent: usize,
    widths: Vec<usize>,
    beta: f64,
    pub(crate) rate: f64,
    pub(crate) steps: usize,
    weights: BTreeMap<String, Array>,
    images: Vec<f32>,
    distances: Vec<f32>,
    pub(crate) codes: Vec<f64>,
    pub(crate) losses: BTreeMap<String, f64>,
    pub(crate) gradients: BTreeMap<String, Array>,
    pub(crate) weights_after_steps: BTreeMap<String, Array>,
}

impl Reference {
    pub(crate) fn load() -> Self {
        let text =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/pcae_loss.json"));
        serde_json::from_str(text).unwrap()
    }

    /// Returns the model with PyTorch's weights.
    pub(crate) fn model(&self, objective: Objective, unit: f64, device: &Device) -> Pcae {
        let count = |count: &usize| NonZeroUsize::new(*count).unwrap();
        let spec = PcaeSpec {
            latent: count(&self.latent),
            network: NetworkSpec::Conv { channels: self.widths.iter().map(count).collect() },
            beta: NonNegativeF64::new(self.beta / unit.powi(2)).unwrap(),
            objective,
            gamma: GammaSpec::Fixed,
        };
        let shape = ImageShape { channels: self.channels, height: self.side, width: self.side };
        let start = Start { shape, seed: Seed(0), distance_unit: unit, device };
        let weights = weights(&self.weights);
        weights.load_into(Pcae::new(&spec, &start).unwrap()).unwrap()
    }

    pub(crate) fn batch(&self, device: &Device) -> Batch {
        let images =
            TensorData::new(self.images.clone(), [self.batch, self.channels, self.side, self.side]);
        let distances = TensorData::new(self.distances.clone(), [self.batch, self.batch]);
        Batch {
            images: Tensor::from_data(images, device),
            squared_distances: Some(Tensor::<2>::from_data(distances, device).square()),
        }
    }
}

pub(crate) fn weights(arrays: &BTreeMap<String, Array>) -> Weights {
    let array =
        |array: &Array| WeightArray { shape: array.shape.clone(), values: array.values.clone() };
    Weights(arrays.iter().map(|(name, found)| (name.clone(), array(found))).collect())
}

/// Asserts that every array agrees within `tolerance` times its largest entry.
pub(crate) fn assert_close(found: &Weights, expected: &Weights, tolerance: f32) {
    assert_eq!(found.0.keys().collect::<Vec<_>>(), expected.0.keys().collect::<Vec<_>>());
    for (name, expected) in &expected.0 {
        let found = &found.0[name];
        assert_eq!(found.shape, expected.shape, "{name}");
        let largest = expected.values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        for (found, expected) in found.values.iter().zip(&expected.values) {
            let difference = (found - expected).abs();
            assert!(difference <= tolerance * largest, "{name}: {found} against {expected}");
        }
    }
}
