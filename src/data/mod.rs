//! Data sets: what a user may ask for, and the samples that a stage gets.
//!
//! One file or folder for each data set. To add one: a `mod` line, a [`DatasetSpec`] variant and its
//! arms below; its pinned files, if it has any, are a variant of [`FileSet`]. Every set opens as a
//! catalog whose samples are read when they have been chosen (`source.rs`); choosing, splitting and
//! preprocessing are the same for all (`rows.rs`, `steps.rs`, `prepare.rs`).

mod annotations;
mod archive;
mod arrays;
mod celeba;
mod dsprites;
mod error;
mod extent;
mod file_set;
mod files;
mod folder;
mod hdf5;
mod idx;
mod images;
mod manifolds;
mod mnist;
mod npy;
mod pictures;
mod prepare;
mod published;
mod resize;
mod rows;
mod sample_set;
mod shapes3d;
mod source;
mod steps;
mod tables;
mod vectors;

use serde::{Deserialize, Serialize};

pub use annotations::{Annotations, Classes, Factors, Split};
pub use arrays::{
    ArrayContent, ArrayFile, ArraySummary, Layout, Numbers, PixelRange, summarize_arrays,
};
pub use celeba::CelebA;
pub use dsprites::{Dsprites, Rendering, Sampling};
pub use error::DataError;
pub use extent::Extent;
pub use file_set::FileSet;
pub use files::{DataFile, Files};
pub use folder::ImageFolder;
pub use images::{ImageShape, Images};
pub use manifolds::{Axis, Density, Manifold, ManifoldShape, Noise, Piece, Profile};
pub use mnist::Mnist;
pub use pictures::ColorMode;
pub use prepare::{BrokenPolicy, ImageSink, Prepared, Recipe, prepare};
pub use resize::Filter;
pub use rows::{Choice, Division};
pub use sample_set::{SampleForm, SampleSet};
pub use shapes3d::{Shape, Shapes3d, Shapes3dFactors};
pub use source::{Broken, Catalog, ImageSource, Samples};
pub use steps::{Scale, Step, step_problem};
pub use tables::{Cells, ColumnSummary, TableFile, summarize_columns};
pub use vectors::Vectors;

/// The data sets a pipeline can name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum DatasetSpec {
    /// An `.npy` or `.npz` file of images or vectors.
    Array(ArrayFile),
    /// Faces.
    CelebA(CelebA),
    /// Sprites that move, turn and grow.
    Dsprites(Dsprites),
    /// Pieces of clothing.
    FashionMnist(Mnist),
    /// Pictures in a folder or a zip file; sub-folders are classes.
    ImageFolder(ImageFolder),
    /// Points on a manifold of known dimension.
    Manifold(Manifold),
    /// Handwritten digits.
    Mnist(Mnist),
    /// A shape in a colored room.
    Shapes3d(Shapes3d),
    /// A CSV or Parquet file of vectors.
    Table(TableFile),
}

/// Most pixels along a side of an image.
pub const LARGEST_SIDE: usize = 16_384;

/// What a data set consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Images.
    Images,
    /// Vectors.
    Vectors,
}

impl DatasetSpec {
    /// Opens the data set; `files` are those that it reads.
    pub fn open(&self, files: &Files) -> Result<Samples, DataError> {
        match self {
            Self::Array(array) => array.open(files),
            Self::CelebA(celeba) => celeba.open(files),
            Self::Dsprites(dsprites) => dsprites.open(files),
            Self::FashionMnist(mnist) => mnist.open_as(files, mnist::ARTICLES),
            Self::ImageFolder(folder) => folder.open(files),
            Self::Manifold(manifold) => manifold.open(),
            Self::Mnist(mnist) => mnist.open_as(files, mnist::DIGITS),
            Self::Shapes3d(shapes) => shapes.open(files),
            Self::Table(table) => table.open(files),
        }
    }

    /// Returns whether there must be files to read.
    pub const fn reads_files(&self) -> bool {
        match self {
            Self::Array(_)
            | Self::CelebA(_)
            | Self::FashionMnist(_)
            | Self::ImageFolder(_)
            | Self::Mnist(_)
            | Self::Table(_) => true,
            Self::Dsprites(dsprites) => dsprites.reads_files(),
            Self::Shapes3d(shapes) => shapes.reads_files(),
            Self::Manifold(_) => false,
        }
    }

    /// Returns what the set consists of.
    pub const fn content(&self) -> Content {
        match self {
            Self::Array(array) if array.is_vectors() => Content::Vectors,
            Self::Manifold(_) | Self::Table(_) => Content::Vectors,
            Self::Array(_)
            | Self::CelebA(_)
            | Self::Dsprites(_)
            | Self::FashionMnist(_)
            | Self::ImageFolder(_)
            | Self::Mnist(_)
            | Self::Shapes3d(_) => Content::Images,
        }
    }

    /// Returns what happens to images that can't be decoded.
    pub const fn broken(&self) -> BrokenPolicy {
        let skip = match self {
            Self::CelebA(celeba) => celeba.skip_broken,
            Self::ImageFolder(folder) => folder.skip_broken,
            _ => false,
        };
        if skip { BrokenPolicy::Skip } else { BrokenPolicy::Fail }
    }

    /// Returns settings that can't hold, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let side = match self {
            Self::Manifold(manifold) => return manifold.problems(),
            Self::Dsprites(Dsprites::Render(rendering)) => {
                problems = rendering.factors.problems();
                Some(rendering.size)
            }
            Self::Shapes3d(Shapes3d::Render { size, .. }) => Some(*size),
            Self::ImageFolder(folder) => folder.size,
            _ => None,
        };
        let too_large = side.filter(|side| side.get() > LARGEST_SIDE);
        problems.extend(too_large.map(|side| {
            format!("images can have sides of up to {LARGEST_SIDE} pixels, not {side}")
        }));
        problems
    }
}
