//! The same operations on libtorch, with its own autograd.
//!
//! What: burn computes the weight gradients of a convolution by a convolution over the whole batch, at
//! which libtorch is slow, and splits batch normalization and losses into many passes. Here libtorch
//! records each operation as it does for PyTorch, and burn's backward pass goes through that record.
//! Assumptions: `[features, batch]` is a view of memory that has the batch first, a layout that all
//! these operations preserve; other layouts are copied.
//! Checked against: burn's operations (the other files' tests), and PyTorch (tests/reference/models.json).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, LibTorch};

use super::Direction;
use super::adam::{AdamStep, AdamUpdate, Arrays};
use super::batch_norm::{BatchNormOptions, Moments, Normalize};
use super::convolution::{Convolution, Convolve};
use super::logit_loss::{LogitLoss, LogitLossOps};
use crate::data::ImageShape;

type Torch = FloatTensor<LibTorch>;
type Tracked<C> = FloatTensor<Autodiff<LibTorch, C>>;

/// Computes an operation; libtorch records it if any input is tracked.
fn recorded<C: CheckpointStrategy, const N: usize>(
    inputs: [Tracked<C>; N],
    operation: impl FnOnce(&[Torch; N]) -> Torch,
) -> Tracked<C> {
    let is_tracked = inputs.each_ref().map(|input| input.is_tracked());
    let nodes = inputs.each_ref().map(|input| input.node());
    let mut inputs = inputs.map(|input| input.into_primitive());
    match TorchBackward.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            for (input, is_tracked) in inputs.iter_mut().zip(is_tracked) {
                input.tensor = input.tensor.detach().set_requires_grad(is_tracked);
            }
            let output = operation(&inputs);
            let detached = Torch::new(output.tensor.detach());
            // A second reference keeps the detached output from being changed in place.
            prep.finish(Saved { inputs, output, _detached: detached.clone() }, detached)
        }
        OpsKind::UnTracked(prep) => prep.finish(operation(&inputs)),
    }
}

/// The two ends of libtorch's graph.
#[derive(Clone, Debug)]
struct Saved<const N: usize> {
    inputs: [Torch; N],
    output: Torch,
    _detached: Torch,
}

#[derive(Debug)]
struct TorchBackward;

impl<const N: usize> Backward<LibTorch, N> for TorchBackward {
    type State = Saved<N>;

    fn backward(self, ops: Ops<Saved<N>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradients = grads.consume::<LibTorch>(&ops.node);
        let Saved { inputs, output, .. } = ops.state;
        // Libtorch starts from a scalar: this product has `gradients` as its gradient.
        in_memory_order(&output).tensor.dot(&in_memory_order(&gradients).tensor).backward();
        for (node, input) in ops.parents.into_iter().zip(inputs) {
            if let Some(node) = node {
                grads.register::<LibTorch>(node.id, Torch::new(input.tensor.grad()));
            }
        }
    }
}

/// Returns all values flattened, sample by sample.
fn in_memory_order(values: &Torch) -> Torch {
    let tensor = &values.tensor;
    let samples = if tensor.dim() == 2 { tensor.tr() } else { tensor.shallow_clone() };
    Torch::new(samples.reshape([-1]))
}

/// Views `[features, batch]` as `[batch, channels, pixels]`.
fn channels(features: &Torch, channels: usize) -> Torch {
    let samples = features.tensor.tr();
    Torch::new(samples.reshape([samples.size()[0], channels as i64, -1]))
}

/// Views `[batch, ..]` as `[features, batch]`.
fn features(samples: &Torch) -> Torch {
    Torch::new(samples.tensor.flatten(1, -1).tr())
}

fn relu(mut values: Torch) -> Torch {
    let _ = values.tensor.relu_();
    values
}

fn resample(convolution: Convolution, [input, weight, bias]: &[Torch; 3]) -> Torch {
    let Convolution { direction, shape, relu: has_relu } = convolution;
    let (ImageShape { channels, height, width }, _) = shape.ends(direction);
    let sides = [channels, height, width].map(|side| side as i64);
    let images = input.tensor.tr().reshape([-1, sides[0], sides[1], sides[2]]);
    let (weight, bias) = (&weight.tensor, Some(&bias.tensor));
    let output = Torch::new(match direction {
        Direction::Down => images.conv2d(weight, bias, [2, 2], [1, 1], [1, 1], 1),
        Direction::Up => images.conv_transpose2d(weight, bias, [2, 2], [1, 1], [0, 0], 1, [1, 1]),
    });
    features(&if has_relu { relu(output) } else { output })
}

impl Convolve for LibTorch {
    fn convolve_2x(input: Torch, weight: Torch, bias: Torch, convolution: Convolution) -> Torch {
        resample(convolution, &[input, weight, bias])
    }
}

impl<C: CheckpointStrategy> Convolve for Autodiff<LibTorch, C> {
    fn convolve_2x(
        input: Tracked<C>,
        weight: Tracked<C>,
        bias: Tracked<C>,
        convolution: Convolution,
    ) -> Tracked<C> {
        recorded::<C, _>([input, weight, bias], |given| resample(convolution, given))
    }
}

impl Moments for LibTorch {
    fn channel_moments(input: Torch, count: usize) -> Torch {
        let values = channels(&input, count);
        let none = None::<&_>;
        let (mean, variance) = values.tensor.batch_norm_update_stats(none, none, 0.0);
        let rows = [mean, variance].map(|moment| Torch::new(moment.unsqueeze(0)));
        Self::float_cat(rows.into(), 0)
    }
}

fn standardize(
    BatchNormOptions { epsilon, batch_moments, relu: has_relu }: BatchNormOptions,
    [input, moments, weight, bias]: &[Torch; 4],
) -> Torch {
    let [mean, variance] = [0, 1].map(|row| moments.tensor.get(row));
    // In training libtorch computes the moments itself; running statistics are kept elsewhere.
    let (mean, variance) =
        if batch_moments { (None, None) } else { (Some(&mean), Some(&variance)) };
    let (weight, bias) = (&weight.tensor, &bias.tensor);
    let values = channels(input, weight.size()[0] as usize).tensor;
    let (weight, bias) = (Some(weight), Some(bias));
    let output = values.batch_norm(weight, bias, mean, variance, batch_moments, 0.0, epsilon, true);
    let output = Torch::new(output);
    features(&if has_relu { relu(output) } else { output })
}

impl Normalize for LibTorch {
    fn normalize_channels(
        input: Torch,
        moments: Torch,
        weight: Torch,
        bias: Torch,
        options: BatchNormOptions,
    ) -> Torch {
        standardize(options, &[input, moments, weight, bias])
    }
}

impl<C: CheckpointStrategy> Normalize for Autodiff<LibTorch, C> {
    fn normalize_channels(
        input: Tracked<C>,
        moments: Tracked<C>,
        weight: Tracked<C>,
        bias: Tracked<C>,
        options: BatchNormOptions,
    ) -> Tracked<C> {
        recorded::<C, _>([input, moments, weight, bias], |given| standardize(options, given))
    }
}

fn sum_losses(loss: LogitLoss, [logits, samples]: &[Torch; 2]) -> Torch {
    let (logits, samples) = (logits.tensor.tr(), &samples.tensor);
    let errors = match loss {
        LogitLoss::CrossEntropy => logits.softplus() - logits * samples,
        LogitLoss::SquaredError => (logits.sigmoid() - samples).square(),
    };
    // Sample by sample: the sum of a whole large tensor may depend on the number of threads.
    let kind = errors.kind();
    Torch::new(errors.sum_dim_intlist([1].as_slice(), false, kind).sum(kind).reshape([1]))
}

impl LogitLossOps for LibTorch {
    fn sum_logit_losses(logits: Torch, samples: Torch, loss: LogitLoss) -> Torch {
        sum_losses(loss, &[logits, samples])
    }
}

impl<C: CheckpointStrategy> LogitLossOps for Autodiff<LibTorch, C> {
    fn sum_logit_losses(logits: Tracked<C>, samples: Tracked<C>, loss: LogitLoss) -> Tracked<C> {
        recorded::<C, _>([logits, samples], |given| sum_losses(loss, given))
    }
}

impl AdamUpdate for LibTorch {
    fn adam_update(arrays: Arrays<Self>, gradients: Torch, step: AdamStep) -> Arrays<Self> {
        let AdamStep { beta_1, beta_2, epsilon, weight_decay, rate, correction } = step;
        let [mut weights, mut first, mut second] =
            [arrays.weights, arrays.first, arrays.second].map(own);
        let gradients = match weight_decay {
            0.0 => gradients.tensor,
            _ => &gradients.tensor + &weights.tensor * weight_decay,
        };
        let _ = first.tensor.lerp_(&gradients, 1.0 - beta_1);
        let _ = second.tensor.lerp_(&gradients.square(), 1.0 - beta_2);
        if rate > 0.0 {
            // Divided by the rate beforehand, which saves a pass over the moments.
            let mut deviation = second.tensor.sqrt();
            let _ = deviation.g_mul_scalar_(-1.0 / (correction * rate));
            let _ = deviation.g_add_scalar_(-epsilon / rate);
            let _ = weights.tensor.addcdiv_(&first.tensor, &deviation);
        }
        Arrays { weights, first, second }
    }
}

/// Returns the tensor to be changed in place, or a copy if its storage is shared.
fn own(tensor: Torch) -> Torch {
    if tensor.can_mut() { tensor } else { Torch::new(tensor.tensor.copy()) }
}
