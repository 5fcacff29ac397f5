//! The part of the data module that reads files.

use std::num::NonZeroUsize;

#[path = "../../src/data/annotations.rs"]
mod annotations;
#[path = "../../src/data/data_set.rs"]
mod data_set;
#[path = "../../src/data/error.rs"]
mod error;
#[path = "../../src/data/extent.rs"]
mod extent;
#[path = "../../src/data/files.rs"]
mod files;
pub mod formats;
#[path = "../../src/data/images.rs"]
mod images;
#[path = "../../src/data/prepare.rs"]
mod prepare;
#[path = "../../src/data/resize.rs"]
mod resize;
#[path = "../../src/data/rows.rs"]
mod rows;
#[path = "../../src/data/sample_set.rs"]
mod sample_set;
pub mod sets;
#[path = "../../src/data/source.rs"]
mod source;
#[path = "../../src/data/steps.rs"]
mod steps;
#[path = "../../src/data/vectors.rs"]
mod vectors;

pub use annotations::{Annotations, Classes, Factors, Split};
pub use data_set::{Content, DataSet};
pub use error::DataError;
pub use extent::Extent;
pub use files::{DataFile, Files};
pub use formats::pictures::ColorMode;
pub use images::{ImageShape, Images};
pub use prepare::{BrokenPolicy, Recipe};
pub use sample_set::{SampleForm, SampleSet};
pub use source::{Broken, Catalog, ImageSource, Samples};
pub use steps::Step;
pub use vectors::Vectors;

/// Most pixels along a side of an image.
pub const LARGEST_SIDE: usize = 16_384;

/// Returns what is wrong with the height and width that images are asked to have.
fn side_problem(side: NonZeroUsize) -> Option<String> {
    (side.get() > LARGEST_SIDE)
        .then(|| format!("images can have sides of up to {LARGEST_SIDE} pixels, not {side}"))
}
