//! How distances between codes are compared with distances between samples.
//!
//! What: the mean of a loss over all n^2 pairs of a batch, a sample with itself included.
//! Reference: the paper's l(a, b) = |a^2 - b^2|, and the two others of its Table 8.
//! Assumptions: 1e-12 under the root keeps the gradient of a distance finite where codes coincide;
//! pairs at distance zero say nothing to a logarithm and count as zero.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use burn::tensor::Tensor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Added to squared distances before their root is taken.
const EPSILON: f64 = 1e-12;

/// A loss for the distance a of two codes and the distance b of their samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IsometryLoss {
    /// `|a^2 - b^2|`, the paper's choice.
    #[default]
    Absolute,
    /// `(a - b)^2`.
    Square,
    /// `log(a / b)^2`.
    Log,
}

impl IsometryLoss {
    /// Returns whether the loss grows with the square of the unit of distance.
    pub(super) const fn has_a_unit(self) -> bool {
        !matches!(self, Self::Log)
    }

    /// Returns the mean loss over all pairs, given codes `[batch, latent]` with a mean of zero and
    /// squared distances between samples `[batch, batch]`.
    pub(super) fn loss(self, codes: Tensor<2>, wanted: Tensor<2>) -> Tensor<1> {
        let squares = codes.clone().square().sum_dim(1); // [batch, 1]
        let products = codes.clone().matmul(codes.transpose()); // [batch, batch]
        let found = squares.clone() + squares.transpose() - products.mul_scalar(2.0);
        let losses = match self {
            Self::Absolute => (found - wanted).abs(),
            Self::Square => (distance(found) - wanted.sqrt()).square(),
            Self::Log => {
                let coincide = wanted.clone().equal_elem(0.0);
                let wanted = wanted.mask_fill(coincide.clone(), 1.0).sqrt();
                let ratio = distance(found).log() - wanted.log();
                ratio.mask_fill(coincide, 0.0).square()
            }
        };
        losses.mean_dim(1).mean()
    }
}

fn distance(squared: Tensor<2>) -> Tensor<2> {
    squared.clamp_min(0.0).add_scalar(EPSILON).sqrt()
}
