//! The part of the data module that reads files.

#[path = "../../src/data/annotations.rs"]
mod annotations;
#[path = "../../src/data/archive.rs"]
mod archive;
#[path = "../../src/data/arrays/mod.rs"]
pub mod arrays;
#[path = "../../src/data/error.rs"]
mod error;
#[path = "../../src/data/files.rs"]
mod files;
#[path = "../../src/data/folder.rs"]
pub mod folder;
#[path = "../../src/data/idx.rs"]
mod idx;
#[path = "../../src/data/images.rs"]
mod images;
#[path = "../../src/data/mnist.rs"]
pub mod mnist;
#[path = "../../src/data/npy/mod.rs"]
mod npy;
#[path = "../../src/data/pictures/mod.rs"]
pub mod pictures;
#[path = "../../src/data/published.rs"]
mod published;
#[path = "../../src/data/resize.rs"]
mod resize;
#[path = "../../src/data/source.rs"]
mod source;
#[path = "../../src/data/vectors.rs"]
mod vectors;

pub use annotations::{Annotations, Classes, Factors, Split};
pub use error::DataError;
pub use files::{DataFile, Files};
pub use images::{ImageShape, Images};
pub use source::{Broken, Catalog, ImageSource, Samples};
pub use vectors::Vectors;
