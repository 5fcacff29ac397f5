//! The same operations on libtorch, by way of its own slopes.
//!
//! What: burn makes the slopes of a convolution's weights by a convolution over the whole batch, at
//! which libtorch is slow, and splits batch normalization and losses into many passes. Here libtorch
//! records each operation as it does for PyTorch, and slopes go back through its record.
//! Assumptions: `[features, batch]` is a view of memory that has the batch first, which all these
//! operations keep up; other memory is right, but copied.
//! Checked against: burn's operations (the other files' tests), and PyTorch (tests/reference/models.json).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, LibTorch};

use super::Way;
use super::comparison::{Compare, Comparison};
use super::convolution::{Convolution, Convolve};
use super::descent::{Arrays, Descend, Descent};
use super::normalization::{Moments, Normalization, Normalize};
use crate::data::ImageShape;

type Torch = FloatTensor<LibTorch>;
type Tracked<C> = FloatTensor<Autodiff<LibTorch, C>>;

/// Does an operation; libtorch records it if there is anything to go back to.
fn recorded<C: CheckpointStrategy, const N: usize>(
    inputs: [Tracked<C>; N],
    operation: impl FnOnce(&[Torch; N]) -> Torch,
) -> Tracked<C> {
    let is_tracked = inputs.each_ref().map(|input| input.is_tracked());
    let nodes = inputs.each_ref().map(|input| input.node());
    let mut inputs = inputs.map(|input| input.into_primitive());
    match Slopes.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => {
            for (input, is_tracked) in inputs.iter_mut().zip(is_tracked) {
                input.tensor = input.tensor.detach().set_requires_grad(is_tracked);
            }
            let output = operation(&inputs);
            let shown = Torch::new(output.tensor.detach());
            // Kept, the shown one is never changed in place.
            prep.finish(Seen { inputs, output, _shown: shown.clone() }, shown)
        }
        OpsKind::UnTracked(prep) => prep.finish(operation(&inputs)),
    }
}

/// The ends of libtorch's record.
#[derive(Clone, Debug)]
struct Seen<const N: usize> {
    inputs: [Torch; N],
    output: Torch,
    _shown: Torch,
}

#[derive(Debug)]
struct Slopes;

impl<const N: usize> Backward<LibTorch, N> for Slopes {
    type State = Seen<N>;

    fn backward(self, ops: Ops<Seen<N>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let slopes = grads.consume::<LibTorch>(&ops.node);
        let Seen { inputs, output, .. } = ops.state;
        // Libtorch starts from a single number; these are the slopes of this one by the output.
        in_memory_order(&output).tensor.dot(&in_memory_order(&slopes).tensor).backward();
        for (node, input) in ops.parents.into_iter().zip(inputs) {
            if let Some(node) = node {
                grads.register::<LibTorch>(node.id, Torch::new(input.tensor.grad()));
            }
        }
    }
}

/// Returns all values in a row, those of a sample together.
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
    let Convolution { way, scales, relu: is_cut } = convolution;
    let (ImageShape { channels, height, width }, _) = scales.along(way);
    let sides = [channels, height, width].map(|side| side as i64);
    let images = input.tensor.tr().reshape([-1, sides[0], sides[1], sides[2]]);
    let (weight, bias) = (&weight.tensor, Some(&bias.tensor));
    let output = Torch::new(match way {
        Way::Down => images.conv2d(weight, bias, [2, 2], [1, 1], [1, 1], 1),
        Way::Up => images.conv_transpose2d(weight, bias, [2, 2], [1, 1], [0, 0], 1, [1, 1]),
    });
    features(&if is_cut { relu(output) } else { output })
}

impl Convolve for LibTorch {
    fn gather_2x(input: Torch, weight: Torch, bias: Torch, convolution: Convolution) -> Torch {
        resample(convolution, &[input, weight, bias])
    }
}

impl<C: CheckpointStrategy> Convolve for Autodiff<LibTorch, C> {
    fn gather_2x(
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
    Normalization { epsilon, own_moments, relu: is_cut }: Normalization,
    [input, moments, weight, bias]: &[Torch; 4],
) -> Torch {
    let [mean, variance] = [0, 1].map(|row| moments.tensor.get(row));
    // Its own moments it finds itself, and none are followed here.
    let (mean, variance) = if own_moments { (None, None) } else { (Some(&mean), Some(&variance)) };
    let (weight, bias) = (&weight.tensor, &bias.tensor);
    let values = channels(input, weight.size()[0] as usize).tensor;
    let (weight, bias) = (Some(weight), Some(bias));
    let output = values.batch_norm(weight, bias, mean, variance, own_moments, 0.0, epsilon, true);
    let output = Torch::new(output);
    features(&if is_cut { relu(output) } else { output })
}

impl Normalize for LibTorch {
    fn normalize_channels(
        input: Torch,
        moments: Torch,
        weight: Torch,
        bias: Torch,
        normalization: Normalization,
    ) -> Torch {
        standardize(normalization, &[input, moments, weight, bias])
    }
}

impl<C: CheckpointStrategy> Normalize for Autodiff<LibTorch, C> {
    fn normalize_channels(
        input: Tracked<C>,
        moments: Tracked<C>,
        weight: Tracked<C>,
        bias: Tracked<C>,
        normalization: Normalization,
    ) -> Tracked<C> {
        recorded::<C, _>([input, moments, weight, bias], |given| standardize(normalization, given))
    }
}

fn loss(comparison: Comparison, [logits, samples]: &[Torch; 2]) -> Torch {
    let (logits, samples) = (logits.tensor.tr(), &samples.tensor);
    let errors = match comparison {
        Comparison::CrossEntropy => logits.softplus() - logits * samples,
        Comparison::SquaredError => (logits.sigmoid() - samples).square(),
    };
    // Sample by sample: the sum of a whole large tensor may depend on the number of threads.
    let kind = errors.kind();
    Torch::new(errors.sum_dim_intlist([1].as_slice(), false, kind).sum(kind).reshape([1]))
}

impl Compare for LibTorch {
    fn compare_logits(logits: Torch, samples: Torch, comparison: Comparison) -> Torch {
        loss(comparison, &[logits, samples])
    }
}

impl<C: CheckpointStrategy> Compare for Autodiff<LibTorch, C> {
    fn compare_logits(
        logits: Tracked<C>,
        samples: Tracked<C>,
        comparison: Comparison,
    ) -> Tracked<C> {
        recorded::<C, _>([logits, samples], |given| loss(comparison, given))
    }
}

impl Descend for LibTorch {
    fn descend(arrays: Arrays<Self>, slopes: Torch, descent: Descent) -> Arrays<Self> {
        let Descent { beta_1, beta_2, epsilon, weight_decay, length, correction } = descent;
        let [mut weights, mut first, mut second] =
            [arrays.weights, arrays.first, arrays.second].map(own);
        let slopes = match weight_decay {
            0.0 => slopes.tensor,
            _ => &slopes.tensor + &weights.tensor * weight_decay,
        };
        let _ = first.tensor.lerp_(&slopes, 1.0 - beta_1);
        let _ = second.tensor.lerp_(&slopes.square(), 1.0 - beta_2);
        if length > 0.0 {
            // Divided by the length already: that saves a pass over the means.
            let mut spread = second.tensor.sqrt();
            let _ = spread.g_mul_scalar_(-1.0 / (correction * length));
            let _ = spread.g_add_scalar_(-epsilon / length);
            let _ = weights.tensor.addcdiv_(&first.tensor, &spread);
        }
        Arrays { weights, first, second }
    }
}

/// Returns the tensor, or a copy if others see it, to be changed.
fn own(tensor: Torch) -> Torch {
    if tensor.can_mut() { tensor } else { Torch::new(tensor.tensor.copy()) }
}
