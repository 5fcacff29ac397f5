//! Autoencoders: what a user may ask for, and what training and encoding need of them.
//!
//! One file for each model: its settings, the module and its losses; the training loop, the optimizer
//! and the checkpoints are shared. To add one: the file, its `mod` line and its variant of
//! [`ModelSpec`].

mod ae;
mod ard_vae;
mod autoencoder;
mod convolutions;
mod decoder;
mod encoder;
mod epoch_context;
mod flops;
pub mod gamma;
mod gaussian;
mod hae;
mod irmae;
mod isometry;
mod layers;
pub mod losses;
mod network;
mod pca;
mod pca_ae;
mod pcae;
mod prefixes;
pub mod pytorch;
#[cfg(test)]
pub(crate) mod reference;
mod settings;
mod step_output;
mod tangents;
#[cfg(test)]
mod theorem_tests;
mod vae;
pub mod weights;

use burn::tensor::Device;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::ae::{Ae, AeSpec};
pub use self::ard_vae::{ArdVae, ArdVaeSpec};
use self::autoencoder::numbered;
pub use self::autoencoder::{
    Autoencoder, Batch, BuildContext, ClosedForm, Codec, Decode, StepPosition,
};
pub(crate) use self::encoder::Encoder;
pub use self::epoch_context::{EpochContext, map_rows, rows_on};
pub use self::flops::Flops;
pub use self::gamma::{GammaSpec, Interval};
pub use self::hae::{Hae, HaeSpec};
pub use self::irmae::{Irmae, IrmaeSpec};
pub use self::isometry::IsometryLoss;
pub(crate) use self::layers::{Dense, Initializer};
pub use self::losses::{Losses, Output, Reconstruction};
pub use self::network::{LastLayer, NetworkSpec, PaperNetwork};
pub use self::pca::{Pca, PcaSpec};
pub use self::pca_ae::{PcaAe, PcaAeSpec, Trunk};
pub use self::pcae::{Objective, Pcae, PcaeSpec};
pub use self::prefixes::{PrefixSpec, PrefixWeights, Sweep};
use self::settings::{Accept, CommonSettings, LoadWeights, ModelSettings, declare_models};
pub use self::settings::{ModelVisitor, Visited};
pub use self::step_output::{Gradients, StepOutput};
pub use self::tangents::Decoded;
pub use self::vae::{Vae, VaeSpec};
pub(crate) use self::weights::ParameterPath;
pub use self::weights::{WeightArray, Weights, WeightsError};
use crate::data::SampleForm;
use crate::numerics::{PcaError, Seed};

/// Says why a model cannot be built or loaded.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The image cannot be halved as often as the network has layers.
    #[error(
        "each of the {layers} `channels` halves the image, but the sides of {height} x {width} \
         pixels can be halved {}",
        match height.trailing_zeros().min(width.trailing_zeros()) {
            0 => "not even once".to_owned(),
            1 => "only once".to_owned(),
            times => format!("only {times} times"),
        }
    )]
    Size {
        /// Number of convolution layers.
        layers: usize,
        /// Image height in pixels.
        height: usize,
        /// Image width in pixels.
        width: usize,
    },
    /// Convolutions of vectors.
    #[error("convolutions need images, but the samples are vectors: use `Mlp(widths: [..])`")]
    ConvolutionOfVectors,
    /// Cross-entropy of vectors.
    #[error("cross-entropy needs images, but the samples are vectors: use `SquaredError`")]
    CrossEntropyOfVectors,
    /// Another number of weights than prefixes.
    #[error("expected one prefix weight for each coordinate of the code: {latent}")]
    PrefixWeights {
        /// Number of coordinates.
        latent: usize,
    },
    /// A PCA can't be computed.
    #[error("cannot compute the principal axes")]
    Pca(#[from] PcaError),
    /// Stored weights do not fit the model.
    #[error("weights do not fit the model")]
    Weights(#[from] WeightsError),
    /// A module of Python can't be written.
    #[error("cannot write the Python module")]
    Python(#[from] minijinja::Error),
}

declare_models! {
/// The models a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum ModelSpec {
    /// A plain autoencoder.
    Ae(AeSpec),
    /// A variational autoencoder whose prior learns which coordinates matter.
    ArdVae(ArdVaeSpec),
    /// A hierarchical autoencoder: its code can be truncated anywhere.
    Hae(HaeSpec),
    /// An autoencoder with linear layers that favor a low rank.
    Irmae(IrmaeSpec),
    /// Linear PCA, exact.
    Pca(PcaSpec),
    /// An autoencoder whose coordinates are learned one after the other.
    PcaAe(PcaAeSpec),
    /// The paper's autoencoder: isometric codes with ordered variances.
    Pcae(PcaeSpec),
    /// A variational autoencoder.
    Vae(VaeSpec),
}
}

impl ModelSpec {
    /// Returns whether the weights are computed at once, without training steps.
    pub fn is_closed_form(&self) -> bool {
        self.common().network.is_none()
    }

    /// Returns the number of coordinates of a code.
    pub fn latent(&self) -> usize {
        self.common().latent.get()
    }

    /// Builds a trained model that encodes and decodes on `device`.
    pub fn codec(
        &self,
        form: SampleForm,
        weights: &Weights,
        device: &Device,
    ) -> Result<Box<dyn Codec>, ModelError> {
        // The initial weights are all replaced, so neither seed nor unit of distance matters.
        let context = BuildContext { form, seed: Seed(0), distance_unit: 1.0, device };
        self.visit(&context, LoadWeights(weights))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::mem::discriminant;

    use ron::extensions::Extensions;

    use super::*;

    #[test]
    fn a_pca_ae_averages_over_pixels_unless_told_otherwise() {
        let form = SampleForm::Vector { width: 3 };
        let loss = |text: &str| {
            let extensions = Extensions::UNWRAP_VARIANT_NEWTYPES | Extensions::IMPLICIT_SOME;
            let options = ron::Options::default().with_default_extension(extensions);
            options.from_str::<ModelSpec>(text).unwrap().reconstruction(form)
        };
        let network = "latent: 2, network: Mlp(widths: [4])";
        assert_eq!(loss(&format!("Ae({network})")), Some(Reconstruction::SquaredError));
        assert_eq!(loss(&format!("PcaAe({network})")), Some(Reconstruction::MeanSquaredError));
        let summed = format!("PcaAe({network}, reconstruction: SquaredError)");
        assert_eq!(loss(&summed), Some(Reconstruction::SquaredError));
        assert_eq!(loss("Pca(latent: 2)"), None);
    }

    #[test]
    fn every_model_is_declared() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/models");
        let paths = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
        let texts = paths.filter(|path| path.is_file()).map(fs::read_to_string);
        let written: usize =
            texts.map(|text| text.unwrap().matches("\nimpl ModelSettings for ").count()).sum();
        let mut kinds = Vec::new();
        for (_, spec) in ModelSpec::examples() {
            if !kinds.contains(&discriminant(&spec)) {
                kinds.push(discriminant(&spec));
            }
        }
        assert_eq!(written, kinds.len(), "a model is missing in `ModelSpec`, or has no example");
    }
}
