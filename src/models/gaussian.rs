//! Codes as normal distributions, for variational autoencoders.
//!
//! What: an encoder gives means and logarithms of variances; a code is drawn by scaling noise, and
//! compared with a normal prior of given variances.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::tensor::Tensor;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::encoder::Encoder;
use crate::device::send;

/// Normal distributions of the codes of a batch.
pub(super) struct Gaussian {
    /// `[batch, latent]`
    pub(super) mean: Tensor<2>,
    /// `[batch, latent]`
    pub(super) log_variance: Tensor<2>,
}

impl Gaussian {
    /// Reads an encoder's output: first the means, then the logarithms.
    pub(super) fn of(encoder: &Encoder, inputs: Tensor<2>) -> Self {
        let both = encoder.forward(inputs);
        let latent = both.dims()[1] / 2;
        Self {
            mean: both.clone().narrow(1, 0, latent),
            log_variance: both.narrow(1, latent, latent),
        }
    }

    /// Returns codes drawn with standard normal noise of the same shape.
    pub(super) fn draw(&self, noise: Tensor<2>) -> Tensor<2> {
        self.mean.clone() + self.log_variance.clone().mul_scalar(0.5).exp() * noise
    }

    /// Returns codes drawn with noise from a random stream.
    pub(super) fn draw_from(&self, rng: &mut ChaCha8Rng) -> Tensor<2> {
        let shape = self.mean.dims();
        let noise = noise(rng, shape.iter().product());
        self.draw(send(noise, shape, &self.mean.device()))
    }

    /// Returns the divergence from a centered normal prior with these variances, summed over
    /// coordinates and averaged over the batch.
    pub(super) fn divergence(&self, prior: &[f64]) -> Tensor<1> {
        let device = self.mean.device();
        let row = |value: fn(f64) -> f64| {
            let values: Vec<f32> = prior.iter().map(|&variance| value(variance) as f32).collect();
            send(values, [1, prior.len()], &device)
        };
        let second_moment = self.mean.clone().square() + self.log_variance.clone().exp();
        let terms = second_moment * row(f64::recip) - self.log_variance.clone() + row(f64::ln);
        terms.add_scalar(-1.0).mul_scalar(0.5).sum_dim(1).mean()
    }
}

/// Draws standard normal noise for a batch.
pub(super) fn noise(rng: &mut ChaCha8Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| StandardNormal.sample(rng)).collect()
}
