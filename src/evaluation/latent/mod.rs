//! The quality of a code: what can be said of it beyond how well it is decoded.
//!
//! One file for each measure. All take plain tables of codes, decodings and factors, so that none
//! needs to know models, data sets or pipelines.

mod correlation;
mod factors;
mod isometry;
mod least_squares;
mod order;
#[cfg(test)]
mod reference;
mod smoothness;

use thiserror::Error;

pub use self::factors::{FactorFit, FactorFits, Factors};
pub use self::isometry::{Isometry, IsometryFit};
pub use self::order::OrderViolations;
pub use self::smoothness::{PathSteps, Smoothness};
use crate::geometry::GeometryError;
use crate::numerics::{Seed, rng};

/// Says why the quality of a code could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QualityError {
    /// There are no two samples to compare.
    #[error("pairs need at least 2 samples, found {samples}")]
    TooFewSamples {
        /// Number of samples.
        samples: usize,
    },
    /// Codes and distances do not belong together.
    #[error("there are {codes} codes but distances between {distances} samples")]
    OtherSamples {
        /// Number of codes.
        codes: usize,
        /// Number of samples in the table of distances.
        distances: usize,
    },
    /// No pair is apart in the data, or none is in the code.
    #[error("every pair of samples coincides in the data or in the code")]
    NoDistance,
    /// The codes do not vary.
    #[error("the codes do not vary, so their coordinates have no order")]
    NoVariance,
    /// More coordinates are requested than there are.
    #[error("the first {asked} coordinates are requested, but codes have {width}: lower `first`")]
    TooManyCoordinates {
        /// Coordinates asked for.
        asked: usize,
        /// Coordinates of a code.
        width: usize,
    },
    /// A coordinate is not a finite number.
    #[error("coordinate {coordinate} of the codes has a variance that is not finite")]
    NonFinite {
        /// The first such coordinate, counting from 1.
        coordinate: usize,
    },
    /// Nothing is known of what caused the samples.
    #[error("no factor of the samples is known to vary, so codes can't be compared with any")]
    NoFactors,
    /// The neighbors of codes can't be found.
    #[error("cannot find the neighbors of the codes")]
    Neighbors(#[from] GeometryError),
}

/// Draws pairs of different samples.
fn random_pairs(
    samples: usize,
    count: usize,
    seed: Seed,
) -> Result<Vec<(usize, usize)>, QualityError> {
    rng::random_pairs(samples, count, seed).ok_or(QualityError::TooFewSamples { samples })
}
