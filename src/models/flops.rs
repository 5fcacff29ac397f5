//! Floating-point operations of networks and models, counted from their settings.
//!
//! What: two operations for each product of a matrix or a convolution, and a few for each output
//! value of a layer. A backward pass costs twice as much as a forward pass.
//! Assumptions: optimizers and losses are small beside the layers.

use super::network::{LastLayer, NetworkSpec};
use super::{ModelError, ModelSpec};
use crate::data::{ImageShape, SampleForm};

/// Operations for each output value of a layer: a bias, an activation, moving it in memory.
const PER_VALUE: f64 = 16.0;

/// Side of the kernels of convolutions.
const KERNEL: f64 = 4.0;

/// Forward and backward pass together, in units of the forward pass.
const FORWARD_BACKWARD: f64 = 3.0;

/// Operations for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flops {
    /// From the sample to the code.
    pub encode: f64,
    /// From the code to the sample.
    pub decode: f64,
}

impl Flops {
    /// Returns the operations of a linear map to a code and back.
    pub(super) fn linear(values: usize, latent: usize) -> Self {
        let product = dense(values, latent);
        Self { encode: product, decode: product }
    }

    /// Returns the operations of a reconstruction.
    pub fn total(self) -> f64 {
        self.encode + self.decode
    }
}

impl NetworkSpec {
    /// Returns the operations for one sample, with codes of `latent` coordinates.
    pub fn flops(&self, form: SampleForm, latent: usize) -> Result<Flops, ModelError> {
        let layout = self.layout();
        let shapes = layout.shapes(form)?;
        let keeps_size = layout.last == LastLayer::KeepsSize && shapes.len() > 1;
        let (mut encode, mut decode) = (0.0, 0.0);
        for pair in shapes.windows(2) {
            let [larger, smaller] = [pair[0], pair[1]];
            encode += convolution(larger.channels, smaller);
            // The decoder mirrors it, at twice the sides if its last layer keeps the size.
            decode += if keeps_size {
                let grown = ImageShape { channels: smaller.channels, ..larger };
                convolution(larger.channels, grown)
            } else {
                convolution(smaller.channels, smaller) * larger.channels as f64
                    / smaller.channels as f64
            };
        }
        let mut width = shapes.last().map_or(form.values(), ImageShape::pixels);
        for &next in &layout.widths {
            encode += dense(width, next);
            decode += dense(next, width);
            width = next;
        }
        let first = if keeps_size { 4 * width } else { width };
        Ok(Flops { encode: encode + dense(width, latent), decode: decode + dense(latent, first) })
    }
}

impl ModelSpec {
    /// Returns the operations for one sample.
    pub fn flops(&self, form: SampleForm) -> Result<Flops, ModelError> {
        self.common().flops(form)
    }

    /// Returns the operations of training on one sample once, in all stages together; none for a
    /// model whose weights are computed at once.
    pub fn training_flops(&self, form: SampleForm, batch: usize) -> Result<f64, ModelError> {
        if self.is_closed_form() {
            return Ok(0.0);
        }
        Ok(FORWARD_BACKWARD * self.forward_flops(form, batch)?)
    }
}

/// Returns the operations of comparing the code of a sample with all codes of its batch.
pub(super) fn all_pairs(latent: usize, batch: usize) -> f64 {
    dense(latent, batch) + PER_VALUE * batch as f64
}

/// Returns the operations of a convolution with outputs of a shape.
fn convolution(inputs: usize, to: ImageShape) -> f64 {
    (2.0 * KERNEL * KERNEL * inputs as f64 + PER_VALUE) * to.pixels() as f64
}

/// Returns the operations of a fully connected layer.
pub(super) fn dense(from: usize, to: usize) -> f64 {
    (2.0 * from as f64 + PER_VALUE) * to as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: SampleForm = SampleForm::Image(ImageShape { channels: 1, height: 16, width: 16 });

    fn learning(model: &str) -> f64 {
        let model: ModelSpec = ron::from_str(model).unwrap();
        model.training_flops(IMAGE, 256).unwrap()
    }

    #[test]
    fn a_convolution_takes_two_operations_for_each_product() {
        let network: NetworkSpec = ron::from_str("Conv(channels: [16, 32])").unwrap();
        let flops = network.flops(IMAGE, 4).unwrap();
        let products = 16.0 * (16.0 * 64.0 + 16.0 * 32.0 * 16.0) + 512.0 * 4.0;
        let values = 16.0 * 64.0 + 32.0 * 16.0 + 4.0;
        let counted = 2.0 * products + PER_VALUE * values;
        assert!((flops.encode - counted).abs() < 1e-6, "{flops:?}");
        assert!((0.8..1.3).contains(&(flops.decode / flops.encode)), "{flops:?}");
    }

    #[test]
    fn a_model_that_decodes_every_prefix_takes_as_many_decodings() {
        let hae = |latent| {
            learning(&format!("Hae((latent: {latent}, network: Conv(channels: [16, 32])))"))
        };
        let plain = learning("Ae((latent: 16, network: Conv(channels: [16, 32])))");
        assert!((8.0..9.5).contains(&(hae(16) / plain)), "{}", hae(16) / plain);
        assert!(hae(32) > 1.8 * hae(16));
    }

    #[test]
    fn a_model_learned_coordinate_by_coordinate_takes_a_whole_training_for_each() {
        let staged = learning("PcaAe((latent: 8, network: Conv(channels: [16, 32])))");
        let plain = learning("Ae((latent: 8, network: Conv(channels: [16, 32])))");
        assert!((7.0..9.0).contains(&(staged / plain)), "{}", staged / plain);
    }

    #[test]
    fn vectors_cannot_go_through_convolutions() {
        let network: NetworkSpec = ron::from_str("Conv(channels: [4])").unwrap();
        assert!(network.flops(SampleForm::Vector { width: 3 }, 2).is_err());
    }
}
