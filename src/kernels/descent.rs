//! One step of Adam over an array of weights, in one pass and in place.
//!
//! Checked against: the same in burn's operations (below), and PyTorch (training/adam.rs).

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, ExtensionType, Flex, backend_extension};
use burn::tensor::Tensor;
use pulp::{Simd, WithSimd};
use rayon::prelude::{IntoParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use super::dense::{FlexTensor, SHARE, dense, is_served, values, values_mut};

/// How far a step goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descent {
    /// Decay of the mean slope.
    pub(crate) beta_1: f64,
    /// Decay of the mean squared slope.
    pub(crate) beta_2: f64,
    /// Added to the root of the mean squared slope.
    pub(crate) epsilon: f64,
    /// What is added to each slope, as a multiple of its weight.
    pub(crate) weight_decay: f64,
    /// Step length, over the bias correction of the mean slope.
    pub(crate) length: f64,
    /// Bias correction of the root of the mean squared slope.
    pub(crate) correction: f64,
}

/// Weights with the running means of their slopes and of the squares of these.
#[derive(Clone, Debug)]
pub(crate) struct Descending {
    pub(crate) weights: Tensor<1>,
    pub(crate) first: Tensor<1>,
    pub(crate) second: Tensor<1>,
}

impl Descending {
    /// Takes one step.
    pub(crate) fn step(self, slopes: Tensor<1>, descent: Descent) -> Self {
        if !is_served(&slopes.device()) {
            return self.step_by_operations(slopes, descent);
        }
        let given = Arrays {
            weights: self.weights.into_dispatch(),
            first: self.first.into_dispatch(),
            second: self.second.into_dispatch(),
        };
        let Arrays { weights, first, second } =
            Dispatch::descend(given, slopes.into_dispatch(), descent);
        Self {
            weights: Tensor::from_dispatch(weights),
            first: Tensor::from_dispatch(first),
            second: Tensor::from_dispatch(second),
        }
    }

    fn step_by_operations(self, slopes: Tensor<1>, descent: Descent) -> Self {
        let Descent { beta_1, beta_2, epsilon, weight_decay, length, correction } = descent;
        let slopes = slopes + self.weights.clone().mul_scalar(weight_decay);
        let first = self.first.mul_scalar(beta_1) + slopes.clone().mul_scalar(1.0 - beta_1);
        let second = self.second.mul_scalar(beta_2) + slopes.square().mul_scalar(1.0 - beta_2);
        let spread = second.clone().sqrt().div_scalar(correction).add_scalar(epsilon);
        let weights = self.weights - first.clone().div(spread).mul_scalar(length);
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
pub(crate) trait Descend: Backend {
    fn descend(
        #[extension_type] arrays: Arrays<Self>,
        slopes: FloatTensor<Self>,
        descent: Descent,
    ) -> Arrays<Self>;
}

impl Descend for Flex {
    fn descend(arrays: Arrays<Self>, slopes: FlexTensor, descent: Descent) -> Arrays<Self> {
        let slopes = dense(slopes);
        let mut weights = dense(arrays.weights);
        let mut first = dense(arrays.first);
        let mut second = dense(arrays.second);
        let arch = pulp::Arch::new();
        (
            values_mut(&mut weights).par_chunks_mut(SHARE),
            values_mut(&mut first).par_chunks_mut(SHARE),
            values_mut(&mut second).par_chunks_mut(SHARE),
            values(&slopes).par_chunks(SHARE),
        )
            .into_par_iter()
            .for_each(|(weights, first, second, slopes)| {
                arch.dispatch(Share { descent, weights, first, second, slopes });
            });
        Arrays { weights, first, second }
    }
}

struct Share<'a> {
    descent: Descent,
    weights: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    slopes: &'a [f32],
}

impl WithSimd for Share<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Descent { beta_1, beta_2, epsilon, weight_decay, length, correction } = self.descent;
        let [keep_1, take_1] = [beta_1 as f32, (1.0 - beta_1) as f32];
        let [keep_2, take_2] = [beta_2 as f32, (1.0 - beta_2) as f32];
        let [epsilon, weight_decay] = [epsilon as f32, weight_decay as f32];
        let [length, correction] = [length as f32, correction as f32];
        let arrays = self.weights.iter_mut().zip(self.first).zip(self.second).zip(self.slopes);
        for (((weight, first), second), slope) in arrays {
            let slope = slope + weight_decay * *weight;
            *first = *first * keep_1 + slope * take_1;
            *second = *second * keep_2 + slope * slope * take_2;
            *weight -= *first / (second.sqrt() / correction + epsilon) * length;
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
            Descending { weights: array(0.0), first: array(1.0), second: array(2.0).square() };
        let descent = Descent {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            length: 0.003,
            correction: 0.4,
        };
        let fused = start.clone().step(array(3.0), descent);
        let plain = start.step_by_operations(array(3.0), descent);
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
