//! The convolution as an operation of burn's, with slopes of its own.
//!
//! Checked against: burn's own convolutions (below), and PyTorch (tests/reference/models.json).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use super::dense::{FlexTensor, SHARE, dense, tensor, values, values_mut};
use super::gather::Gathering;
use super::slopes::{bias_slopes, weight_slopes};
use super::{Scales, Way};

/// What a convolution does besides its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Down for a convolution, up for a transposed one.
    pub way: Way,
    /// The images before and after.
    pub scales: Scales,
    /// Whether what is below zero becomes zero.
    pub relu: bool,
}

/// Convolves images, `[channels * pixels, batch]`, with weights `[small channels, large channels, 4,
/// 4]` and adds a bias to each output channel.
pub fn convolve(
    convolution: Convolution,
    input: Tensor<2>,
    weight: Tensor<4>,
    bias: Tensor<1>,
) -> Tensor<2> {
    let (input, weight) = (input.into_dispatch(), weight.into_dispatch());
    let output = Dispatch::gather_2x(input, weight, bias.into_dispatch(), convolution);
    Tensor::from_dispatch(output)
}

#[backend_extension(Flex, LibTorch: cfg(feature = "tch"), Autodiff)]
pub(crate) trait Convolve: Backend {
    fn gather_2x(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        convolution: Convolution,
    ) -> FloatTensor<Self>;
}

impl Convolve for Flex {
    fn gather_2x(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        convolution: Convolution,
    ) -> FlexTensor {
        let Convolution { way, scales, relu } = convolution;
        let (input, weight, bias) = (dense(input), dense(weight), dense(bias));
        let gathering =
            Gathering { way, scales, weights: values(&weight), bias: Some(values(&bias)), relu };
        let (_, to) = scales.along(way);
        let batch = batch(&input);
        tensor(gathering.of(values(&input), batch), [to.pixels(), batch])
    }
}

impl<C: CheckpointStrategy> Convolve for Autodiff<Flex, C> {
    fn gather_2x(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        convolution: Convolution,
    ) -> FloatTensor<Self> {
        let (input, input_node) = input.into_parts();
        let (weight, weight_node) = weight.into_parts();
        let (bias, bias_node) = bias.into_parts();
        let (input, weight) = (dense(input), dense(weight));
        let output = Flex::gather_2x(input.clone(), weight.clone(), bias, convolution);
        match Slopes.prepare::<C>([input_node, weight_node, bias_node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let gate = convolution.relu.then(|| output.clone());
                prep.finish(Seen { convolution, input, weight, gate }, output)
            }
            OpsKind::UnTracked(prep) => prep.finish(output),
        }
    }
}

/// What slopes need to know of the way forward.
#[derive(Clone, Debug)]
struct Seen {
    convolution: Convolution,
    input: FlexTensor,
    weight: FlexTensor,
    /// The output, where only what is above zero passed.
    gate: Option<FlexTensor>,
}

#[derive(Debug)]
struct Slopes;

impl Backward<Flex, 3> for Slopes {
    type State = Seen;

    fn backward(self, ops: Ops<Seen, 3>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let [input_node, weight_node, bias_node] = ops.parents;
        let Seen { convolution, input, weight, gate } = ops.state;
        let Convolution { way, scales, .. } = convolution;
        let mut slopes = dense(grads.consume::<Flex>(&ops.node));
        if let Some(gate) = gate {
            slopes = pass(slopes, &gate);
        }
        let batch = batch(&slopes);
        let (from, to) = scales.along(way);
        if let Some(node) = bias_node {
            let bias = tensor(bias_slopes(values(&slopes), to.channels), [to.channels]);
            grads.register::<Flex>(node.id, bias);
        }
        if let Some(node) = weight_node {
            let (small, large) = match way {
                Way::Down => (&slopes, &input),
                Way::Up => (&input, &slopes),
            };
            let found = weight_slopes(scales, values(small), values(large), batch);
            let shape = [scales.small.channels, scales.large.channels, 4, 4];
            grads.register::<Flex>(node.id, tensor(found, shape));
        }
        if let Some(node) = input_node {
            let (way, weights) = (way.back(), values(&weight));
            let gathering = Gathering { way, scales, weights, bias: None, relu: false };
            let found = gathering.of(values(&slopes), batch);
            grads.register::<Flex>(node.id, tensor(found, [from.pixels(), batch]));
        }
    }
}

/// Lets slopes pass where the output was above zero, or no number.
fn pass(mut slopes: FlexTensor, gate: &FlexTensor) -> FlexTensor {
    let gates = values(gate).par_chunks(SHARE);
    values_mut(&mut slopes).par_chunks_mut(SHARE).zip(gates).for_each(|(slopes, gates)| {
        for (slope, gate) in slopes.iter_mut().zip(gates) {
            *slope = if *gate > 0.0 || gate.is_nan() { *slope } else { 0.0 };
        }
    });
    slopes
}

fn batch(images: &FlexTensor) -> usize {
    images.layout().shape()[1]
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use burn::tensor::TensorData;
    use burn::tensor::module::{conv_transpose2d, conv2d};
    use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::data::ImageShape;
    use crate::kernels::test_device;
    use crate::numerics::Seed;

    /// A convolution by burn itself.
    fn plainly(
        Convolution { way, scales, relu }: Convolution,
        input: Tensor<2>,
        weight: Tensor<4>,
        bias: Tensor<1>,
    ) -> Tensor<2> {
        let (from, to) = scales.along(way);
        let batch = input.dims()[1];
        let images = input.reshape([from.channels, from.height, from.width, batch]);
        let images = images.permute([3, 0, 1, 2]);
        let output = match way {
            Way::Down => {
                let options = ConvOptions::new([2, 2], [1, 1], [1, 1], 1);
                conv2d(images, weight, Some(bias), options)
            }
            Way::Up => {
                let options = ConvTransposeOptions::new([2, 2], [1, 1], [0, 0], [1, 1], 1);
                conv_transpose2d(images, weight, Some(bias), options)
            }
        };
        let output = output.permute([1, 2, 3, 0]).reshape([to.pixels(), batch]);
        if relu { burn::tensor::activation::relu(output) } else { output }
    }

    #[derive(Clone, Copy)]
    enum Numbers {
        /// Small enough that every sum of their products is exact, in whatever order: nothing is
        /// rounded, so neither a sum that nearly cancels nor a sign near zero tells two ways apart.
        Whole,
        Fractions,
    }

    /// Returns the output, and the slopes of a weighted sum of it by input, weight and bias.
    fn with_slopes(
        convolution: Convolution,
        batch: usize,
        numbers: Numbers,
        by: fn(Convolution, Tensor<2>, Tensor<4>, Tensor<1>) -> Tensor<2>,
    ) -> Vec<Vec<f32>> {
        let device = test_device().autodiff();
        let Convolution { way, scales, .. } = convolution;
        let (from, to) = scales.along(way);
        let mut rng = Seed(1).stream("test");
        let mut draw = || match numbers {
            Numbers::Whole => f32::from(rng.random_range(-4_i8..=4)),
            Numbers::Fractions => rng.random::<f32>() - 0.5,
        };
        let mut tensor = |shape: Vec<usize>| {
            let count = shape.iter().product();
            TensorData::new((0..count).map(|_| draw()).collect::<Vec<f32>>(), shape)
        };
        let input = Tensor::<2>::from_data(tensor(vec![from.pixels(), batch]), &device);
        let input = input.require_grad();
        let shape = vec![scales.small.channels, scales.large.channels, 4, 4];
        let weight = Tensor::<4>::from_data(tensor(shape), &device).require_grad();
        let bias = Tensor::<1>::from_data(tensor(vec![to.channels]), &device).require_grad();
        let importance = Tensor::<2>::from_data(tensor(vec![to.pixels(), batch]), &device);
        let output = by(convolution, input.clone(), weight.clone(), bias.clone());
        let gradients = (output.clone() * importance).sum().backward();
        vec![
            output.into_data().iter().collect(),
            input.grad(&gradients).unwrap().into_data().iter().collect(),
            weight.grad(&gradients).unwrap().into_data().iter().collect(),
            bias.grad(&gradients).unwrap().into_data().iter().collect(),
        ]
    }

    fn scales(small: usize, large: usize, height: usize, width: usize) -> Scales {
        let large = ImageShape { channels: large, height: 2 * height, width: 2 * width };
        Scales::halving(large, small)
    }

    fn assert_same(convolution: Convolution, batch: usize) {
        let ours = with_slopes(convolution, batch, Numbers::Whole, convolve);
        let theirs = with_slopes(convolution, batch, Numbers::Whole, plainly);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.len(), theirs.len());
            let apart = ours
                .iter()
                .zip(theirs)
                .position(|(ours, theirs)| ours.partial_cmp(theirs) != Some(Ordering::Equal));
            assert_eq!(apart, None, "{convolution:?}, {batch} samples");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn values_and_slopes_are_those_of_burns_own_convolutions(
            small in 1_usize..14,
            large in 1_usize..14,
            height in 1_usize..6,
            width in 1_usize..12,
            batch in 1_usize..70,
            up: bool,
            relu: bool,
        ) {
            let way = if up { Way::Up } else { Way::Down };
            let scales = scales(small, large, height, width);
            assert_same(Convolution { way, scales, relu }, batch);
        }
    }

    #[test]
    fn many_weights_are_shared_out_and_give_the_same() {
        let scales = scales(130, 132, 2, 2);
        for way in [Way::Down, Way::Up] {
            assert_same(Convolution { way, scales, relu: true }, 33);
        }
    }

    #[test]
    fn images_that_are_taken_piece_by_piece_give_the_same() {
        let wide = (scales(1, 13, 3, 200), 17);
        let many_samples = (scales(5, 3, 4, 8), 400);
        let of_one_channel = (scales(5, 1, 4, 8), 400);
        for (scales, batch) in [wide, many_samples, of_one_channel] {
            for way in [Way::Down, Way::Up] {
                assert_same(Convolution { way, scales, relu: true }, batch);
            }
        }
    }

    #[test]
    fn fractions_keep_their_digits() {
        for way in [Way::Down, Way::Up] {
            let convolution = Convolution { way, scales: scales(24, 20, 3, 5), relu: false };
            let ours = with_slopes(convolution, 40, Numbers::Fractions, convolve);
            let theirs = with_slopes(convolution, 40, Numbers::Fractions, plainly);
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let largest = theirs.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                assert_eq!(ours.len(), theirs.len());
                for (ours, theirs) in ours.iter().zip(theirs) {
                    let apart = (ours - theirs).abs();
                    assert!(apart <= 2e-5 * largest, "{way:?}: {apart} beside {largest}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_bytes() {
        let scales = scales(16, 8, 8, 8);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let convolution = Convolution { way: Way::Down, scales, relu: true };
            pool.install(|| with_slopes(convolution, 100, Numbers::Fractions, convolve))
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn what_is_not_a_number_does_not_become_zero() {
        let device = test_device();
        let scales = scales(2, 1, 1, 1);
        let input = Tensor::<2>::full([4, 3], f32::NAN, &device);
        let weight = Tensor::<4>::ones([2, 1, 4, 4], &device);
        let bias = Tensor::<1>::zeros([2], &device);
        let convolution = Convolution { way: Way::Down, scales, relu: true };
        let output = convolve(convolution, input, weight, bias).into_data();
        assert!(output.iter::<f32>().all(f32::is_nan));
    }
}
