//! A convolution with all its gradients, guarded against burn's own.
//!
//! No other program's: trainings have one, and most of their time goes here.

use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor, TensorData, activation};
use pcae::data::ImageShape;
use pcae::kernels::{ConvShape, Convolution, Direction, convolve};

use crate::item::{Given, Guard, Item, Measured, Peer};

const BATCH: usize = 128;
/// Times that the work is done, so that little else is measured.
const TIMES: usize = 5;
const IMAGE: ImageShape = ImageShape { channels: 32, height: 16, width: 16 };
const OUTPUTS: usize = 64;

struct Guarded;

/// Returns the one item here.
pub(crate) fn items() -> Vec<Box<dyn Item>> {
    vec![Box::new(Guarded)]
}

impl Item for Guarded {
    fn name(&self) -> String {
        "convolution".to_owned()
    }

    fn title(&self) -> String {
        format!("Convolution of {BATCH} images, 32 to {OUTPUTS} channels, with gradients")
    }

    fn ours(&self, _given: &Given) -> Result<Measured, String> {
        let given = Inputs::new();
        Ok(Measured::of(|| given.with_gradients(own)).1)
    }

    fn peer(&self) -> Option<Peer> {
        None
    }

    fn guard(&self) -> Option<Guard> {
        let (given, same) = (Inputs::new(), Inputs::new());
        let ours = move || given.with_gradients(own);
        let naive = move || same.with_gradients(burns);
        Some(Guard { floor: 1.2, ours: Box::new(ours), naive: Box::new(naive) })
    }
}

fn own(input: Tensor<2>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<2> {
    let shape = ConvShape::downsampling(IMAGE, OUTPUTS);
    convolve(Convolution { direction: Direction::Down, shape, relu: true }, input, weight, bias)
}

fn burns(input: Tensor<2>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<2> {
    let images = input.reshape([IMAGE.channels, IMAGE.height, IMAGE.width, BATCH]);
    let options = ConvOptions::new([2, 2], [1, 1], [1, 1], 1);
    let output = conv2d(images.permute([3, 0, 1, 2]), weight, Some(bias), options);
    let rows = OUTPUTS * IMAGE.height / 2 * IMAGE.width / 2;
    activation::relu(output).permute([1, 2, 3, 0]).reshape([rows, BATCH])
}

/// Images, weights and a bias.
struct Inputs {
    images: TensorData,
    weight: TensorData,
    bias: TensorData,
}

impl Inputs {
    fn new() -> Self {
        let wave = |count: usize| -> Vec<f32> {
            (0..count).map(|index| (index as f32 * 0.37).sin()).collect()
        };
        let shape = [OUTPUTS, IMAGE.channels, 4, 4];
        Self {
            images: TensorData::new(wave(IMAGE.pixels() * BATCH), [IMAGE.pixels(), BATCH]),
            weight: TensorData::new(wave(shape.iter().product()), shape),
            bias: TensorData::new(wave(OUTPUTS), [OUTPUTS]),
        }
    }

    /// Returns how large the output and the gradients are, all in all.
    fn with_gradients(&self, by: fn(Tensor<2>, Tensor<4>, Tensor<1>) -> Tensor<2>) -> Vec<f64> {
        let device = Device::flex().autodiff();
        let mut sizes = Vec::new();
        for _ in 0..TIMES {
            let images = Tensor::<2>::from_data(self.images.clone(), &device).require_grad();
            let weight = Tensor::<4>::from_data(self.weight.clone(), &device).require_grad();
            let bias = Tensor::<1>::from_data(self.bias.clone(), &device).require_grad();
            let output = by(images.clone(), weight.clone(), bias.clone());
            let sum = output.square().sum();
            let gradients = sum.clone().backward();
            let size = |sum: Tensor<1>| f64::from(sum.into_scalar::<f32>());
            sizes.push(size(sum));
            sizes.extend(images.grad(&gradients).map(|gradients| size(gradients.square().sum())));
            sizes.extend(weight.grad(&gradients).map(|gradients| size(gradients.square().sum())));
            sizes.extend(bias.grad(&gradients).map(|gradients| size(gradients.square().sum())));
        }
        sizes
    }
}
