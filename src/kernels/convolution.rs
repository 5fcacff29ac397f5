//! Strided convolutions as an operation of burn's backends, with a backward pass of its own.
//!
//! Checked against: burn's own convolutions (below), and PyTorch (tests/reference/models.json).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::module::{conv_transpose2d, conv2d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};
use burn::tensor::{Tensor, activation};
use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use super::autodiff::{record, relu_gradient};
use super::conv_backward::{bias_gradients, weight_gradients};
use super::conv_forward::ConvForward;
use super::flex_tensor::{CHUNK, FlexTensor, contiguous, has_kernel, tensor, values, values_mut};
use super::{ConvShape, Direction};

/// What a convolution does besides its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Down for a convolution, up for a transposed one.
    pub direction: Direction,
    /// The images before and after.
    pub shape: ConvShape,
    /// Whether a ReLU follows.
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
    if !has_kernel(&input.device()) {
        return convolve_by_operations(convolution, input, weight, bias);
    }
    let (input, weight) = (input.into_dispatch(), weight.into_dispatch());
    let output = Dispatch::convolve_2x(input, weight, bias.into_dispatch(), convolution);
    Tensor::from_dispatch(output)
}

/// The same by burn's own operations, for devices without a kernel.
fn convolve_by_operations(
    Convolution { direction, shape, relu }: Convolution,
    input: Tensor<2>,
    weight: Tensor<4>,
    bias: Tensor<1>,
) -> Tensor<2> {
    let (from, to) = shape.ends(direction);
    let [_, batch] = input.dims();
    // Views, not copies, where a device keeps the batch first in memory.
    let images = input.reshape([from.channels, from.height, from.width, batch]);
    let images = images.permute([3, 0, 1, 2]);
    let output = match direction {
        Direction::Down => {
            let options = ConvOptions::new([2, 2], [1, 1], [1, 1], 1);
            conv2d(images, weight, Some(bias), options)
        }
        Direction::Up => {
            let options = ConvTransposeOptions::new([2, 2], [1, 1], [0, 0], [1, 1], 1);
            conv_transpose2d(images, weight, Some(bias), options)
        }
    };
    let output = output.permute([1, 2, 3, 0]).reshape([to.pixels(), batch]);
    if relu { activation::relu(output) } else { output }
}

#[backend_extension(Flex, LibTorch: cfg(feature = "tch"), Autodiff)]
pub(crate) trait Convolve: Backend {
    fn convolve_2x(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        convolution: Convolution,
    ) -> FloatTensor<Self>;
}

impl Convolve for Flex {
    fn convolve_2x(
        input: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        convolution: Convolution,
    ) -> FlexTensor {
        let Convolution { direction, shape, relu } = convolution;
        let (input, weight, bias) = (contiguous(input), contiguous(weight), contiguous(bias));
        let (weights, bias) = (values(&weight), Some(values(&bias)));
        let forward = ConvForward { direction, shape, weights, bias, relu };
        let (_, to) = shape.ends(direction);
        let batch = batch(&input);
        tensor(forward.run(values(&input), batch), [to.pixels(), batch])
    }
}

impl<C: CheckpointStrategy> Convolve for Autodiff<Flex, C> {
    fn convolve_2x(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        convolution: Convolution,
    ) -> FloatTensor<Self> {
        let (input, input_node) = input.into_parts();
        let (weight, weight_node) = weight.into_parts();
        let (bias, bias_node) = bias.into_parts();
        let (input, weight) = (contiguous(input), contiguous(weight));
        let output = Flex::convolve_2x(input.clone(), weight.clone(), bias, convolution);
        record::<C, _, 3>(ConvBackward, [input_node, weight_node, bias_node], output, |output| {
            let relu_output = convolution.relu.then(|| output.clone());
            Saved { convolution, input, weight, relu_output }
        })
    }
}

/// What the backward pass needs of the forward pass.
#[derive(Clone, Debug)]
struct Saved {
    convolution: Convolution,
    input: FlexTensor,
    weight: FlexTensor,
    /// The output, if a ReLU followed.
    relu_output: Option<FlexTensor>,
}

#[derive(Debug)]
struct ConvBackward;

impl Backward<Flex, 3> for ConvBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [input_node, weight_node, bias_node] = ops.parents;
        let Saved { convolution, input, weight, relu_output } = ops.state;
        let Convolution { direction, shape, .. } = convolution;
        let mut gradients = contiguous(grads.consume::<Flex>(&ops.node));
        if let Some(output) = relu_output {
            gradients = before_relu(gradients, &output);
        }
        let batch = batch(&gradients);
        let (from, to) = shape.ends(direction);
        if let Some(node) = bias_node {
            let bias = tensor(bias_gradients(values(&gradients), to.channels), [to.channels]);
            grads.register::<Flex>(node.id, bias);
        }
        if let Some(node) = weight_node {
            let (small, large) = match direction {
                Direction::Down => (&gradients, &input),
                Direction::Up => (&input, &gradients),
            };
            let found = weight_gradients(shape, values(small), values(large), batch);
            let shape = [shape.small.channels, shape.large.channels, 4, 4];
            grads.register::<Flex>(node.id, tensor(found, shape));
        }
        if let Some(node) = input_node {
            let (direction, weights) = (direction.reversed(), values(&weight));
            let forward = ConvForward { direction, shape, weights, bias: None, relu: false };
            let found = forward.run(values(&gradients), batch);
            grads.register::<Flex>(node.id, tensor(found, [from.pixels(), batch]));
        }
    }
}

/// Returns the gradients before a ReLU with this output.
fn before_relu(mut gradients: FlexTensor, output: &FlexTensor) -> FlexTensor {
    let outputs = values(output).par_chunks(CHUNK);
    values_mut(&mut gradients).par_chunks_mut(CHUNK).zip(outputs).for_each(
        |(gradients, outputs)| {
            for (gradient, output) in gradients.iter_mut().zip(outputs) {
                *gradient = relu_gradient(*gradient, *output);
            }
        },
    );
    gradients
}

fn batch(images: &FlexTensor) -> usize {
    images.layout().shape()[1]
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use burn::tensor::TensorData;
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::data::ImageShape;
    use crate::kernels::test_device;
    use crate::numerics::Seed;

    #[derive(Clone, Copy)]
    enum Numbers {
        /// Small enough that every sum of their products is exact, in whatever order: nothing is
        /// rounded, so neither a sum that nearly cancels nor a sign near zero can differ.
        Whole,
        Fractions,
    }

    /// Returns the output, and the gradients of a weighted sum of it by input, weight and bias.
    fn with_gradients(
        convolution: Convolution,
        batch: usize,
        numbers: Numbers,
        by: fn(Convolution, Tensor<2>, Tensor<4>, Tensor<1>) -> Tensor<2>,
    ) -> Vec<Vec<f32>> {
        let device = test_device().autodiff();
        let Convolution { direction, shape, .. } = convolution;
        let (from, to) = shape.ends(direction);
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
        let shape = vec![shape.small.channels, shape.large.channels, 4, 4];
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

    fn shape(small: usize, large: usize, height: usize, width: usize) -> ConvShape {
        let large = ImageShape { channels: large, height: 2 * height, width: 2 * width };
        ConvShape::downsampling(large, small)
    }

    fn assert_same(convolution: Convolution, batch: usize) {
        let ours = with_gradients(convolution, batch, Numbers::Whole, convolve);
        let theirs = with_gradients(convolution, batch, Numbers::Whole, convolve_by_operations);
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
        fn values_and_gradients_are_those_of_burns_own_convolutions(
            small in 1_usize..14,
            large in 1_usize..14,
            height in 1_usize..6,
            width in 1_usize..12,
            batch in 1_usize..70,
            up: bool,
            relu: bool,
        ) {
            let direction = if up { Direction::Up } else { Direction::Down };
            let shape = shape(small, large, height, width);
            assert_same(Convolution { direction, shape, relu }, batch);
        }
    }

    #[test]
    fn many_weights_are_divided_among_threads_and_give_the_same() {
        let shape = shape(130, 132, 2, 2);
        for direction in [Direction::Down, Direction::Up] {
            assert_same(Convolution { direction, shape, relu: true }, 33);
        }
    }

    #[test]
    fn images_larger_than_the_cache_give_the_same() {
        let wide = (shape(1, 13, 3, 200), 17);
        let many_samples = (shape(5, 3, 4, 8), 400);
        let of_one_channel = (shape(5, 1, 4, 8), 400);
        for (shape, batch) in [wide, many_samples, of_one_channel] {
            for direction in [Direction::Down, Direction::Up] {
                assert_same(Convolution { direction, shape, relu: true }, batch);
            }
        }
    }

    #[test]
    fn fractions_keep_their_digits() {
        for direction in [Direction::Down, Direction::Up] {
            let convolution = Convolution { direction, shape: shape(24, 20, 3, 5), relu: false };
            let ours = with_gradients(convolution, 40, Numbers::Fractions, convolve);
            let theirs =
                with_gradients(convolution, 40, Numbers::Fractions, convolve_by_operations);
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let largest = theirs.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                assert_eq!(ours.len(), theirs.len());
                for (ours, theirs) in ours.iter().zip(theirs) {
                    let apart = (ours - theirs).abs();
                    assert!(apart <= 2e-5 * largest, "{direction:?}: {apart} beside {largest}");
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_bytes() {
        let shape = shape(16, 8, 8, 8);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let convolution = Convolution { direction: Direction::Down, shape, relu: true };
            pool.install(|| with_gradients(convolution, 100, Numbers::Fractions, convolve))
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn what_is_not_a_number_does_not_become_zero() {
        let device = test_device();
        let shape = shape(2, 1, 1, 1);
        let input = Tensor::<2>::full([4, 3], f32::NAN, &device);
        let weight = Tensor::<4>::ones([2, 1, 4, 4], &device);
        let bias = Tensor::<1>::zeros([2], &device);
        let convolution = Convolution { direction: Direction::Down, shape, relu: true };
        let output = convolve(convolution, input, weight, bias).into_data();
        assert!(output.iter::<f32>().all(f32::is_nan));
    }
}
