//! Named loss terms, and the reconstruction loss that all models share.

use burn::tensor::{Tensor, activation};

/// The parts of a loss, each with its name, and their weighted sum.
#[derive(Clone, Debug)]
pub struct Losses {
    /// What is minimized: a single number.
    pub total: Tensor<1>,
    /// The unweighted parts, for the record.
    pub terms: Vec<(&'static str, Tensor<1>)>,
}

/// Returns the binary cross-entropy of pixels given logits, summed over the pixels of an image
/// and averaged over the batch.
///
/// Uses `l (1 - x) - log sigmoid(l)`, which neither overflows nor needs the probabilities.
pub fn reconstruction(logits: Tensor<4>, images: Tensor<4>) -> Tensor<1> {
    let log_likely = activation::log_sigmoid(logits.clone());
    let dark = images.neg().add_scalar(1.0);
    // Image by image: the sum of a whole large tensor may depend on the number of threads.
    let pixels: Tensor<2> = (logits * dark - log_likely).flatten(1, 3);
    pixels.sum_dim(1).mean()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceName, open};

    #[test]
    fn reconstruction_sums_over_pixels_and_averages_over_images() {
        let device = open(DeviceName::Cpu).unwrap();
        let logits = Tensor::<4>::zeros([2, 1, 1, 3], &device);
        let images = Tensor::<4>::ones([2, 1, 1, 3], &device);
        let loss: f32 = reconstruction(logits, images).into_scalar();
        assert!((loss - 3.0 * std::f32::consts::LN_2).abs() < 1e-6);
    }

    #[test]
    fn extreme_logits_give_finite_losses() {
        let device = open(DeviceName::Cpu).unwrap();
        let logits = Tensor::<4>::from_floats([[[[200.0, -200.0]]]], &device);
        let images = Tensor::<4>::from_floats([[[[0.0, 0.0]]]], &device);
        let loss: f32 = reconstruction(logits, images).into_scalar();
        assert!((loss - 200.0).abs() < 1e-3);
    }
}
