//! Layers of a convolutional network that only looks: convolutions, pools and branches.
//!
//! A network is first described (`Layer<Plan>`), then loaded (`Layer<Convolution>`). Batch
//! normalizations have fixed statistics here, so they become part of the convolution before them.

use burn::tensor::activation::relu;
use burn::tensor::module::{avg_pool2d, conv2d, max_pool2d};
use burn::tensor::ops::{AvgPoolOptions, ConvOptions, MaxPoolOptions};
use burn::tensor::{Device, Tensor};

use crate::device::send;
use crate::models::{WeightArray, Weights, WeightsError};

/// Added to the variance before its root is taken.
const EPSILON: f64 = 1e-3;

/// One step of a network with convolutions `C`.
#[derive(Clone, Debug)]
pub(super) enum Layer<C> {
    /// A convolution, its batch normalization, and a ReLU.
    Convolution(C),
    /// A pool of 3 x 3 pixels.
    Pool(Pool),
    /// Branches that take the same input; their outputs are put one after the other.
    Fork(Vec<Vec<Layer<C>>>),
}

/// How 3 x 3 pixels become one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pool {
    /// The mean of those inside of the image, at every pixel.
    Mean,
    /// The largest, at every pixel.
    Max,
    /// The largest, at every second pixel.
    MaxStride2,
}

/// A convolution as it is described.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) outputs: usize,
    pub(super) kernel: [usize; 2],
    pub(super) padding: Padding,
}

/// Where a kernel is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    /// At every pixel; zeros surround the image.
    Same,
    /// Where it lies inside of the image.
    Valid,
    /// There, at every second pixel.
    ValidStride2,
}

/// A convolution with its weights.
#[derive(Clone, Debug)]
pub(super) struct Convolution {
    /// `[outputs, inputs, height, width]`
    weight: Tensor<4>,
    /// `[outputs]`
    bias: Tensor<1>,
    options: ConvOptions<2>,
}

impl Layer<Plan> {
    /// Makes something of every convolution, which is told its number of input channels; `channels`
    /// is that of this layer before and of the next one after.
    pub(super) fn build<C, E>(
        &self,
        channels: &mut usize,
        make: &mut dyn FnMut(&Plan, usize) -> Result<C, E>,
    ) -> Result<Layer<C>, E> {
        match self {
            Self::Convolution(plan) => {
                let convolution = make(plan, *channels)?;
                *channels = plan.outputs;
                Ok(Layer::Convolution(convolution))
            }
            Self::Pool(pool) => Ok(Layer::Pool(*pool)),
            Self::Fork(branches) => {
                let inputs = std::mem::take(channels);
                let mut built = Vec::with_capacity(branches.len());
                for branch in branches {
                    let mut inside = inputs;
                    let layers = branch.iter().map(|layer| layer.build(&mut inside, make));
                    built.push(layers.collect::<Result<_, E>>()?);
                    *channels += inside;
                }
                Ok(Layer::Fork(built))
            }
        }
    }
}

impl Plan {
    /// Returns the shape of the kernel: `[outputs, inputs, height, width]`.
    pub(super) const fn shape(&self, inputs: usize) -> [usize; 4] {
        [self.outputs, inputs, self.kernel[0], self.kernel[1]]
    }

    /// Takes the convolution's arrays out of all weights.
    pub(super) fn load(
        &self,
        inputs: usize,
        weights: &Weights,
        device: &Device,
    ) -> Result<Convolution, WeightsError> {
        let array = |part: &str, shape: &[usize]| array(weights, &self.name, part, shape);
        let kernel = array("conv.weight", &self.shape(inputs))?;
        let of_channels = |part: &str| array(part, &[self.outputs]);
        let (factor, shift) = (of_channels("bn.weight")?, of_channels("bn.bias")?);
        let (mean, variance) = (of_channels("bn.running_mean")?, of_channels("bn.running_var")?);
        let mut weight = Vec::with_capacity(kernel.values.len());
        let mut bias = Vec::with_capacity(self.outputs);
        let size = kernel.values.len() / self.outputs.max(1);
        for (channel, values) in kernel.values.chunks_exact(size.max(1)).enumerate() {
            let of = |array: &WeightArray| f64::from(array.values[channel]);
            let scale = of(factor) / (of(variance) + EPSILON).sqrt();
            weight.extend(values.iter().map(|&value| (f64::from(value) * scale) as f32));
            bias.push((of(shift) - of(mean) * scale) as f32);
        }
        let (stride, padding) = match self.padding {
            Padding::Same => (1, self.kernel.map(|side| side / 2)),
            Padding::Valid => (1, [0, 0]),
            Padding::ValidStride2 => (2, [0, 0]),
        };
        Ok(Convolution {
            weight: send(weight, self.shape(inputs), device),
            bias: send(bias, [self.outputs], device),
            options: ConvOptions::new([stride; 2], padding, [1, 1], 1),
        })
    }
}

/// Returns an array of the right shape.
fn array<'a>(
    weights: &'a Weights,
    layer: &str,
    part: &str,
    shape: &[usize],
) -> Result<&'a WeightArray, WeightsError> {
    let name = format!("{layer}.{part}");
    match weights.0.get(&name) {
        None => Err(WeightsError::Missing { name }),
        Some(array) if array.shape != shape => {
            let found = array.shape.clone();
            Err(WeightsError::Shape { name, expected: shape.to_vec(), found })
        }
        Some(array) => Ok(array),
    }
}

/// Takes images through layers, one after the other: `[images, channels, height, width]`.
pub(super) fn forward(layers: &[Layer<Convolution>], images: Tensor<4>) -> Tensor<4> {
    layers.iter().fold(images, |images, layer| match layer {
        Layer::Convolution(Convolution { weight, bias, options }) => {
            relu(conv2d(images, weight.clone(), Some(bias.clone()), options.clone()))
        }
        Layer::Pool(pool) => pool.forward(images),
        Layer::Fork(branches) => {
            let outputs = branches.iter().map(|branch| forward(branch, images.clone()));
            Tensor::cat(outputs.collect(), 1)
        }
    })
}

impl Pool {
    fn forward(self, images: Tensor<4>) -> Tensor<4> {
        let max = || MaxPoolOptions::new([3, 3]);
        match self {
            Self::Mean => {
                let mean = AvgPoolOptions::new([3, 3]).with_stride([1, 1]).with_padding([1, 1]);
                avg_pool2d(images, mean.with_count_include_pad(false))
            }
            Self::Max => max_pool2d(images, max().with_stride([1, 1]).with_padding([1, 1])),
            Self::MaxStride2 => max_pool2d(images, max().with_stride([2, 2])),
        }
    }
}
