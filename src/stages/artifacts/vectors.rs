//! Vector sets: `points.npy` (one row per vector) and what is known of them; and samples of either
//! sort, for stages that take both.

use super::annotations;
use super::images::{self, PIXELS};
use crate::data::{Images, Split, Vectors};
use crate::engine::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::numerics::Points;

/// Returns the artifact kind of a split.
pub(crate) const fn vectors_kind(split: Option<Split>) -> ArtifactKind {
    match split {
        None => "vectors",
        Some(Split::Train) => "train-vectors",
        Some(Split::Validation) => "validation-vectors",
        Some(Split::Test) => "test-vectors",
    }
}

/// Writes vectors, with a line for each one that was left out.
pub(crate) fn write_vectors(
    writer: &mut ArtifactWriter,
    vectors: &Vectors,
    skipped: &[String],
) -> Result<(), ArtifactError> {
    vectors.points().write(writer)?;
    let (count, names) = (vectors.points().rows(), vectors.coordinates());
    annotations::write(writer, vectors.annotations(), count, names, skipped)
}

fn read_vectors(reader: &ArtifactReader) -> Result<Vectors, ArtifactError> {
    let vectors = Vectors::new(Points::read(reader)?, annotations::read(reader)?)
        .map_err(|error| ArtifactError::malformed("points.npy", error))?;
    Ok(vectors.with_coordinates(annotations::coordinates(reader)?))
}

/// Images or vectors of any split.
#[derive(Debug)]
pub enum AnySamples {
    /// Images.
    Images(Images),
    /// Vectors.
    Vectors(Vectors),
}

impl Artifact for AnySamples {
    const KINDS: &'static [ArtifactKind] = &[
        "images",
        "train-images",
        "validation-images",
        "test-images",
        "vectors",
        "train-vectors",
        "validation-vectors",
        "test-vectors",
    ];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        match self {
            Self::Images(images) => images::write(images, writer),
            Self::Vectors(vectors) => write_vectors(writer, vectors, &[]),
        }
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        if reader.files().contains_key(PIXELS) {
            images::read(reader).map(Self::Images)
        } else {
            read_vectors(reader).map(Self::Vectors)
        }
    }
}
