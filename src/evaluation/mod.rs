//! How good a trained model is: by the images that it makes, and by its codes.

pub mod fid;
pub mod interpolation;
pub mod latent;
pub mod probe;
