//! Convolutions that halve images, transposed ones that double them, and 1 x 1 ones.
//!
//! What: 4 x 4 kernels with stride 2 and padding 1, so sides must be even (checked by the network).
//! Assumptions: weights are kept in PyTorch's layout, activations as `[channels * pixels, batch]`.
//! On the processor and libtorch, `kernels` computes them; other devices use burn's operations.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::module::{Module, Param};
use burn::tensor::module::{conv_transpose2d, conv2d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};
use burn::tensor::{Tensor, activation};

use super::layers::Initializer;
use super::tangents::Affine;
use crate::data::ImageShape;
use crate::kernels::{Convolution, Scales, Way, convolve, is_served};

/// Side of every kernel.
const KERNEL: usize = 4;

/// Goes from one image to the other: `[channels * pixels, batch]` to the same.
fn resample(
    convolution: Convolution,
    input: Tensor<2>,
    weight: Tensor<4>,
    bias: Tensor<1>,
) -> Tensor<2> {
    if is_served(&input.device()) {
        return convolve(convolution, input, weight, bias);
    }
    let Convolution { way, scales, relu } = convolution;
    let (from, to) = scales.along(way);
    let [_, batch] = input.dims();
    // Views, not copies, where a device keeps the batch first in memory.
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
    if relu { activation::relu(output) } else { output }
}

/// A convolution that halves height and width.
#[derive(Module, Debug)]
pub(super) struct Halving {
    /// `[outputs, inputs, 4, 4]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
    #[module(skip)]
    scales: Scales,
}

impl Halving {
    pub(super) fn new(large: ImageShape, outputs: usize, initial: &mut Initializer<'_>) -> Self {
        let inputs = large.channels;
        let fan_in = inputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([outputs, inputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            scales: Scales::halving(large, outputs),
        }
    }

    /// `[inputs * large pixels, batch]` to `[outputs * small pixels, batch]`, perhaps with a ReLU.
    pub(super) fn forward(&self, input: Tensor<2>, relu: bool) -> Tensor<2> {
        let convolution = Convolution { way: Way::Down, scales: self.scales, relu };
        resample(convolution, input, self.weight.val(), self.bias.val())
    }
}

/// A transposed convolution that doubles height and width.
#[derive(Module, Debug)]
pub(super) struct Doubling {
    /// `[inputs, outputs, 4, 4]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
    #[module(skip)]
    scales: Scales,
}

impl Doubling {
    pub(super) fn new(inputs: usize, large: ImageShape, initial: &mut Initializer<'_>) -> Self {
        let outputs = large.channels;
        // PyTorch takes the second axis of the weight as its inputs, here too.
        let fan_in = outputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([inputs, outputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            scales: Scales::halving(large, inputs),
        }
    }

    /// Returns the number of channels that come out.
    pub(super) const fn outputs(&self) -> usize {
        self.scales.large.channels
    }

    fn resample(&self, input: Tensor<2>, bias: Tensor<1>, relu: bool) -> Tensor<2> {
        let convolution = Convolution { way: Way::Up, scales: self.scales, relu };
        resample(convolution, input, self.weight.val(), bias)
    }
}

impl Affine for Doubling {
    /// `[inputs * small pixels, batch]` to `[outputs * large pixels, batch]`
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.resample(input, self.bias.val(), false)
    }

    fn forward_relu(&self, input: Tensor<2>) -> Tensor<2> {
        self.resample(input, self.bias.val(), true)
    }

    fn map(&self, tangents: Tensor<2>) -> Tensor<2> {
        let unbiased = self.bias.val().zeros_like();
        self.resample(tangents, unbiased, false)
    }
}

/// A 1 x 1 convolution.
#[derive(Module, Debug)]
pub(super) struct Pointwise {
    /// `[outputs, inputs, 1, 1]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
}

impl Pointwise {
    pub(super) fn new(inputs: usize, outputs: usize, initial: &mut Initializer<'_>) -> Self {
        Self {
            weight: initial.draw([outputs, inputs, 1, 1], inputs),
            bias: initial.draw([outputs], inputs),
        }
    }
}

impl Affine for Pointwise {
    /// `[inputs * pixels, batch]` to `[outputs * pixels, batch]`
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let [rows, batch] = input.dims();
        let [outputs, inputs, ..] = self.weight.dims();
        let output = self.map(input).reshape([outputs, rows / inputs * batch]);
        (output + self.bias.val().unsqueeze_dim(1)).reshape([outputs * (rows / inputs), batch])
    }

    fn map(&self, tangents: Tensor<2>) -> Tensor<2> {
        let [rows, batch] = tangents.dims();
        let weight: Tensor<2> = self.weight.val().flatten(1, 3);
        let [outputs, inputs] = weight.dims();
        let pixels = rows / inputs;
        let output = weight.matmul(tangents.reshape([inputs, pixels * batch]));
        output.reshape([outputs * pixels, batch])
    }
}
