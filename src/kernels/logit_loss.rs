//! Reconstruction losses of logits with their gradients, in one pass.
//!
//! What: the sum over all values of a batch of the cross-entropy, or of the squared error of the
//! probabilities. Logits are `[values, batch]`, as decoders compute them; samples `[batch, values]`.
//! Assumptions: samples need no gradients.
//! Checked against: the same in double precision (below), and PyTorch (tests/reference/models.json).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use pulp::{Simd, WithSimd};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator, ParallelSliceMut,
};

use super::autodiff::record;
use super::flex_tensor::{CHUNK, FlexTensor, contiguous, tensor, values, values_mut};

/// Rows of logits at a time: as many values of a sample as share a cache line.
const ROWS: usize = 16;

/// How logits are compared with samples between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogitLoss {
    /// Binary cross-entropy.
    CrossEntropy,
    /// Squared error of the probabilities.
    SquaredError,
}

/// Returns the sum of the losses of all values.
pub(crate) fn logit_loss(loss: LogitLoss, logits: Tensor<2>, samples: Tensor<2>) -> Tensor<1> {
    let (logits, samples) = (logits.into_dispatch(), samples.into_dispatch());
    Tensor::from_dispatch(Dispatch::sum_logit_losses(logits, samples, loss))
}

#[backend_extension(Flex, LibTorch: cfg(feature = "tch"), Autodiff)]
pub(crate) trait LogitLossOps: Backend {
    fn sum_logit_losses(
        logits: FloatTensor<Self>,
        samples: FloatTensor<Self>,
        loss: LogitLoss,
    ) -> FloatTensor<Self>;
}

impl LogitLossOps for Flex {
    fn sum_logit_losses(logits: FlexTensor, samples: FlexTensor, loss: LogitLoss) -> FlexTensor {
        with_gradients(loss, logits, samples).0
    }
}

impl<C: CheckpointStrategy> LogitLossOps for Autodiff<Flex, C> {
    fn sum_logit_losses(
        logits: FloatTensor<Self>,
        samples: FloatTensor<Self>,
        loss: LogitLoss,
    ) -> FloatTensor<Self> {
        let (logits, node) = logits.into_parts();
        let (loss, gradients) = with_gradients(loss, logits, samples.into_primitive());
        record::<C, _, 1>(LogitLossBackward, [node], loss, |_| gradients)
    }
}

#[derive(Debug)]
struct LogitLossBackward;

impl Backward<Flex, 1> for LogitLossBackward {
    type State = FlexTensor;

    fn backward(self, ops: Ops<FlexTensor, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [Some(node)] = ops.parents else {
            return;
        };
        let factor = values(&contiguous(grads.consume::<Flex>(&ops.node)))[0];
        let mut gradients = ops.state;
        values_mut(&mut gradients).par_chunks_mut(CHUNK).for_each(|gradients| {
            for gradient in gradients {
                *gradient *= factor;
            }
        });
        grads.register::<Flex>(node.id, gradients);
    }
}

/// Returns the loss, and its gradients with respect to the logits.
fn with_gradients(
    loss: LogitLoss,
    logits: FlexTensor,
    samples: FlexTensor,
) -> (FlexTensor, FlexTensor) {
    let (logits, samples) = (contiguous(logits), contiguous(samples));
    let shape = logits.layout().shape();
    let (count, batch) = (shape[0], shape[1]);
    let (logits, samples) = (values(&logits), values(&samples));
    let mut gradients = vec![0.0; logits.len()];
    let mut sums = vec![0.0; count.div_ceil(ROWS)];
    let arch = pulp::Arch::new();
    let parts = gradients.par_chunks_mut(ROWS * batch).zip(sums.par_iter_mut()).enumerate();
    parts.for_each_init(Vec::new, |transposed, (part, (gradients, sum))| {
        let first = part * ROWS;
        let rows = ROWS.min(count - first);
        transposed.resize(rows * batch, 0.0);
        for (sample, values) in samples.chunks_exact(count).enumerate() {
            for (row, value) in values[first..first + rows].iter().enumerate() {
                transposed[row * batch + sample] = *value;
            }
        }
        let logits = &logits[first * batch..][..rows * batch];
        *sum = arch.dispatch(Rows { loss, logits, samples: transposed, gradients });
    });
    let sum: f64 = sums.iter().sum();
    (tensor(vec![sum as f32], [1]), tensor(gradients, [count, batch]))
}

/// Some rows of logits, with the samples that they should reproduce.
struct Rows<'a> {
    loss: LogitLoss,
    logits: &'a [f32],
    samples: &'a [f32],
    gradients: &'a mut [f32],
}

impl WithSimd for Rows<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        match self.loss {
            LogitLoss::CrossEntropy => self.sum(cross_entropy),
            LogitLoss::SquaredError => self.sum(squared_error),
        }
    }
}

impl Rows<'_> {
    /// Sums up losses in independent partial sums, for SIMD.
    #[inline(always)]
    fn sum(self, loss: impl Fn(f32, f32) -> (f32, f32)) -> f64 {
        let mut sums = [0.0_f32; 16];
        let (logits, logits_left) = self.logits.as_chunks::<16>();
        let (samples, samples_left) = self.samples.as_chunks::<16>();
        let (gradients, gradients_left) = self.gradients.as_chunks_mut::<16>();
        for ((logits, samples), gradients) in logits.iter().zip(samples).zip(gradients) {
            for lane in 0..16 {
                let found = loss(logits[lane], samples[lane]);
                sums[lane] += found.0;
                gradients[lane] = found.1;
            }
        }
        let left = logits_left.iter().zip(samples_left).zip(gradients_left);
        for (((logit, sample), gradient), sum) in left.zip(&mut sums) {
            let found = loss(*logit, *sample);
            *sum += found.0;
            *gradient = found.1;
        }
        sums.iter().map(|&sum| f64::from(sum)).sum()
    }
}

/// `max(l, 0) - l x + log(1 + exp(-|l|))`, which neither overflows nor needs the probability.
#[inline(always)]
fn cross_entropy(logit: f32, sample: f32) -> (f32, f32) {
    let small = exp_of_negative(-logit.abs());
    let above = if logit > 0.0 { logit } else { 0.0 };
    let loss = above - logit * sample + log_of_one_and(small);
    (loss, probability(logit, small) - sample)
}

#[inline(always)]
fn squared_error(logit: f32, sample: f32) -> (f32, f32) {
    let probability = probability(logit, exp_of_negative(-logit.abs()));
    let error = probability - sample;
    (error * error, 2.0 * error * probability * (1.0 - probability))
}

/// Returns the probability of a logit, given `exp(-|l|)`.
#[inline(always)]
fn probability(logit: f32, small: f32) -> f32 {
    let numerator = if logit > 0.0 { 1.0 } else { small };
    numerator / (1.0 + small)
}

/// `exp(x)` for x up to 0: a power of two by its bits, and Taylor's series for the rest.
#[inline(always)]
fn exp_of_negative(x: f32) -> f32 {
    /// Brings a float to the nearest whole number, when added and subtracted again.
    const ROUNDING: f32 = 12_582_912.0;
    /// ln 2, the first part exact in few bits.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    // Below, the result is no normal number any more. What is not a number stays so.
    let x = if x < -87.0 { -87.0 } else { x };
    let power = (x * std::f32::consts::LOG2_E + ROUNDING) - ROUNDING;
    let rest = (x - power * LN_2[0]) - power * LN_2[1];
    let mut sum = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * rest + factor;
    }
    let exponent = (power + ROUNDING).to_bits().wrapping_sub(ROUNDING.to_bits());
    sum * f32::from_bits(exponent.wrapping_add(127) << 23)
}

/// `log(1 + x)` for x between 0 and 1, as twice the inverse hyperbolic tangent of `x / (2 + x)`.
#[inline(always)]
fn log_of_one_and(x: f32) -> f32 {
    let ratio = x / (2.0 + x);
    let square = ratio * ratio;
    let mut sum = 1.0 / 15.0;
    for factor in [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 0.2, 1.0 / 3.0, 1.0] {
        sum = sum * square + factor;
    }
    2.0 * ratio * sum
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::kernels::test_device;

    #[test]
    fn losses_and_gradients_are_those_in_double_precision() {
        for step in -4000..=4000 {
            let logit = step as f32 * 0.025;
            for sample in [0.0, 0.25, 1.0_f32] {
                let (l, x) = (f64::from(logit), f64::from(sample));
                let p = 1.0 / (1.0 + (-l).exp());
                let entropy = l.max(0.0) - l * x + (-l.abs()).exp().ln_1p();
                let near = |found: f32, expected: f64, scale: f64| {
                    let apart = (f64::from(found) - expected).abs();
                    assert!(
                        apart <= 4e-7 * expected.abs().max(scale),
                        "{logit}: {found} {expected}"
                    );
                };
                // Gradients are differences of numbers up to 1, and have the rounding of these.
                let (loss, gradient) = cross_entropy(logit, sample);
                near(loss, entropy, 0.1);
                near(gradient, p - x, 0.5);
                let (loss, gradient) = squared_error(logit, sample);
                near(loss, (p - x).powi(2), 0.1);
                near(gradient, 2.0 * (p - x) * p * (1.0 - p), 0.5);
            }
        }
    }

    #[test]
    fn a_logit_that_is_not_a_number_gives_a_loss_that_is_none() {
        assert!(cross_entropy(f32::NAN, 1.0).0.is_nan());
        assert!(squared_error(f32::NAN, 1.0).0.is_nan());
    }

    #[test]
    fn samples_are_compared_with_their_own_logits_and_gradients_are_scaled() {
        let device = test_device().autodiff();
        let (count, batch) = (19, 37);
        let table = |turned: bool| -> Vec<f32> {
            let at = |value: usize, sample: usize| ((value * 7 + sample * 3) % 11) as f32 / 10.0;
            let place = |index: usize| {
                if turned {
                    at(index % count, index / count)
                } else {
                    at(index / batch, index % batch)
                }
            };
            (0..count * batch).map(place).collect()
        };
        let logits = TensorData::new(table(false), [count, batch]);
        let logits = Tensor::<2>::from_data(logits, &device).require_grad();
        let samples = Tensor::<2>::from_data(TensorData::new(table(true), [batch, count]), &device);
        let loss = logit_loss(LogitLoss::SquaredError, logits.clone(), samples).mul_scalar(3.0);
        let gradients = loss.clone().backward();
        let gradients = logits.grad(&gradients).unwrap().into_data();
        let mut expected = 0.0;
        for (value, gradient) in table(false).into_iter().zip(gradients.iter::<f32>()) {
            let (loss, own) = squared_error(value, value);
            expected += 3.0 * f64::from(loss);
            assert!((gradient - 3.0 * own).abs() < 1e-6);
        }
        let found = f64::from(loss.into_scalar::<f32>());
        assert!((found - expected).abs() < 1e-5 * expected, "{found} {expected}");
    }
}
