//! Batch normalization, optionally followed by a ReLU, with a backward pass of its own.
//!
//! What: each channel of `[channels * pixels, batch]` is brought to mean 0 and variance 1, scaled
//! and shifted. The moments are those of the batch (in training) or given (in inference).
//! Reference: Ioffe and Szegedy 2015.
//! Checked against: the same in burn's operations (below), and PyTorch (tests/reference/models.json).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use pulp::{Simd, WithSimd};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, ParallelIterator, ParallelSlice,
    ParallelSliceMut,
};

use super::autodiff::{record, relu_gradient};
use super::flex_tensor::{FlexTensor, contiguous, tensor, values};

/// Values that are summed up in single precision.
const BLOCK: usize = 1024;
/// Independent partial sums, for SIMD.
const LANES: usize = 16;

/// How channels are normalized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchNormOptions {
    /// Added to variances.
    pub(crate) epsilon: f64,
    /// Whether the moments are those of the batch, so that gradients flow through them too.
    pub(crate) batch_moments: bool,
    /// Whether a ReLU follows.
    pub(crate) relu: bool,
}

/// Returns the mean and the variance of each channel: `[2, channels]`.
pub(crate) fn moments(input: Tensor<2>, channels: usize) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::channel_moments(input.into_dispatch(), channels))
}

/// Normalizes channels by moments `[2, channels]`, then scales and shifts them.
pub(crate) fn batch_norm(
    options: BatchNormOptions,
    input: Tensor<2>,
    moments: Tensor<2>,
    weight: Tensor<1>,
    bias: Tensor<1>,
) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::normalize_channels(
        input.into_dispatch(),
        moments.into_dispatch(),
        weight.into_dispatch(),
        bias.into_dispatch(),
        options,
    ))
}

#[backend_extension(Flex, LibTorch: cfg(feature = "tch"))]
pub(crate) trait Moments: Backend {
    fn channel_moments(input: FloatTensor<Self>, channels: usize) -> FloatTensor<Self>;
}

impl Moments for Flex {
    fn channel_moments(input: FlexTensor, channels: usize) -> FlexTensor {
        let input = contiguous(input);
        let arch = pulp::Arch::new();
        let length = values(&input).len() / channels;
        let found: (Vec<f32>, Vec<f32>) = values(&input)
            .par_chunks_exact(length)
            .map(|channel| {
                let mean = arch.dispatch(Sum { values: channel, mean: 0.0, squared: false });
                let mean = mean / length as f64;
                let squares = Sum { values: channel, mean: mean as f32, squared: true };
                (mean as f32, (arch.dispatch(squares) / length as f64) as f32)
            })
            .unzip();
        tensor([found.0, found.1].concat(), [2, channels])
    }
}

#[backend_extension(Flex, LibTorch: cfg(feature = "tch"), Autodiff)]
pub(crate) trait Normalize: Backend {
    fn normalize_channels(
        input: FloatTensor<Self>,
        moments: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        options: BatchNormOptions,
    ) -> FloatTensor<Self>;
}

impl Normalize for Flex {
    fn normalize_channels(
        input: FlexTensor,
        moments: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        options: BatchNormOptions,
    ) -> FlexTensor {
        let (input, moments) = (contiguous(input), contiguous(moments));
        let (weight, bias) = (contiguous(weight), contiguous(bias));
        let channels = Channel::all(values(&moments), values(&weight), options.epsilon);
        let shape = input.layout().shape();
        let shape = [shape[0], shape[1]];
        let input = values(&input);
        let length = input.len() / channels.len();
        let mut output = vec![0.0; input.len()];
        let arch = pulp::Arch::new();
        (
            output.par_chunks_exact_mut(length),
            input.par_chunks_exact(length),
            channels,
            values(&bias).to_vec(),
        )
            .into_par_iter()
            .for_each(|(output, input, channel, shift)| {
                let relu = options.relu;
                arch.dispatch(ForwardPass { channel, shift, relu, input, output });
            });
        tensor(output, shape)
    }
}

impl<C: CheckpointStrategy> Normalize for Autodiff<Flex, C> {
    fn normalize_channels(
        input: FloatTensor<Self>,
        moments: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        options: BatchNormOptions,
    ) -> FloatTensor<Self> {
        let (input, input_node) = input.into_parts();
        let (weight, weight_node) = weight.into_parts();
        let (bias, bias_node) = bias.into_parts();
        let (input, weight) = (contiguous(input), contiguous(weight));
        let moments = contiguous(moments.into_primitive());
        let given = (input.clone(), moments.clone(), weight.clone(), bias);
        let output = Flex::normalize_channels(given.0, given.1, given.2, given.3, options);
        let nodes = [input_node, weight_node, bias_node];
        record::<C, _, 3>(BatchNormBackward, nodes, output, |output| {
            let relu_output = options.relu.then(|| output.clone());
            Saved { options, input, moments, weight, relu_output }
        })
    }
}

/// What the backward pass needs of the forward pass.
#[derive(Clone, Debug)]
struct Saved {
    options: BatchNormOptions,
    input: FlexTensor,
    moments: FlexTensor,
    weight: FlexTensor,
    /// The output, if a ReLU followed.
    relu_output: Option<FlexTensor>,
}

#[derive(Debug)]
struct BatchNormBackward;

impl Backward<Flex, 3> for BatchNormBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [input_node, weight_node, bias_node] = ops.parents;
        let Saved { options, input, moments, weight, relu_output } = ops.state;
        let gradients = contiguous(grads.consume::<Flex>(&ops.node));
        let shape = input.layout().shape();
        let shape = [shape[0], shape[1]];
        let channels = Channel::all(values(&moments), values(&weight), options.epsilon);
        let count = channels.len();
        let length = values(&input).len() / count;
        let mut found = vec![0.0; values(&input).len()];
        let arch = pulp::Arch::new();
        let sums: Vec<[f32; 2]> = (
            found.par_chunks_exact_mut(length),
            values(&input).par_chunks_exact(length),
            values(&gradients).par_chunks_exact(length),
            channels,
        )
            .into_par_iter()
            .enumerate()
            .map(|(index, (found, input, gradients, channel))| {
                let relu_output = relu_output
                    .as_ref()
                    .map(|relu_output| &values(relu_output)[index * length..][..length]);
                let batch_moments = options.batch_moments;
                arch.dispatch(BackwardPass {
                    channel,
                    batch_moments,
                    input,
                    gradients,
                    relu_output,
                    found,
                })
            })
            .collect();
        let all = |pick: usize| tensor(sums.iter().map(|sums| sums[pick]).collect(), [count]);
        if let Some(node) = input_node {
            grads.register::<Flex>(node.id, tensor(found, shape));
        }
        if let Some(node) = weight_node {
            grads.register::<Flex>(node.id, all(0));
        }
        if let Some(node) = bias_node {
            grads.register::<Flex>(node.id, all(1));
        }
    }
}

/// How one channel is normalized.
#[derive(Clone, Copy)]
struct Channel {
    mean: f32,
    /// One over the standard deviation.
    inverse_deviation: f32,
    weight: f32,
}

impl Channel {
    fn all(moments: &[f32], weights: &[f32], epsilon: f64) -> Vec<Self> {
        let (means, variances) = moments.split_at(weights.len());
        let each = means.iter().zip(variances).zip(weights);
        each.map(|((&mean, &variance), &weight)| {
            let inverse_deviation = 1.0 / (f64::from(variance) + epsilon).sqrt();
            Self { mean, inverse_deviation: inverse_deviation as f32, weight }
        })
        .collect()
    }
}

/// Sums up values, or squared deviations from a mean.
struct Sum<'a> {
    values: &'a [f32],
    mean: f32,
    squared: bool,
}

impl WithSimd for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut total = 0.0;
        for block in self.values.chunks(BLOCK) {
            let mut sums = [0.0_f32; LANES];
            for values in block.chunks(LANES) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    let apart = value - self.mean;
                    *sum += if self.squared { apart * apart } else { apart };
                }
            }
            total += sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
        }
        total
    }
}

struct ForwardPass<'a> {
    channel: Channel,
    shift: f32,
    relu: bool,
    input: &'a [f32],
    output: &'a mut [f32],
}

impl WithSimd for ForwardPass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Channel { mean, inverse_deviation, weight } = self.channel;
        let scale = inverse_deviation * weight;
        for (output, input) in self.output.iter_mut().zip(self.input) {
            let value = (input - mean) * scale + self.shift;
            // NaN stays NaN.
            *output = if self.relu && value <= 0.0 { 0.0 } else { value };
        }
    }
}

struct BackwardPass<'a> {
    channel: Channel,
    batch_moments: bool,
    input: &'a [f32],
    gradients: &'a [f32],
    relu_output: Option<&'a [f32]>,
    found: &'a mut [f32],
}

impl WithSimd for BackwardPass<'_> {
    /// The gradients of the channel's weight and bias.
    type Output = [f32; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f32; 2] {
        let Channel { mean, inverse_deviation, weight } = self.channel;
        match self.relu_output {
            Some(outputs) => {
                let gradients = self.gradients.iter().zip(outputs);
                for (found, (gradient, output)) in self.found.iter_mut().zip(gradients) {
                    *found = relu_gradient(*gradient, *output);
                }
            }
            None => self.found.copy_from_slice(self.gradients),
        }
        let (mut products, mut sum) = (0.0, 0.0);
        for (gradients, inputs) in self.found.chunks(BLOCK).zip(self.input.chunks(BLOCK)) {
            let mut lane_products = [0.0_f32; LANES];
            let mut lane_sums = [0.0_f32; LANES];
            for (gradients, inputs) in gradients.chunks(LANES).zip(inputs.chunks(LANES)) {
                let pairs = gradients.iter().zip(inputs);
                let lanes = lane_products.iter_mut().zip(&mut lane_sums).zip(pairs);
                for ((product, sum), (gradient, input)) in lanes {
                    *product += gradient * (input - mean);
                    *sum += gradient;
                }
            }
            products += lane_products.iter().map(|&sum| f64::from(sum)).sum::<f64>();
            sum += lane_sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
        }
        let (scale, count) = (inverse_deviation * weight, self.input.len() as f64);
        let (mean_gradient, mean_product) = if self.batch_moments {
            let inverse_variance = f64::from(inverse_deviation).powi(2);
            ((sum / count) as f32, (products / count * inverse_variance) as f32)
        } else {
            (0.0, 0.0)
        };
        for (found, input) in self.found.iter_mut().zip(self.input) {
            *found = scale * (*found - mean_gradient - (input - mean) * mean_product);
        }
        [(products * f64::from(inverse_deviation)) as f32, sum as f32]
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorData, activation};

    use super::*;
    use crate::kernels::test_device;

    const CHANNELS: usize = 3;
    const PIXELS: usize = 50;
    const BATCH: usize = 33;
    const EPSILON: f64 = 1e-5;

    fn by_operations(
        options: BatchNormOptions,
        input: Tensor<2>,
        moments: Tensor<2>,
        weight: Tensor<1>,
        bias: Tensor<1>,
    ) -> Tensor<2> {
        let input = input.reshape([CHANNELS, PIXELS * BATCH]);
        let (mean, variance) = if options.batch_moments {
            let mean = input.clone().mean_dim(1);
            let variance = (input.clone() - mean.clone()).square().mean_dim(1);
            (mean, variance)
        } else {
            let moments = moments.transpose();
            (moments.clone().narrow(1, 0, 1), moments.narrow(1, 1, 1))
        };
        let normal = (input - mean) / variance.add_scalar(EPSILON).sqrt();
        let output = normal * weight.unsqueeze_dim(1) + bias.unsqueeze_dim(1);
        let output = output.reshape([CHANNELS * PIXELS, BATCH]);
        if options.relu { activation::relu(output) } else { output }
    }

    #[test]
    fn values_and_gradients_are_those_of_burns_operations() {
        let device = test_device().autodiff();
        let wave = |count: usize, shift: f32| -> Vec<f32> {
            (0..count).map(|index| 2.0 * (index as f32 * 0.37 + shift).sin() + 0.5).collect()
        };
        let images = |shift| {
            let data =
                TensorData::new(wave(CHANNELS * PIXELS * BATCH, shift), [CHANNELS * PIXELS, BATCH]);
            Tensor::<2>::from_data(data, &device)
        };
        let each = |shift| Tensor::<1>::from_floats(wave(CHANNELS, shift).as_slice(), &device);
        for (batch_moments, relu) in [(true, true), (true, false), (false, true)] {
            let options = BatchNormOptions { epsilon: EPSILON, batch_moments, relu };
            let outcome = |by: fn(
                BatchNormOptions,
                Tensor<2>,
                Tensor<2>,
                Tensor<1>,
                Tensor<1>,
            ) -> Tensor<2>| {
                let (input, weight) = (images(0.0).require_grad(), each(1.0).require_grad());
                let bias = each(2.0).require_grad();
                let found = if batch_moments {
                    Tensor::from_inner(moments(input.clone().inner(), CHANNELS))
                } else {
                    Tensor::from_floats([[0.3, 0.1, -0.2], [1.5, 0.7, 2.0]], &device)
                };
                let output = by(options, input.clone(), found, weight.clone(), bias.clone());
                let gradients = (output.clone() * images(3.0)).sum().backward();
                let data: Vec<Vec<f32>> = vec![
                    output.into_data().iter().collect(),
                    input.grad(&gradients).unwrap().into_data().iter().collect(),
                    weight.grad(&gradients).unwrap().into_data().iter().collect(),
                    bias.grad(&gradients).unwrap().into_data().iter().collect(),
                ];
                data
            };
            for (ours, theirs) in outcome(batch_norm).iter().zip(&outcome(by_operations)) {
                let largest = theirs.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                for (ours, theirs) in ours.iter().zip(theirs) {
                    assert!((ours - theirs).abs() < 1e-5 * largest, "{ours} {theirs}");
                }
            }
        }
    }
}
