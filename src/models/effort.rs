//! How many floating-point operations networks and models take, counted from their settings.
//!
//! What: two operations for each product of a matrix or a convolution, and a few for each value that
//! a layer puts out. Going back costs twice as much as going forward.
//! Assumptions: optimizers and losses are small beside the layers.

use super::network::{LastLayer, NetworkSpec};
use super::prefixes::PrefixSpec;
use super::{ModelError, ModelSpec, Trunk};
use crate::data::{ImageShape, SampleForm};

/// Operations for each value that a layer puts out: a bias, an activation, moving it in memory.
const PER_VALUE: f64 = 16.0;

/// Sides of the window that convolutions look through.
const WINDOW: f64 = 4.0;

/// Forward and backward together, in units of forward.
const LEARNING: f64 = 3.0;

/// Operations for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// From the sample to the code.
    pub encode: f64,
    /// From the code to the sample.
    pub decode: f64,
}

impl NetworkSpec {
    /// Returns what one sample takes, with codes of `latent` coordinates.
    pub fn effort(&self, form: SampleForm, latent: usize) -> Result<Effort, ModelError> {
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
        Ok(Effort { encode: encode + dense(width, latent), decode: decode + dense(latent, first) })
    }
}

impl ModelSpec {
    /// Returns what one sample takes; an exact model is two products of matrices.
    pub fn effort(&self, form: SampleForm) -> Result<Effort, ModelError> {
        if let Some(network) = self.network() {
            return network.effort(form, self.latent());
        }
        let product = dense(form.values(), self.latent());
        Ok(Effort { encode: product, decode: product })
    }

    /// Returns the operations that learning from one sample takes once, in all stages together; none
    /// for a model that is computed, not learned.
    pub fn learning_effort(&self, form: SampleForm, batch: usize) -> Result<f64, ModelError> {
        let Some(network) = self.network() else {
            return Ok(0.0);
        };
        let latent = self.latent();
        let Effort { encode, decode } = network.effort(form, latent)?;
        let forward = match self {
            Self::Hae(spec) => match spec.prefixes {
                PrefixSpec::All { .. } => encode + latent as f64 * decode,
                PrefixSpec::Sampled { .. } => encode + decode,
            },
            Self::PcaAe(spec) => {
                let encoders = match spec.trunk {
                    Trunk::Separate => latent as f64,
                    Trunk::Shared => 1.0,
                };
                let one = network.effort(form, 1)?.encode;
                let decoders = (1..=latent).map(|inputs| network.effort(form, inputs));
                let decoders = decoders.map(|effort| Ok(effort?.decode));
                encoders * one + decoders.sum::<Result<f64, ModelError>>()?
            }
            // Every two samples of a batch are compared.
            Self::Pcae(_) => encode + decode + dense(latent, batch) + PER_VALUE * batch as f64,
            Self::Irmae(spec) => encode + decode + spec.layers.get() as f64 * dense(latent, latent),
            Self::Ae(_) | Self::ArdVae(_) | Self::Pca(_) | Self::Vae(_) => encode + decode,
        };
        Ok(LEARNING * forward)
    }

    /// Returns the network between samples and codes, if the model has one.
    const fn network(&self) -> Option<&NetworkSpec> {
        match self {
            Self::Ae(spec) => Some(&spec.network),
            Self::ArdVae(spec) => Some(&spec.network),
            Self::Hae(spec) => Some(&spec.network),
            Self::Irmae(spec) => Some(&spec.network),
            Self::Pca(_) => None,
            Self::PcaAe(spec) => Some(&spec.network),
            Self::Pcae(spec) => Some(&spec.network),
            Self::Vae(spec) => Some(&spec.network),
        }
    }
}

/// Returns the operations of a convolution that leaves images of a shape.
fn convolution(inputs: usize, to: ImageShape) -> f64 {
    (2.0 * WINDOW * WINDOW * inputs as f64 + PER_VALUE) * to.pixels() as f64
}

/// Returns the operations of a fully connected layer.
fn dense(from: usize, to: usize) -> f64 {
    (2.0 * from as f64 + PER_VALUE) * to as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: SampleForm = SampleForm::Image(ImageShape { channels: 1, height: 16, width: 16 });

    fn learning(model: &str) -> f64 {
        let model: ModelSpec = ron::from_str(model).unwrap();
        model.learning_effort(IMAGE, 256).unwrap()
    }

    #[test]
    fn a_convolution_takes_two_operations_for_each_product() {
        let network: NetworkSpec = ron::from_str("Conv(channels: [16, 32])").unwrap();
        let effort = network.effort(IMAGE, 4).unwrap();
        let products = 16.0 * (16.0 * 64.0 + 16.0 * 32.0 * 16.0) + 512.0 * 4.0;
        let values = 16.0 * 64.0 + 32.0 * 16.0 + 4.0;
        let counted = 2.0 * products + PER_VALUE * values;
        assert!((effort.encode - counted).abs() < 1e-6, "{effort:?}");
        assert!((0.8..1.3).contains(&(effort.decode / effort.encode)), "{effort:?}");
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
        assert!(network.effort(SampleForm::Vector { width: 3 }, 2).is_err());
    }
}
