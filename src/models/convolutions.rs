//! Strided convolutions, transposed ones, and 1 x 1 ones.
//!
//! What: 4 x 4 kernels with stride 2 and padding 1, so sides must be even (checked by the network).
//! Assumptions: weights are kept in PyTorch's layout, activations as `[channels * pixels, batch]`.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::layers::Initializer;
use super::pytorch::Layer;
use super::tangents::Affine;
use crate::data::ImageShape;
use crate::kernels::{ConvShape, Convolution, Direction, convolve};

/// Side of every kernel.
const KERNEL: usize = 4;
/// What a kernel does, in the words of PyTorch.
const PYTORCH_OPTIONS: &str = "kernel_size=4, stride=2, padding=1";

/// A convolution that halves height and width.
#[derive(Module, Debug)]
pub(super) struct Downsample {
    /// `[outputs, inputs, 4, 4]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
    #[module(skip)]
    shape: ConvShape,
}

impl Downsample {
    pub(super) fn new(large: ImageShape, outputs: usize, initial: &mut Initializer<'_>) -> Self {
        let inputs = large.channels;
        let fan_in = inputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([outputs, inputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            shape: ConvShape::downsampling(large, outputs),
        }
    }

    /// `[inputs * large pixels, batch]` to `[outputs * small pixels, batch]`, perhaps with a ReLU.
    pub(super) fn forward(&self, input: Tensor<2>, relu: bool) -> Tensor<2> {
        let convolution = Convolution { direction: Direction::Down, shape: self.shape, relu };
        convolve(convolution, input, self.weight.val(), self.bias.val())
    }

    /// Returns the layer as PyTorch has it.
    pub(super) fn pytorch(&self) -> Layer {
        let [inputs, outputs] = [self.shape.large, self.shape.small].map(|image| image.channels);
        Layer::new(format!("nn.Conv2d({inputs}, {outputs}, {PYTORCH_OPTIONS})"))
            .with("weight", self.weight.val())
            .with("bias", self.bias.val())
    }
}

/// A transposed convolution that doubles height and width.
#[derive(Module, Debug)]
pub(super) struct Upsample {
    /// `[inputs, outputs, 4, 4]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
    #[module(skip)]
    shape: ConvShape,
}

impl Upsample {
    pub(super) fn new(inputs: usize, large: ImageShape, initial: &mut Initializer<'_>) -> Self {
        let outputs = large.channels;
        // PyTorch takes the second axis of the weight for its fan-in, in transposed convolutions too.
        let fan_in = outputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([inputs, outputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            shape: ConvShape::downsampling(large, inputs),
        }
    }

    /// Returns the number of channels that come out.
    pub(super) const fn outputs(&self) -> usize {
        self.shape.large.channels
    }

    /// Returns the shape of what goes in.
    pub(super) const fn input_shape(&self) -> ImageShape {
        self.shape.small
    }

    /// Returns the layer as PyTorch has it.
    pub(super) fn pytorch(&self) -> Layer {
        let [inputs, outputs] = [self.shape.small, self.shape.large].map(|image| image.channels);
        Layer::new(format!("nn.ConvTranspose2d({inputs}, {outputs}, {PYTORCH_OPTIONS})"))
            .with("weight", self.weight.val())
            .with("bias", self.bias.val())
    }

    fn forward_with_bias(&self, input: Tensor<2>, bias: Tensor<1>, relu: bool) -> Tensor<2> {
        let convolution = Convolution { direction: Direction::Up, shape: self.shape, relu };
        convolve(convolution, input, self.weight.val(), bias)
    }
}

impl Affine for Upsample {
    /// `[inputs * small pixels, batch]` to `[outputs * large pixels, batch]`
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.forward_with_bias(input, self.bias.val(), false)
    }

    fn forward_relu(&self, input: Tensor<2>) -> Tensor<2> {
        self.forward_with_bias(input, self.bias.val(), true)
    }

    fn map(&self, tangents: Tensor<2>) -> Tensor<2> {
        let unbiased = self.bias.val().zeros_like();
        self.forward_with_bias(tangents, unbiased, false)
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

    /// Returns the number of channels that go in.
    pub(super) fn inputs(&self) -> usize {
        self.weight.dims()[1]
    }

    /// Returns the layer as PyTorch has it.
    pub(super) fn pytorch(&self) -> Layer {
        let [outputs, inputs, ..] = self.weight.dims();
        Layer::new(format!("nn.Conv2d({inputs}, {outputs}, kernel_size=1)"))
            .with("weight", self.weight.val())
            .with("bias", self.bias.val())
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
