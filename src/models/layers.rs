//! Fully connected layers, batch normalization, and how weights are initialized.
//!
//! Reference: initial weights are PyTorch's default for `Linear`, `Conv2d` and
//! `ConvTranspose2d`: uniform within 1 / sqrt(fan in), weights and biases alike. (burn's own
//! default differs, and IRMAE's low rank depends on this one.)
//! Assumptions: activations have the batch last, `[features, batch]`: convolutions then move whole
//! rows, see `convolutions`.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::module::{Module, Param, RunningState};
use burn::tensor::{Device, Tensor, TensorData, activation};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::pytorch::Layer;
use super::tangents::Affine;
use crate::kernels::{self, BatchNormOptions, has_kernel};

/// Draws initial weights, in the order in which layers are made.
pub(crate) struct Initializer<'a> {
    pub(crate) rng: ChaCha8Rng,
    pub(crate) device: &'a Device,
}

impl Initializer<'_> {
    /// Draws a parameter uniformly within `1 / sqrt(fan_in)`.
    pub(crate) fn draw<const D: usize>(
        &mut self,
        shape: [usize; D],
        fan_in: usize,
    ) -> Param<Tensor<D>> {
        let bound = 1.0 / (fan_in as f64).sqrt();
        let values: Vec<f32> = (0..shape.iter().product())
            .map(|_| (bound * (2.0 * self.rng.random::<f64>() - 1.0)) as f32)
            .collect();
        Param::from_data(TensorData::new(values, shape), self.device)
    }
}

/// A fully connected layer.
#[derive(Module, Debug)]
pub(crate) struct Dense {
    /// `[outputs, inputs]`
    weight: Param<Tensor<2>>,
    /// `[outputs]`
    bias: Param<Tensor<1>>,
}

impl Dense {
    pub(crate) fn new(inputs: usize, outputs: usize, initial: &mut Initializer<'_>) -> Self {
        Self {
            weight: initial.draw([outputs, inputs], inputs),
            bias: initial.draw([outputs], inputs),
        }
    }

    /// `[inputs, batch]` to `[outputs, batch]`
    pub(crate) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.map(input) + self.bias.val().unsqueeze_dim(1)
    }

    /// Returns the layer as PyTorch has it.
    pub(crate) fn pytorch(&self) -> Layer {
        Self::pytorch_side_by_side(&[self])
    }

    /// Returns layers of the same inputs as one layer, whose outputs are theirs one after the other.
    pub(super) fn pytorch_side_by_side(layers: &[&Self]) -> Layer {
        let weight = Tensor::cat(layers.iter().map(|layer| layer.weight.val()).collect(), 0);
        let bias = Tensor::cat(layers.iter().map(|layer| layer.bias.val()).collect(), 0);
        let [outputs, inputs] = weight.dims();
        Layer::new(format!("nn.Linear({inputs}, {outputs})"))
            .with("weight", weight)
            .with("bias", bias)
    }
}

impl Affine for Dense {
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.forward(input)
    }

    fn map(&self, tangents: Tensor<2>) -> Tensor<2> {
        self.weight.val().matmul(tangents)
    }
}

/// A square linear layer without bias.
#[derive(Module, Debug)]
pub(super) struct Linear {
    /// `[width, width]`
    weight: Param<Tensor<2>>,
}

impl Linear {
    pub(super) fn new(width: usize, initial: &mut Initializer<'_>) -> Self {
        Self { weight: initial.draw([width, width], width) }
    }

    /// `[batch, width]` to `[batch, width]`
    pub(super) fn forward(&self, codes: Tensor<2>) -> Tensor<2> {
        codes.matmul(self.weight.val().transpose())
    }

    /// Returns the layer as PyTorch has it.
    pub(super) fn pytorch(&self) -> Layer {
        let [outputs, inputs] = self.weight.dims();
        Layer::new(format!("nn.Linear({inputs}, {outputs}, bias=False)"))
            .with("weight", self.weight.val())
    }
}

/// Added to variances before their root is taken, as in PyTorch.
const EPSILON: f64 = 1e-5;
/// Weight of the newest batch in the running statistics, as in PyTorch.
const MOMENTUM: f64 = 0.1;

/// Normalizes every channel, a row of `[channels, values]`, to mean 0 and variance 1: by the
/// statistics of the batch in training, by the running ones in inference.
fn normalize(
    input: Tensor<2>,
    running_mean: &RunningState<Tensor<1>>,
    running_variance: &RunningState<Tensor<1>>,
) -> Tensor<2> {
    let (mean, variance) = if input.device().is_autodiff() {
        let mean = input.clone().mean_dim(1);
        let variance = (input.clone() - mean.clone()).square().mean_dim(1);
        update_running(running_mean, mean.clone());
        update_running(running_variance, unbiased(variance.clone(), input.dims()[1]));
        (mean, variance)
    } else {
        (running_mean.value().unsqueeze_dim(1), running_variance.value().unsqueeze_dim(1))
    };
    (input - mean) / variance.add_scalar(EPSILON).sqrt()
}

/// Returns the unbiased estimate of a variance, given the biased one.
fn unbiased(variance: Tensor<2>, count: usize) -> Tensor<2> {
    let count = count as f64;
    variance.mul_scalar(count / (count - 1.0).max(1.0))
}

/// Moves a running statistic toward that of the newest batch.
fn update_running(running: &RunningState<Tensor<1>>, newest: Tensor<2>) {
    let newest: Tensor<1> = newest.detach().squeeze_dim(1);
    let old = running.value_sync().mul_scalar(1.0 - MOMENTUM);
    set_running(running, (old + newest.mul_scalar(MOMENTUM)).detach());
}

fn set_running(running: &RunningState<Tensor<1>>, value: Tensor<1>) {
    running.update(value);
    // An update takes effect when the value is read: read it, so that stored weights are up to date.
    running.value_sync();
}

fn running(value: f32, channels: usize, device: &Device) -> RunningState<Tensor<1>> {
    RunningState::new(Tensor::full([channels], value, device))
}

/// Batch normalization of single numbers, without scale and shift.
#[derive(Module, Debug)]
pub(super) struct NonAffineBatchNorm {
    mean: RunningState<Tensor<1>>,
    variance: RunningState<Tensor<1>>,
}

impl NonAffineBatchNorm {
    pub(super) fn new(device: &Device) -> Self {
        Self { mean: running(0.0, 1, device), variance: running(1.0, 1, device) }
    }

    /// `[1, batch]` to the same.
    pub(super) fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        normalize(input, &self.mean, &self.variance)
    }

    /// Returns normalizations of several numbers as one layer of PyTorch.
    pub(super) fn pytorch_side_by_side(norms: &[Self]) -> Layer {
        let all = |part: fn(&Self) -> &RunningState<Tensor<1>>| {
            Tensor::cat(norms.iter().map(|norm| part(norm).value()).collect(), 0)
        };
        Layer::new(format!("nn.BatchNorm1d({}, affine=False)", norms.len()))
            .with("running_mean", all(|norm| &norm.mean))
            .with("running_var", all(|norm| &norm.variance))
    }
}

/// Batch normalization with a scale and a shift for each channel.
#[derive(Module, Debug)]
pub(super) struct BatchNorm {
    /// `[channels]`
    weight: Param<Tensor<1>>,
    /// `[channels]`
    bias: Param<Tensor<1>>,
    mean: RunningState<Tensor<1>>,
    variance: RunningState<Tensor<1>>,
}

impl BatchNorm {
    pub(super) fn new(channels: usize, device: &Device) -> Self {
        let constant = |value: f32| {
            Param::from_data(TensorData::new(vec![value; channels], [channels]), device)
        };
        Self {
            weight: constant(1.0),
            bias: constant(0.0),
            mean: running(0.0, channels, device),
            variance: running(1.0, channels, device),
        }
    }

    /// Returns the running mean and variance.
    pub(super) fn statistics(&self) -> [Tensor<1>; 2] {
        [&self.mean, &self.variance].map(RunningState::value_sync)
    }

    /// Returns the layer as PyTorch has it.
    pub(super) fn pytorch(&self) -> Layer {
        Layer::new(format!("nn.BatchNorm2d({})", self.weight.dims()[0]))
            .with("weight", self.weight.val())
            .with("bias", self.bias.val())
            .with("running_mean", self.mean.value())
            .with("running_var", self.variance.value())
    }

    /// Takes back a running mean and variance.
    pub(super) fn set_statistics(&self, [mean, variance]: [Tensor<1>; 2]) {
        set_running(&self.mean, mean);
        set_running(&self.variance, variance);
    }

    /// `[channels * pixels, batch]` to the same.
    fn forward(&self, input: Tensor<2>, relu: bool) -> Tensor<2> {
        if has_kernel(&input.device()) {
            return self.forward_fused(input, relu);
        }
        let [rows, batch] = input.dims();
        let channels = self.weight.dims()[0];
        let values = input.reshape([channels, rows / channels * batch]);
        let normal = normalize(values, &self.mean, &self.variance);
        let scaled = normal * self.weight.val().unsqueeze_dim(1);
        let output = (scaled + self.bias.val().unsqueeze_dim(1)).reshape([rows, batch]);
        if relu { activation::relu(output) } else { output }
    }

    fn forward_fused(&self, input: Tensor<2>, relu: bool) -> Tensor<2> {
        let batch_moments = input.device().is_autodiff();
        let channels = self.weight.dims()[0];
        let moments = if batch_moments {
            let moments = Tensor::from_inner(kernels::moments(input.clone().inner(), channels));
            let count = input.shape().num_elements() / channels;
            let (mean, variance) =
                (moments.clone().narrow(0, 0, 1), moments.clone().narrow(0, 1, 1));
            update_running(&self.mean, mean.transpose());
            update_running(&self.variance, unbiased(variance.transpose(), count));
            moments
        } else {
            let (mean, variance) = (self.mean.value(), self.variance.value());
            Tensor::cat(vec![mean.unsqueeze_dim(0), variance.unsqueeze_dim(0)], 0)
        };
        let options = BatchNormOptions { epsilon: EPSILON, batch_moments, relu };
        let (weight, bias) = (self.weight.val(), self.bias.val());
        kernels::batch_norm(options, input, moments, weight, bias)
    }
}

impl Affine for BatchNorm {
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.forward(input, false)
    }

    fn forward_relu(&self, input: Tensor<2>) -> Tensor<2> {
        self.forward(input, true)
    }

    fn map(&self, tangents: Tensor<2>) -> Tensor<2> {
        let [rows, batch] = tangents.dims();
        let channels = self.weight.dims()[0];
        let scale = self.weight.val() / self.variance.value().add_scalar(EPSILON).sqrt();
        let values = tangents.reshape([channels, rows / channels * batch]);
        (values * scale.unsqueeze_dim(1)).reshape([rows, batch])
    }
}
