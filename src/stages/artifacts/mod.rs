//! How science values become files, and back: NumPy arrays, safetensors, JSON, tables, pictures.

mod arrays;
mod distances;
mod figure;
mod images;
mod latents;
mod model;
mod record;
mod table;

pub(super) use images::images_kind;
pub use images::{AnyImages, TrainImages};
