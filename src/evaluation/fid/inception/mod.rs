//! Features of images: what the layers of a network see in them, one row an image.
//!
//! [`Inception`] is the network that FID is defined by, as pytorch-fid, torch-fidelity and clean-fid
//! use it (they differ in how images are brought to its size: [`Resize`]); its weights come from a
//! file. Scores of other features are never called FID.

mod layers;
mod network;
mod pytorch;
mod resize;
mod weights;

use thiserror::Error;

pub use self::network::{CHUNK, Inception, WIDTH};
pub use self::pytorch::PytorchError;
pub use self::resize::Resize;
pub use self::weights::read_weights;
use crate::data::ImageShape;
use crate::models::WeightsError;

/// Says why there are no features.
#[derive(Debug, Error)]
pub enum FeatureError {
    /// The system could not read the file of weights.
    #[error("{file}: {cause}")]
    File {
        /// Its name.
        file: String,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// The file of weights is none that PyTorch wrote.
    #[error("{file}: {cause}")]
    Pytorch {
        /// Its name.
        file: String,
        /// What is wrong with it.
        #[source]
        cause: PytorchError,
    },
    /// The file of weights is no safetensors file.
    #[error("{file}: this is neither a PyTorch file nor a safetensors file: {cause}")]
    Safetensors {
        /// Its name.
        file: String,
        /// What is wrong with it.
        #[source]
        cause: safetensors::SafeTensorError,
    },
    /// The weights are those of another network.
    #[error("these are not the weights of the FID Inception network: {0}")]
    OtherNetwork(#[from] WeightsError),
    /// Images that are neither gray nor color.
    #[error("images of {shape} have neither one channel nor three")]
    Channels {
        /// The shape of the images.
        shape: ImageShape,
    },
}
