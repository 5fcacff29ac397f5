//! dSprites: sprites that move, turn and grow.
//!
//! What: the original file (737,280 binary images of 64 x 64; npz or HDF5), or ellipses drawn on
//! the spot. The paper's subset of the original is
//! `select: {"shape": Values([2]), "orientation": Levels(0, 14)}`: 92,160 images.
//! Reference: Matthey et al. 2017, dSprites; subset and 70/15/15 split from the paper, appendix C.

mod hdf5;
mod npz;
mod render;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::render::{Rendering, Sampling};
use crate::data::sets::published::Published;
use crate::data::{Content, DataError, DataSet, Extent, Files, SampleForm, Samples, side_problem};

const NAME: &str = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64";

/// The factors of the original, slowest first.
const FACTORS: [&str; 6] = ["color", "shape", "scale", "orientation", "x", "y"];

/// Where the original can be had. The npz holds the same, but no SHA-256 of it is published.
pub(super) const FILES: &[Published] = &[Published {
    name: "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5",
    bytes: 28_024_106,
    sha256: "729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb",
    gzip: None,
    mirrors: &[
        "https://github.com/google-deepmind/dsprites-dataset/raw/master/",
        "https://github.com/deepmind/dsprites-dataset/raw/master/",
        "https://raw.githubusercontent.com/google-deepmind/dsprites-dataset/master/",
    ],
}];

/// Settings of dSprites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Dsprites {
    /// The published file, npz or HDF5.
    Original,
    /// Rendered ellipses, for instance `Render(size: 16, supersampling: 8, factors:
    /// Continuous(samples: 3000, seed: 0))`.
    Render(Rendering),
}

impl DataSet for Dsprites {
    fn content(&self) -> Content {
        Content::Images
    }

    fn reads_files(&self) -> bool {
        matches!(self, Self::Original)
    }

    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        match self {
            Self::Original => {
                let archive = format!("{NAME}.npz");
                let source = match files.find(&[&archive]) {
                    Ok(file) => npz::open(file)?,
                    Err(DataError::Missing { .. }) => {
                        hdf5::open(files.find(&[&format!("{NAME}.hdf5"), &archive])?)?
                    }
                    Err(error) => return Err(error),
                };
                Ok(Samples::Images(source))
            }
            Self::Render(rendering) => Ok(Samples::Images(Box::new(rendering.open()))),
        }
    }

    fn extent(&self) -> Option<Extent> {
        const SPRITES: &[(&str, usize)] =
            &[("shape", 3), ("scale", 6), ("orientation", 40), ("x", 32), ("y", 32)];
        Some(match self {
            Self::Original => Extent::lattice(SampleForm::square(1, 64), SPRITES),
            Self::Render(rendering) => rendering.extent(),
        })
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Original => Vec::new(),
            Self::Render(rendering) => {
                let factors = rendering.factors.problems();
                factors.into_iter().chain(side_problem(rendering.size)).collect()
            }
        }
    }
}
