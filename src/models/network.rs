//! The networks between samples and codes, as settings and as shapes.
//!
//! Reference: the paper, appendix C (Table "The architecture of the encoder and the decoder").
//! Assumptions: CelebA's decoder starts at 8 x 8 and has four transposed convolutions; with four
//! doublings it would end at 128 x 128, so its last layer keeps the size: a 1 x 1 convolution, as
//! in IRMAE's network, which the paper's otherwise repeats.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ModelError, Reconstruction};
use crate::data::{ImageShape, SampleForm};
use crate::numerics::units::PositiveF64;

/// The encoder and decoder network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum NetworkSpec {
    /// Convolutions that halve the image, then a fully connected layer; the decoder mirrors them.
    Conv {
        /// Channels after each downsampling, such as `[32, 32, 64, 64]`. An empty list leaves only
        /// the fully connected layer, which makes codes linear in the pixels.
        channels: Vec<NonZeroUsize>,
        /// Whether each convolution but the decoder's last is followed by batch normalization.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[schemars(!skip_serializing_if)]
        batch_norm: bool,
        /// The decoder's last layer.
        #[serde(default, skip_serializing_if = "LastLayer::is_default")]
        #[schemars(!skip_serializing_if)]
        last: LastLayer,
    },
    /// Fully connected layers with ReLU between them, for vectors and small images.
    Mlp {
        /// Widths of the encoder's hidden layers; the decoder mirrors them.
        widths: Vec<NonZeroUsize>,
    },
    /// A network of the paper.
    Paper {
        /// The data set that the paper uses it for.
        of: PaperNetwork,
        /// Factor on the number of channels, for studies on small machines.
        #[serde(default = "whole", skip_serializing_if = "is_whole")]
        #[schemars(!skip_serializing_if)]
        width: PositiveF64,
    },
}

/// The last layer of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LastLayer {
    /// A transposed convolution that doubles the sides, like those before it.
    #[default]
    Doubles,
    /// A 1 x 1 convolution; the decoder then starts at twice the encoder's last sides.
    KeepsSize,
}

impl LastLayer {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
    const fn is_default(&self) -> bool {
        matches!(self, Self::Doubles)
    }
}

/// The data sets for which the paper lists a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PaperNetwork {
    /// Channels 32, 32, 64, 64, for 64 x 64 images.
    Dsprites,
    /// The same, for color images.
    Shapes3d,
    /// Channels 64, 128, 256, 512 with batch normalization, for 32 x 32 images.
    Mnist,
    /// Channels 128, 256, 512, 1024 with batch normalization; the last layer keeps the size.
    CelebA,
}

fn whole() -> PositiveF64 {
    PositiveF64::new(1.0).unwrap_or_else(|_| unreachable!("1 lies above 0"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_whole(width: &PositiveF64) -> bool {
    *width == whole()
}

/// What a network consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Channels after each halving.
    pub(super) channels: Vec<usize>,
    pub(super) batch_norm: bool,
    pub(super) last: LastLayer,
    /// Widths of fully connected layers before the code.
    pub(super) widths: Vec<usize>,
}

impl NetworkSpec {
    pub(super) fn layout(&self) -> Layout {
        let plain = |counts: &[NonZeroUsize]| counts.iter().map(|count| count.get()).collect();
        match self {
            Self::Conv { channels, batch_norm, last } => Layout {
                channels: plain(channels),
                batch_norm: *batch_norm,
                last: *last,
                widths: Vec::new(),
            },
            Self::Mlp { widths } => Layout {
                channels: Vec::new(),
                batch_norm: false,
                last: LastLayer::Doubles,
                widths: plain(widths),
            },
            Self::Paper { of, width } => {
                let (channels, batch_norm, last) = match of {
                    PaperNetwork::Dsprites | PaperNetwork::Shapes3d => {
                        ([32, 32, 64, 64], false, LastLayer::Doubles)
                    }
                    PaperNetwork::Mnist => ([64, 128, 256, 512], true, LastLayer::Doubles),
                    PaperNetwork::CelebA => ([128, 256, 512, 1024], true, LastLayer::KeepsSize),
                };
                let scaled =
                    |count: u32| (f64::from(count) * width.get()).round().max(1.0) as usize;
                Layout {
                    channels: channels.map(scaled).to_vec(),
                    batch_norm,
                    last,
                    widths: Vec::new(),
                }
            }
        }
    }

    /// Returns the reconstruction loss that goes with the network where none is asked for: logits
    /// and cross-entropy for images, but squared errors where the paper ends in a sigmoid.
    pub(super) const fn default_reconstruction(&self, form: SampleForm) -> Reconstruction {
        match (self, form) {
            (
                Self::Conv { .. }
                | Self::Mlp { .. }
                | Self::Paper { of: PaperNetwork::Dsprites, .. },
                SampleForm::Image(_),
            ) => Reconstruction::CrossEntropy,
            (Self::Paper { .. }, SampleForm::Image(_)) | (_, SampleForm::Vector { .. }) => {
                Reconstruction::SquaredError
            }
        }
    }
}

impl Layout {
    /// Returns the shapes from the image to the features before the fully connected layers; for
    /// vectors and fully connected networks, whose input has no shape, there are none.
    pub(super) fn shapes(&self, form: SampleForm) -> Result<Vec<ImageShape>, ModelError> {
        let image = match form {
            SampleForm::Image(image) => image,
            SampleForm::Vector { .. } if self.channels.is_empty() => return Ok(Vec::new()),
            SampleForm::Vector { .. } => return Err(ModelError::ConvolutionOfVectors),
        };
        let mut shapes = vec![image];
        let ImageShape { mut height, mut width, .. } = image;
        for &channels in &self.channels {
            if !height.is_multiple_of(2) || !width.is_multiple_of(2) {
                let layers = self.channels.len();
                return Err(ModelError::Size { layers, height: image.height, width: image.width });
            }
            (height, width) = (height / 2, width / 2);
            shapes.push(ImageShape { channels, height, width });
        }
        Ok(shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACE: SampleForm = SampleForm::Image(ImageShape { channels: 3, height: 64, width: 64 });

    #[test]
    fn the_papers_networks_can_be_narrowed() {
        let network: NetworkSpec = ron::from_str("Paper(of: CelebA, width: 0.25)").unwrap();
        let layout = network.layout();
        assert_eq!(layout.channels, [32, 64, 128, 256]);
        assert!(layout.batch_norm);
        assert_eq!(layout.last, LastLayer::KeepsSize);
        let sides: Vec<_> = layout.shapes(FACE).unwrap().iter().map(|shape| shape.height).collect();
        assert_eq!(sides, [64, 32, 16, 8, 4]);
    }

    #[test]
    fn images_that_end_in_a_sigmoid_are_compared_by_squares_as_in_the_paper() {
        let default = |text: &str, form| {
            ron::from_str::<NetworkSpec>(text).unwrap().default_reconstruction(form)
        };
        assert_eq!(default("Paper(of: Dsprites)", FACE), Reconstruction::CrossEntropy);
        assert_eq!(default("Paper(of: Mnist)", FACE), Reconstruction::SquaredError);
        let vector = SampleForm::Vector { width: 3 };
        assert_eq!(default("Mlp(widths: [8])", vector), Reconstruction::SquaredError);
    }

    #[test]
    fn vectors_have_no_sides_to_halve() {
        let network: NetworkSpec = ron::from_str("Conv(channels: [4])").unwrap();
        let error = network.layout().shapes(SampleForm::Vector { width: 3 }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "convolutions need images, but the samples are vectors: use `Mlp(widths: [..])`"
        );
    }
}
