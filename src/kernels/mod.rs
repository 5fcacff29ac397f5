//! What takes most of the time of training on the processor, written for it.
//!
//! Convolutions have 4 x 4 kernels with stride 2 and padding 1. Every weight joins pixels of a large
//! image with pixels of one of half its sides. Going down, from large to small, is a convolution and
//! also the slope of a transposed one; going up is the reverse. So two gatherings and one sum of
//! products make both layers and all their slopes. Batches are `[channels, height, width, batch]`. A
//! strip of samples is copied so that a pixel's channels lie side by side, and a tile of outputs is
//! kept in registers while its inputs stream by: neither patches nor transposes are ever written out.
//!
//! All of them are operations of burn's pure-Rust backend, with slopes of their own. On libtorch the
//! same operations are libtorch's (libtorch.rs); other devices use burn's (`is_served` tells which).
//! Results don't depend on the number of threads, but in their last bits on how many numbers the
//! processor takes at once.

#![expect(
    clippy::inline_always,
    reason = "only what is inlined into a function for the processor's vectors uses them"
)]
#![cfg_attr(
    feature = "tch",
    expect(deprecated, reason = "burn has no other backend that goes by way of libtorch")
)]

mod comparison;
mod convolution;
mod dense;
mod descent;
mod gather;
#[cfg(feature = "tch")]
mod libtorch;
mod normalization;
mod panels;
mod slopes;
mod strip;

pub(crate) use self::comparison::{Comparison, compare};
pub use self::convolution::{Convolution, convolve};
pub(crate) use self::dense::is_served;
pub(crate) use self::descent::{Descending, Descent};
pub(crate) use self::normalization::{Normalization, moments, normalize};
use crate::data::ImageShape;

/// Raised when the same settings give other bytes, which makes stored results stale.
pub(crate) const VERSION: u32 = 1;

/// From which image to which a gathering goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the large image to the small one.
    Down,
    /// From the small image to the large one.
    Up,
}

impl Way {
    const fn back(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// An image, and the one of half its sides that weights join it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scales {
    /// The image of half the sides.
    pub small: ImageShape,
    /// The image of full sides.
    pub large: ImageShape,
}

impl Scales {
    /// Joins an image with one of half its sides.
    pub const fn halving(large: ImageShape, channels: usize) -> Self {
        let small = ImageShape { channels, height: large.height / 2, width: large.width / 2 };
        Self { small, large }
    }

    /// Returns where a gathering starts and where it ends.
    pub const fn along(self, way: Way) -> (ImageShape, ImageShape) {
        match way {
            Way::Down => (self.large, self.small),
            Way::Up => (self.small, self.large),
        }
    }
}

/// Returns the device that the tests of this folder run on: `flex`, unless `PCAE_TEST_DEVICE` is
/// `libtorch`.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test switch, never an input of a stage")]
fn test_device() -> burn::tensor::Device {
    match std::env::var("PCAE_TEST_DEVICE").as_deref() {
        #[cfg(feature = "tch")]
        Ok("libtorch") => burn::tensor::Device::libtorch(),
        _ => burn::tensor::Device::flex(),
    }
}
