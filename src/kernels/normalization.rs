//! Batch normalization, with or without a ReLU after it, and its slopes.
//!
//! What: each channel of `[channels * pixels, batch]` is brought to mean 0 and variance 1, scaled
//! and shifted. The moments may be the batch's own, which then depend on the values themselves.
//! Reference: Ioffe and Szegedy 2015.
//! Checked against: the same in burn's operations (below), and PyTorch (tests/reference/models.json).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use pulp::{Simd, WithSimd};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, ParallelIterator, ParallelSlice,
    ParallelSliceMut,
};

use super::dense::{FlexTensor, dense, tensor, values};

/// Values that are summed up in single precision.
const BLOCK: usize = 1024;
/// Sums side by side, as the processor takes them.
const LANES: usize = 16;

/// How channels are normalized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normalization {
    /// Added to variances.
    pub(crate) epsilon: f64,
    /// Whether the moments are those of the values, and move with them.
    pub(crate) own_moments: bool,
    /// Whether what is below zero becomes zero.
    pub(crate) relu: bool,
}

/// Returns the mean and the variance of each channel: `[2, channels]`.
pub(crate) fn moments(input: Tensor<2>, channels: usize) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::channel_moments(input.into_dispatch(), channels))
}

/// Normalizes channels by moments `[2, channels]`, then scales and shifts them.
pub(crate) fn normalize(
    normalization: Normalization,
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
        normalization,
    ))
}

#[backend_extension(Flex, LibTorch: cfg(feature = "tch"))]
pub(crate) trait Moments: Backend {
    fn channel_moments(input: FloatTensor<Self>, channels: usize) -> FloatTensor<Self>;
}

impl Moments for Flex {
    fn channel_moments(input: FlexTensor, channels: usize) -> FlexTensor {
        let input = dense(input);
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
        normalization: Normalization,
    ) -> FloatTensor<Self>;
}

impl Normalize for Flex {
    fn normalize_channels(
        input: FlexTensor,
        moments: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        normalization: Normalization,
    ) -> FlexTensor {
        let (input, moments) = (dense(input), dense(moments));
        let (weight, bias) = (dense(weight), dense(bias));
        let channels = Channel::all(values(&moments), values(&weight), normalization.epsilon);
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
                let relu = normalization.relu;
                arch.dispatch(Forward { channel, shift, relu, input, output });
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
        normalization: Normalization,
    ) -> FloatTensor<Self> {
        let (input, input_node) = input.into_parts();
        let (weight, weight_node) = weight.into_parts();
        let (bias, bias_node) = bias.into_parts();
        let (input, weight) = (dense(input), dense(weight));
        let moments = dense(moments.into_primitive());
        let given = (input.clone(), moments.clone(), weight.clone(), bias);
        let output = Flex::normalize_channels(given.0, given.1, given.2, given.3, normalization);
        match Slopes.prepare::<C>([input_node, weight_node, bias_node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let gate = normalization.relu.then(|| output.clone());
                prep.finish(Seen { normalization, input, moments, weight, gate }, output)
            }
            OpsKind::UnTracked(prep) => prep.finish(output),
        }
    }
}

/// What slopes need to know of the way forward.
#[derive(Clone, Debug)]
struct Seen {
    normalization: Normalization,
    input: FlexTensor,
    moments: FlexTensor,
    weight: FlexTensor,
    /// The output, where only what is above zero passed.
    gate: Option<FlexTensor>,
}

#[derive(Debug)]
struct Slopes;

impl Backward<Flex, 3> for Slopes {
    type State = Seen;

    fn backward(self, ops: Ops<Seen, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [input_node, weight_node, bias_node] = ops.parents;
        let Seen { normalization, input, moments, weight, gate } = ops.state;
        let slopes = dense(grads.consume::<Flex>(&ops.node));
        let shape = input.layout().shape();
        let shape = [shape[0], shape[1]];
        let channels = Channel::all(values(&moments), values(&weight), normalization.epsilon);
        let count = channels.len();
        let length = values(&input).len() / count;
        let mut found = vec![0.0; values(&input).len()];
        let arch = pulp::Arch::new();
        let sums: Vec<[f32; 2]> = (
            found.par_chunks_exact_mut(length),
            values(&input).par_chunks_exact(length),
            values(&slopes).par_chunks_exact(length),
            channels,
        )
            .into_par_iter()
            .enumerate()
            .map(|(index, (found, input, slopes, channel))| {
                let gate = gate.as_ref().map(|gate| &values(gate)[index * length..][..length]);
                let own_moments = normalization.own_moments;
                arch.dispatch(Back { channel, own_moments, input, slopes, gate, found })
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

/// How one channel is brought to its new mean and spread.
#[derive(Clone, Copy)]
struct Channel {
    mean: f32,
    /// One over the standard deviation.
    narrowing: f32,
    weight: f32,
}

impl Channel {
    fn all(moments: &[f32], weights: &[f32], epsilon: f64) -> Vec<Self> {
        let (means, variances) = moments.split_at(weights.len());
        let each = means.iter().zip(variances).zip(weights);
        each.map(|((&mean, &variance), &weight)| {
            let narrowing = 1.0 / (f64::from(variance) + epsilon).sqrt();
            Self { mean, narrowing: narrowing as f32, weight }
        })
        .collect()
    }
}

/// Sums up values, or squared distances from a mean.
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

struct Forward<'a> {
    channel: Channel,
    shift: f32,
    relu: bool,
    input: &'a [f32],
    output: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Channel { mean, narrowing, weight } = self.channel;
        let scale = narrowing * weight;
        for (output, input) in self.output.iter_mut().zip(self.input) {
            let value = (input - mean) * scale + self.shift;
            // What is not a number stays so.
            *output = if self.relu && value <= 0.0 { 0.0 } else { value };
        }
    }
}

struct Back<'a> {
    channel: Channel,
    own_moments: bool,
    input: &'a [f32],
    slopes: &'a [f32],
    gate: Option<&'a [f32]>,
    found: &'a mut [f32],
}

impl WithSimd for Back<'_> {
    /// The slopes of the channel's weight and bias.
    type Output = [f32; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f32; 2] {
        let Channel { mean, narrowing, weight } = self.channel;
        match self.gate {
            Some(gate) => {
                for ((found, slope), gate) in self.found.iter_mut().zip(self.slopes).zip(gate) {
                    *found = if *gate > 0.0 || gate.is_nan() { *slope } else { 0.0 };
                }
            }
            None => self.found.copy_from_slice(self.slopes),
        }
        let (mut along, mut sum) = (0.0, 0.0);
        for (slopes, inputs) in self.found.chunks(BLOCK).zip(self.input.chunks(BLOCK)) {
            let mut alongs = [0.0_f32; LANES];
            let mut sums = [0.0_f32; LANES];
            for (slopes, inputs) in slopes.chunks(LANES).zip(inputs.chunks(LANES)) {
                let lanes = alongs.iter_mut().zip(&mut sums).zip(slopes.iter().zip(inputs));
                for ((along, sum), (slope, input)) in lanes {
                    *along += slope * (input - mean);
                    *sum += slope;
                }
            }
            along += alongs.iter().map(|&sum| f64::from(sum)).sum::<f64>();
            sum += sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
        }
        let (scale, count) = (narrowing * weight, self.input.len() as f64);
        let (level, tilt) = if self.own_moments {
            let spread = f64::from(narrowing).powi(2);
            ((sum / count) as f32, (along / count * spread) as f32)
        } else {
            (0.0, 0.0)
        };
        for (found, input) in self.found.iter_mut().zip(self.input) {
            *found = scale * (*found - level - (input - mean) * tilt);
        }
        [(along * f64::from(narrowing)) as f32, sum as f32]
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
        normalization: Normalization,
        input: Tensor<2>,
        moments: Tensor<2>,
        weight: Tensor<1>,
        bias: Tensor<1>,
    ) -> Tensor<2> {
        let input = input.reshape([CHANNELS, PIXELS * BATCH]);
        let (mean, variance) = if normalization.own_moments {
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
        if normalization.relu { activation::relu(output) } else { output }
    }

    #[test]
    fn values_and_slopes_are_those_of_burns_operations() {
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
        for (own_moments, relu) in [(true, true), (true, false), (false, true)] {
            let normalization = Normalization { epsilon: EPSILON, own_moments, relu };
            let outcome =
                |by: fn(Normalization, Tensor<2>, Tensor<2>, Tensor<1>, Tensor<1>) -> Tensor<2>| {
                    let (input, weight) = (images(0.0).require_grad(), each(1.0).require_grad());
                    let bias = each(2.0).require_grad();
                    let found = if own_moments {
                        Tensor::from_inner(moments(input.clone().inner(), CHANNELS))
                    } else {
                        Tensor::from_floats([[0.3, 0.1, -0.2], [1.5, 0.7, 2.0]], &device)
                    };
                    let output =
                        by(normalization, input.clone(), found, weight.clone(), bias.clone());
                    let gradients = (output.clone() * images(3.0)).sum().backward();
                    let data: Vec<Vec<f32>> = vec![
                        output.into_data().iter().collect(),
                        input.grad(&gradients).unwrap().into_data().iter().collect(),
                        weight.grad(&gradients).unwrap().into_data().iter().collect(),
                        bias.grad(&gradients).unwrap().into_data().iter().collect(),
                    ];
                    data
                };
            for (ours, theirs) in outcome(normalize).iter().zip(&outcome(by_operations)) {
                let largest = theirs.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                for (ours, theirs) in ours.iter().zip(theirs) {
                    assert!((ours - theirs).abs() < 1e-5 * largest, "{ours} {theirs}");
                }
            }
        }
    }
}
