//! One step of Adam over an array of weights, fused into one pass, in place.
//!
//! Checked against: the same in burn's operations (below), and PyTorch (training/adam.rs).

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, ExtensionType, Flex, backend_extension};
use burn::tensor::Tensor;
use pulp::{Simd, WithSimd};
use rayon::prelude::{IntoParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use super::flex_tensor::{CHUNK, FlexTensor, contiguous, has_kernel, values, values_mut};

/// The coefficients of one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep {
    /// Decay of the mean gradient.
    pub(crate) beta_1: f64,
    /// Decay of the mean squared gradient.
    pub(crate) beta_2: f64,
    /// Added to the root of the mean squared gradient.
    pub(crate) epsilon: f64,
    /// What is added to each gradient, as a multiple of its weight.
    pub(crate) weight_decay: f64,
    /// Learning rate, divided by the bias correction of the mean gradient.
    pub(crate) rate: f64,
    /// Bias correction of the root of the mean squared gradient.
    pub(crate) correction: f64,
}

/// Weights with the first and second moments of their gradients.
#[derive(Clone, Debug)]
pub(crate) struct AdamState {
    pub(crate) weights: Tensor<1>,
    pub(crate) first: Tensor<1>,
    pub(crate) second: Tensor<1>,
}

impl AdamState {
    /// Takes one step.
    pub(crate) fn step(self, gradients: Tensor<1>, step: AdamStep) -> Self {
        if !has_kernel(&gradients.device()) {
            return self.step_by_operations(gradients, step);
        }
        let given = Arrays {
            weights: self.weights.into_dispatch(),
            first: self.first.into_dispatch(),
            second: self.second.into_dispatch(),
        };
        let Arrays { weights, first, second } =
            Dispatch::adam_update(given, gradients.into_dispatch(), step);
        Self {
            weights: Tensor::from_dispatch(weights),
            first: Tensor::from_dispatch(first),
            second: Tensor::from_dispatch(second),
        }
    }

    fn step_by_operations(self, gradients: Tensor<1>, step: AdamStep) -> Self {
        let AdamStep { beta_1, beta_2, epsilon, weight_decay, rate, correction } = step;
        let gradients = gradients + self.weights.clone().mul_scalar(weight_decay);
        let first = self.first.mul_scalar(beta_1) + gradients.clone().mul_scalar(1.0 - beta_1);
        let second = self.second.mul_scalar(beta_2) + gradients.square().mul_scalar(1.0 - beta_2);
        let deviation = second.clone().sqrt().div_scalar(correction).add_scalar(epsilon);
        let weights = self.weights - first.clone().div(deviation).mul_scalar(rate);
        Self { weights, first, second }
    }
}

#[derive(Clone, Debug, ExtensionType)]
pub(crate) struct Arrays<B: Backend> {
    pub(crate) weights: FloatTensor<B>,
    pub(crate) first: FloatTensor<B>,
    pub(crate) second: FloatTensor<B>,
}

#[backend_extension(Flex, LibTorch: cfg(feature = "tch"))]
pub(crate) trait AdamUpdate: Backend {
    fn adam_update(
        #[extension_type] arrays: Arrays<Self>,
        gradients: FloatTensor<Self>,
        step: AdamStep,
    ) -> Arrays<Self>;
}

impl AdamUpdate for Flex {
    fn adam_update(arrays: Arrays<Self>, gradients: FlexTensor, step: AdamStep) -> Arrays<Self> {
        let gradients = contiguous(gradients);
        let mut weights = contiguous(arrays.weights);
        let mut first = contiguous(arrays.first);
        let mut second = contiguous(arrays.second);
        let arch = pulp::Arch::new();
        (
            values_mut(&mut weights).par_chunks_mut(CHUNK),
            values_mut(&mut first).par_chunks_mut(CHUNK),
            values_mut(&mut second).par_chunks_mut(CHUNK),
            values(&gradients).par_chunks(CHUNK),
        )
            .into_par_iter()
            .for_each(|(weights, first, second, gradients)| {
                arch.dispatch(Chunk { step, weights, first, second, gradients });
            });
        Arrays { weights, first, second }
    }
}

struct Chunk<'a> {
    step: AdamStep,
    weights: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    gradients: &'a [f32],
}

impl WithSimd for Chunk<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let AdamStep { beta_1, beta_2, epsilon, weight_decay, rate, correction } = self.step;
        let [keep_1, take_1] = [beta_1 as f32, (1.0 - beta_1) as f32];
        let [keep_2, take_2] = [beta_2 as f32, (1.0 - beta_2) as f32];
        let [epsilon, weight_decay] = [epsilon as f32, weight_decay as f32];
        let [rate, correction] = [rate as f32, correction as f32];
        let arrays = self.weights.iter_mut().zip(self.first).zip(self.second).zip(self.gradients);
        for (((weight, first), second), gradient) in arrays {
            let gradient = gradient + weight_decay * *weight;
            *first = *first * keep_1 + gradient * take_1;
            *second = *second * keep_2 + gradient * gradient * take_2;
            *weight -= *first / (second.sqrt() / correction + epsilon) * rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::kernels::test_device;

    #[test]
    fn a_step_in_one_pass_is_a_step_by_operations() {
        let device = test_device();
        let count = 40_000;
        let array = |shift: f32| {
            let values: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7 + shift).sin()).collect();
            Tensor::<1>::from_data(TensorData::new(values, [count]), &device)
        };
        let start =
            AdamState { weights: array(0.0), first: array(1.0), second: array(2.0).square() };
        let step = AdamStep {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            rate: 0.003,
            correction: 0.4,
        };
        let fused = start.clone().step(array(3.0), step);
        let plain = start.step_by_operations(array(3.0), step);
        let pairs = [
            (fused.weights, plain.weights),
            (fused.first, plain.first),
            (fused.second, plain.second),
        ];
        for (fused, plain) in pairs {
            let apart = (fused - plain).abs().max().into_scalar::<f32>();
            assert!(apart < 1e-6, "{apart}");
        }
    }
}
