//! Convolutions that halve images, transposed ones that double them, and 1 x 1 ones.
//!
//! What: 4 x 4 kernels with stride 2 and padding 1, so sides must be even (checked by the network).
//! Assumptions: weights are kept in PyTorch's layout, activations as `[channels * pixels, batch]`.
//! Convolutions are matrix products over patches, which on the pure-Rust backend takes less than
//! half the time of its own convolutions.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::module::{Module, Param};
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};

use super::layers::Initializer;
use super::tangents::Affine;
use crate::data::ImageShape;

/// Side of every kernel.
const KERNEL: usize = 4;

/// Which pixel of the large image each kernel weight meets at each pixel of the small one.
///
/// Both convolutions are a matrix product with the weights, before or after moving rows
/// between the large image and its patches; rows hold a whole batch, so moving them is cheap.
#[derive(Clone, Debug)]
struct Patches {
    large: ImageShape,
    /// Rows of the large image in the order channel, kernel row and column, small row and
    /// column; what falls outside the image is one row past its end.
    rows: Vec<i64>,
}

impl Patches {
    #[expect(clippy::cast_possible_wrap, reason = "an image has fewer than 2^63 pixels")]
    fn of(large: ImageShape) -> Self {
        let ImageShape { channels, height, width } = large;
        // Stride 2 and padding 1, so that kernel row 0 lies above the first pixel row.
        let meets = |small: usize, kernel: usize, side: usize| {
            (2 * small + kernel).checked_sub(1).filter(|&place| place < side)
        };
        let outside = large.pixels();
        let mut rows = Vec::with_capacity(outside * KERNEL * KERNEL / 4);
        for channel in 0..channels {
            for kernel in 0..KERNEL * KERNEL {
                for small in 0..(height / 2) * (width / 2) {
                    let y = meets(small / (width / 2), kernel / KERNEL, height);
                    let x = meets(small % (width / 2), kernel % KERNEL, width);
                    let row = y.zip(x).map(|(y, x)| (channel * height + y) * width + x);
                    rows.push(row.unwrap_or(outside) as i64);
                }
            }
        }
        Self { large, rows }
    }

    fn small_pixels(&self) -> usize {
        self.large.height / 2 * (self.large.width / 2)
    }

    fn rows_on(&self, device: &Device) -> Tensor<1, Int> {
        Tensor::from_data(TensorData::new(self.rows.clone(), [self.rows.len()]), device)
    }

    /// Copies the rows of a large image into patches: `[channels * 16, small pixels * batch]`.
    fn take(&self, large: Tensor<2>) -> Tensor<2> {
        let [_, batch] = large.dims();
        let device = large.device();
        let outside = Tensor::zeros([1, batch], &device);
        let taken = Tensor::cat(vec![large, outside], 0).select(0, self.rows_on(&device));
        taken.reshape([self.large.channels * KERNEL * KERNEL, self.small_pixels() * batch])
    }

    /// Adds patches up into a large image: the transpose of [`Patches::take`].
    fn give(&self, patches: Tensor<2>) -> Tensor<2> {
        let [_, columns] = patches.dims();
        let (batch, pixels) = (columns / self.small_pixels(), self.large.pixels());
        let device = patches.device();
        let patches = patches.reshape([self.rows.len(), batch]);
        let rows = self.rows_on(&device);
        Tensor::zeros([pixels + 1, batch], &device)
            .select_assign(0, rows, patches, IndexingUpdateOp::Add)
            .narrow(0, 0, pixels)
    }
}

/// A convolution that halves height and width.
#[derive(Module, Debug)]
pub(super) struct Halving {
    /// `[outputs, inputs, 4, 4]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
    #[module(skip)]
    patches: Patches,
}

impl Halving {
    pub(super) fn new(large: ImageShape, outputs: usize, initial: &mut Initializer<'_>) -> Self {
        let inputs = large.channels;
        let fan_in = inputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([outputs, inputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            patches: Patches::of(large),
        }
    }

    /// `[inputs * large pixels, batch]` to `[outputs * small pixels, batch]`
    pub(super) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let [_, batch] = input.dims();
        let weight: Tensor<2> = self.weight.val().flatten(1, 3);
        let outputs = weight.dims()[0];
        let output = weight.matmul(self.patches.take(input)) + self.bias.val().unsqueeze_dim(1);
        output.reshape([outputs * self.patches.small_pixels(), batch])
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
    patches: Patches,
}

impl Doubling {
    pub(super) fn new(inputs: usize, large: ImageShape, initial: &mut Initializer<'_>) -> Self {
        let outputs = large.channels;
        // PyTorch takes the second axis of the weight as its inputs, here too.
        let fan_in = outputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([inputs, outputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            patches: Patches::of(large),
        }
    }

    /// Returns the number of channels that come out.
    pub(super) const fn outputs(&self) -> usize {
        self.patches.large.channels
    }

    /// Adds the bias of each channel: `[outputs * large pixels, batch]` to the same.
    fn shift(&self, output: Tensor<2>) -> Tensor<2> {
        let [rows, batch] = output.dims();
        let channels = self.outputs();
        let output = output.reshape([channels, rows / channels * batch]);
        (output + self.bias.val().unsqueeze_dim(1)).reshape([rows, batch])
    }
}

impl Affine for Doubling {
    /// `[inputs * small pixels, batch]` to `[outputs * large pixels, batch]`
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.shift(self.map(input))
    }

    fn map(&self, tangents: Tensor<2>) -> Tensor<2> {
        let [_, batch] = tangents.dims();
        let weight: Tensor<2> = self.weight.val().flatten(1, 3);
        let inputs = weight.dims()[0];
        let columns = self.patches.small_pixels() * batch;
        self.patches.give(weight.transpose().matmul(tangents.reshape([inputs, columns])))
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
