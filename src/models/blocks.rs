//! Layers and the convolutional encoder and decoder that the models share.
//!
//! What: 4 x 4 convolutions of stride 2 and padding 1 with ReLU, each halving the image, then
//! one fully connected layer to the code; the decoder mirrors it and returns logits.
//! Reference: the paper, appendix C (network of dSprites); initial weights are PyTorch's default,
//! uniform within 1 / sqrt(fan in), with its convention for transposed convolutions.
//! Assumptions: image sides divisible by 2 to the number of layers (checked). Weights are kept
//! in PyTorch's layout. Convolutions are matrix products over patches, which on the pure-Rust
//! backend takes less than half the time of its own convolutions.
//! Checked against: tests/reference/pcae_loss.json (PyTorch), see pcae.rs.

use std::num::NonZeroUsize;

use burn::module::{Module, Param};
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData, activation};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{ModelError, Start};
use crate::data::ImageShape;

/// Side of every convolution kernel.
const KERNEL: usize = 4;

/// The network between images and codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum NetworkSpec {
    /// Convolutions that halve the image, then a fully connected layer.
    Conv {
        /// Channels after each halving; the paper's network is `[32, 32, 64, 64]`. None at all
        /// leave the fully connected layer alone, which makes codes linear in the pixels.
        channels: Vec<NonZeroUsize>,
    },
}

impl NetworkSpec {
    /// Returns the shapes from the image to the features before the fully connected layer.
    fn shapes(&self, image: ImageShape) -> Result<Vec<ImageShape>, ModelError> {
        let Self::Conv { channels } = self;
        let mut shapes = vec![image];
        let ImageShape { mut height, mut width, .. } = image;
        for channels in channels {
            if !height.is_multiple_of(2) || !width.is_multiple_of(2) {
                let layers = self.layers();
                return Err(ModelError::Size { layers, height: image.height, width: image.width });
            }
            (height, width) = (height / 2, width / 2);
            shapes.push(ImageShape { channels: channels.get(), height, width });
        }
        Ok(shapes)
    }

    /// Returns the number of halvings.
    const fn layers(&self) -> usize {
        let Self::Conv { channels } = self;
        channels.len()
    }
}

/// Draws initial weights, in the order in which layers are made.
struct Initializer<'a> {
    rng: ChaCha8Rng,
    device: &'a Device,
}

impl Initializer<'_> {
    /// Draws a parameter uniformly within `1 / sqrt(fan_in)`.
    fn draw<const D: usize>(&mut self, shape: [usize; D], fan_in: usize) -> Param<Tensor<D>> {
        let bound = 1.0 / (fan_in as f64).sqrt();
        let values: Vec<f32> = (0..shape.iter().product())
            .map(|_| (bound * (2.0 * self.rng.random::<f64>() - 1.0)) as f32)
            .collect();
        Param::from_data(TensorData::new(values, shape), self.device)
    }
}

/// A fully connected layer, over columns.
#[derive(Module, Debug)]
struct Dense {
    /// `[outputs, inputs]`
    weight: Param<Tensor<2>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
}

impl Dense {
    fn new(inputs: usize, outputs: usize, initial: &mut Initializer<'_>) -> Self {
        Self {
            weight: initial.draw([outputs, inputs], inputs),
            bias: initial.draw([outputs], inputs),
        }
    }

    /// `[inputs, batch]` to `[outputs, batch]`
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.weight.val().matmul(input) + self.bias.val().unsqueeze_dim(1)
    }
}

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
struct Halving {
    /// `[outputs, inputs, 4, 4]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
    #[module(skip)]
    patches: Patches,
}

impl Halving {
    fn new(large: ImageShape, outputs: usize, initial: &mut Initializer<'_>) -> Self {
        let inputs = large.channels;
        let fan_in = inputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([outputs, inputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            patches: Patches::of(large),
        }
    }

    /// `[inputs * large pixels, batch]` to `[outputs * small pixels, batch]`
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let [_, batch] = input.dims();
        let weight: Tensor<2> = self.weight.val().flatten(1, 3);
        let outputs = weight.dims()[0];
        let output = weight.matmul(self.patches.take(input)) + self.bias.val().unsqueeze_dim(1);
        output.reshape([outputs * self.patches.small_pixels(), batch])
    }
}

/// A transposed convolution that doubles height and width.
#[derive(Module, Debug)]
struct Doubling {
    /// `[inputs, outputs, 4, 4]`
    weight: Param<Tensor<4>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
    #[module(skip)]
    patches: Patches,
}

impl Doubling {
    fn new(inputs: usize, large: ImageShape, initial: &mut Initializer<'_>) -> Self {
        let outputs = large.channels;
        // PyTorch takes the second axis of the weight as its inputs, here too.
        let fan_in = outputs * KERNEL * KERNEL;
        Self {
            weight: initial.draw([inputs, outputs, KERNEL, KERNEL], fan_in),
            bias: initial.draw([outputs], fan_in),
            patches: Patches::of(large),
        }
    }

    /// `[inputs * small pixels, batch]` to `[outputs * large pixels, batch]`
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let [_, batch] = input.dims();
        let weight: Tensor<2> = self.weight.val().flatten(1, 3);
        let inputs = weight.dims()[0];
        let columns = self.patches.small_pixels() * batch;
        let patches = weight.transpose().matmul(input.reshape([inputs, columns]));
        let ImageShape { channels, height, width } = self.patches.large;
        let output = self.patches.give(patches).reshape([channels, height * width * batch]);
        let output = output + self.bias.val().unsqueeze_dim(1);
        output.reshape([channels * height * width, batch])
    }
}

/// Turns images into codes.
#[derive(Module, Debug)]
pub struct Encoder {
    convolutions: Vec<Halving>,
    to_latent: Dense,
}

impl Encoder {
    /// Makes an encoder with weights drawn from the stream `init/encoder`.
    pub fn new(
        network: &NetworkSpec,
        latent: usize,
        start: &Start<'_>,
    ) -> Result<Self, ModelError> {
        let shapes = network.shapes(start.shape)?;
        let rng = start.seed.stream("init/encoder");
        let mut initial = Initializer { rng, device: start.device };
        let convolutions = shapes
            .windows(2)
            .map(|pair| Halving::new(pair[0], pair[1].channels, &mut initial))
            .collect();
        let features = shapes[shapes.len() - 1].pixels();
        let to_latent = Dense::new(features, latent, &mut initial);
        Ok(Self { convolutions, to_latent })
    }

    /// Returns the codes of images.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let pixels: Tensor<2> = images.flatten(1, 3); // [batch, pixels]
        let mut hidden = pixels.transpose(); // batch last, see `Patches`
        for convolution in &self.convolutions {
            hidden = activation::relu(convolution.forward(hidden)); // half the sides
        }
        self.to_latent.forward(hidden).transpose() // [batch, latent]
    }
}

/// Turns codes into logits of pixels.
#[derive(Module, Debug)]
pub struct Decoder {
    from_latent: Dense,
    convolutions: Vec<Doubling>,
    #[module(skip)]
    shape: ImageShape,
}

impl Decoder {
    /// Makes a decoder with weights drawn from the stream `init/decoder`.
    pub fn new(
        network: &NetworkSpec,
        latent: usize,
        start: &Start<'_>,
    ) -> Result<Self, ModelError> {
        let shapes = network.shapes(start.shape)?;
        let rng = start.seed.stream("init/decoder");
        let mut initial = Initializer { rng, device: start.device };
        let features = shapes[shapes.len() - 1].pixels();
        let from_latent = Dense::new(latent, features, &mut initial);
        let convolutions = shapes
            .windows(2)
            .rev()
            .map(|pair| Doubling::new(pair[1].channels, pair[0], &mut initial))
            .collect();
        Ok(Self { from_latent, convolutions, shape: start.shape })
    }

    /// Returns the logits of the pixels.
    pub fn forward(&self, codes: Tensor<2>) -> Tensor<4> {
        let [batch, _] = codes.dims();
        let mut hidden = self.from_latent.forward(codes.transpose()); // [features, batch]
        for (index, convolution) in self.convolutions.iter().enumerate() {
            if index > 0 {
                hidden = activation::relu(hidden);
            }
            hidden = convolution.forward(hidden); // twice the sides
        }
        let ImageShape { channels, height, width } = self.shape;
        hidden.transpose().reshape([batch, channels, height, width])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceName, open};
    use crate::numerics::Seed;

    fn network(channels: &[usize]) -> NetworkSpec {
        let width = |&width: &usize| NonZeroUsize::new(width).unwrap();
        NetworkSpec::Conv { channels: channels.iter().map(width).collect() }
    }

    fn start(device: &Device, height: usize, width: usize) -> Start<'_> {
        let shape = ImageShape { channels: 3, height, width };
        Start { shape, seed: Seed(0), distance_unit: 1.0, device }
    }

    #[test]
    fn shapes_round_trip_for_images_that_are_not_square() {
        let device = open(DeviceName::Cpu).unwrap();
        let start = start(&device, 8, 16);
        let network = network(&[4, 6]);
        let codes = Encoder::new(&network, 5, &start)
            .unwrap()
            .forward(Tensor::zeros([2, 3, 8, 16], &device));
        assert_eq!(codes.dims(), [2, 5]);
        let logits = Decoder::new(&network, 5, &start).unwrap().forward(codes);
        assert_eq!(logits.dims(), [2, 3, 8, 16]);
    }

    #[test]
    fn without_convolutions_codes_are_linear_in_the_pixels() {
        let device = open(DeviceName::Cpu).unwrap();
        let start = start(&device, 3, 5); // sides that can't be halved
        let encoder = Encoder::new(&network(&[]), 2, &start).unwrap();
        let code = |pixel: f32| encoder.forward(Tensor::full([1, 3, 3, 5], pixel, &device));
        let bend = code(2.0) - code(1.0).mul_scalar(2.0) + code(0.0);
        assert!(bend.abs().max().into_scalar::<f32>() < 1e-5);
        let decoder = Decoder::new(&network(&[]), 2, &start).unwrap();
        assert_eq!(decoder.forward(code(1.0)).dims(), [1, 3, 3, 5]);
    }

    #[test]
    fn an_image_that_cannot_be_halved_often_enough_is_refused() {
        let device = open(DeviceName::Cpu).unwrap();
        let error = Encoder::new(&network(&[4, 4, 4]), 2, &start(&device, 8, 12)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "each of the 3 `channels` halves the image, but 8 x 12 pixels can be halved only 2 times"
        );
    }

    #[test]
    fn initial_weights_fill_the_range_of_pytorchs_default() {
        let device = open(DeviceName::Cpu).unwrap();
        let encoder = Encoder::new(&network(&[16]), 4, &start(&device, 8, 8)).unwrap();
        let weights = encoder.convolutions[0].weight.val().into_data().try_to_vec::<f32>().unwrap();
        let bound = 1.0 / (3.0_f32 * 16.0).sqrt();
        let largest = weights.iter().fold(0.0_f32, |largest, weight| largest.max(weight.abs()));
        assert!(largest <= bound && largest > 0.95 * bound, "{largest} against {bound}");
    }
}
