//! A convolution with all its slopes, guarded against burn's own.
//!
//! No other program's: trainings have one, and most of their time goes here.

use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor, TensorData, activation};
use pcae::data::ImageShape;
use pcae::kernels::{Convolution, Scales, Way, convolve};

use crate::item::{Given, Guard, Item, Measured, Peer};

const BATCH: usize = 64;
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
        format!("Convolution of {BATCH} images, 32 to {OUTPUTS} channels, with slopes")
    }

    fn ours(&self, _given: &Given) -> Result<Measured, String> {
        Ok(Measured::of(|| with_slopes(own)).1)
    }

    fn peer(&self) -> Option<Peer> {
        None
    }

    fn guard(&self) -> Option<Guard> {
        let (ours, naive) = (|| with_slopes(own), || with_slopes(burns));
        Some(Guard { floor: 1.5, ours: Box::new(ours), naive: Box::new(naive) })
    }
}

fn own(input: Tensor<2>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<2> {
    let scales = Scales::halving(IMAGE, OUTPUTS);
    convolve(Convolution { way: Way::Down, scales, relu: true }, input, weight, bias)
}

fn burns(input: Tensor<2>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<2> {
    let images = input.reshape([IMAGE.channels, IMAGE.height, IMAGE.width, BATCH]);
    let options = ConvOptions::new([2, 2], [1, 1], [1, 1], 1);
    let output = conv2d(images.permute([3, 0, 1, 2]), weight, Some(bias), options);
    let rows = OUTPUTS * IMAGE.height / 2 * IMAGE.width / 2;
    activation::relu(output).permute([1, 2, 3, 0]).reshape([rows, BATCH])
}

/// Returns how large the output and the slopes are, all in all.
fn with_slopes(by: fn(Tensor<2>, Tensor<4>, Tensor<1>) -> Tensor<2>) -> Vec<f64> {
    let device = Device::flex().autodiff();
    let wave = |count: usize| -> Vec<f32> { (0..count).map(|i| (i as f32 * 0.37).sin()).collect() };
    let input = TensorData::new(wave(IMAGE.pixels() * BATCH), [IMAGE.pixels(), BATCH]);
    let input = Tensor::<2>::from_data(input, &device).require_grad();
    let shape = [OUTPUTS, IMAGE.channels, 4, 4];
    let weight = TensorData::new(wave(shape.iter().product()), shape);
    let weight = Tensor::<4>::from_data(weight, &device).require_grad();
    let bias = Tensor::<1>::from_floats(wave(OUTPUTS).as_slice(), &device).require_grad();
    let output = by(input.clone(), weight.clone(), bias.clone());
    let slopes = output.clone().square().sum().backward();
    let size = |data: TensorData| data.iter::<f32>().map(|v| f64::from(v).powi(2)).sum::<f64>();
    let grad = [
        input.grad(&slopes).map(Tensor::into_data),
        weight.grad(&slopes).map(Tensor::into_data),
        bias.grad(&slopes).map(Tensor::into_data),
    ];
    grad.into_iter().flatten().chain([output.into_data()]).map(size).collect()
}
