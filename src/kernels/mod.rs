//! Fused kernels for the operations that dominate training time on the processor.
//!
//! Convolutions have 4 x 4 kernels with stride 2 and padding 1, so every weight connects pixels of a
//! large image with pixels of one of half its sides. From large to small is a convolution, and also
//! the input gradient of a transposed one; from small to large is the reverse. One forward kernel
//! that runs in either direction and one sum of products therefore make both layers and all their
//! gradients. Batches are `[channels, height, width, batch]`. A few samples at a time are packed so
//! that a pixel's channels are contiguous, and a tile of outputs stays in registers while its inputs
//! stream by: neither im2col patches nor transposes are ever written out.
//!
//! All of them extend burn's pure-Rust backend, with backward passes of their own. On libtorch the
//! same operations are libtorch's (libtorch.rs); other devices use burn's (`has_kernel` tells which).
//! Results do not depend on the number of threads, but their last bits depend on the width of the
//! processor's SIMD registers.

#![expect(
    clippy::inline_always,
    reason = "only what is inlined into a function with SIMD features enabled can use them"
)]
#![cfg_attr(feature = "tch", expect(deprecated, reason = "burn has no other backend on libtorch"))]

mod adam;
mod autodiff;
mod batch_norm;
mod conv_backward;
mod conv_forward;
mod convolution;
mod flex_tensor;
#[cfg(feature = "tch")]
mod libtorch;
mod logit_loss;
mod packing;

pub(crate) use self::adam::{AdamState, AdamStep};
pub(crate) use self::batch_norm::{BatchNormOptions, batch_norm, moments};
pub use self::convolution::{Convolution, convolve};
pub(crate) use self::flex_tensor::has_kernel;
pub(crate) use self::logit_loss::{LogitLoss, logit_loss};
use crate::data::ImageShape;

/// Raised when the same settings give other bytes, which makes stored results stale.
pub(crate) const VERSION: u32 = 1;

/// In which direction a convolution changes the size of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the large image to the small one.
    Down,
    /// From the small image to the large one.
    Up,
}

impl Direction {
    const fn reversed(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// The shapes of the two images that a convolution connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// The image of half the sides.
    pub small: ImageShape,
    /// The image of full sides.
    pub large: ImageShape,
}

impl ConvShape {
    /// Connects an image with one of half its sides.
    pub const fn downsampling(large: ImageShape, channels: usize) -> Self {
        let small = ImageShape { channels, height: large.height / 2, width: large.width / 2 };
        Self { small, large }
    }

    /// Returns the shapes of input and output.
    pub const fn ends(self, direction: Direction) -> (ImageShape, ImageShape) {
        match direction {
            Direction::Down => (self.large, self.small),
            Direction::Up => (self.small, self.large),
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

/// Returns small whole numbers, whose sums of products are exact in any order.
#[cfg(test)]
fn whole_numbers(count: usize) -> Vec<f32> {
    (0..count).map(|index| (index * 7 % 11) as f32 - 5.0).collect()
}
