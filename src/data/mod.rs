//! Data sets: what a user may ask for, and the samples that a stage gets.
//!
//! Every set opens as a catalog whose samples are read when they have been chosen (`source.rs`);
//! choosing, splitting and preprocessing are the same for all (`rows.rs`, `steps.rs`,
//! `prepare.rs`).
//!
//! ```text
//! sets (one file a data set) -> formats (one file a file format)
//! sets -> download (files whose hash is known)
//! ```

mod annotations;
mod data_set;
pub mod download;
mod error;
mod extent;
mod files;
pub(crate) mod formats;
mod images;
mod prepare;
mod resize;
mod rows;
mod sample_set;
mod sets;
mod source;
mod steps;
mod vectors;

use std::num::NonZeroUsize;

pub use annotations::{Annotations, Classes, Factors, Split};
pub use data_set::{Content, DataSet};
pub use error::DataError;
pub use extent::Extent;
pub use files::{DataFile, Files};
pub use formats::pictures::ColorMode;
pub use formats::table::{Cells, ColumnSummary, NumberSummary, summarize_columns};
pub use images::{ImageShape, Images};
pub use prepare::{BrokenPolicy, ImageSink, Prepared, Recipe, prepare};
pub use resize::Filter;
pub use rows::{Choice, Division};
pub use sample_set::{SampleForm, SampleSet};
pub use sets::array::{
    ArrayContent, ArrayFile, ArraySummary, ArrayValues, Layout, Numbers, PixelRange, scan_values,
    summarize_arrays,
};
pub use sets::celeba::CelebA;
pub use sets::dsprites::{Dsprites, Rendering, Sampling};
pub use sets::image_folder::ImageFolder;
pub use sets::manifold::{Axis, Density, Manifold, ManifoldShape, Noise, Piece, Profile};
pub use sets::mnist::Mnist;
pub use sets::shapes3d::{Shape, Shapes3d, Shapes3dFactors};
pub use sets::table::{Missing, TableFile};
pub use sets::{DatasetSpec, FileSet};
pub use source::{Broken, Catalog, ImageSource, Samples};
pub use steps::{Scale, Step, step_problem};
pub use vectors::Vectors;

/// Most pixels along a side of an image.
pub const LARGEST_SIDE: usize = 16_384;

/// Returns what is wrong with the height and width that images are asked to have.
fn side_problem(side: NonZeroUsize) -> Option<String> {
    (side.get() > LARGEST_SIDE)
        .then(|| format!("images can have sides of up to {LARGEST_SIDE} pixels, not {side}"))
}
