//! Vector sets: `points.npy` (one row per vector) and what is known of them; and samples of either
//! kind, for stages that read both.

use super::annotations::{self, SampleMetadata};
use super::images::{self, PIXELS, StoredImages};
use crate::data::{SampleSet, Samples, Split, Vectors};
use crate::engine::stage::artifact::{
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

/// Writes vectors and what is known of them.
pub(crate) fn write_vectors(
    writer: &mut ArtifactWriter,
    vectors: &Vectors,
    partition: Option<&[Split]>,
    skipped: &[String],
) -> Result<(), ArtifactError> {
    vectors.points().write(writer)?;
    let coordinates = vectors.coordinates();
    let known =
        SampleMetadata { annotations: vectors.annotations(), partition, coordinates, skipped };
    known.write(writer, vectors.points().rows())
}

/// Opens images or vectors; images are read only when they have been chosen.
pub(crate) fn open_samples(reader: &ArtifactReader) -> Result<Samples, ArtifactError> {
    if reader.files().contains_key(PIXELS) {
        return Ok(Samples::Images(Box::new(StoredImages::open(reader)?)));
    }
    Ok(Samples::Vectors(read_vectors(reader)?, annotations::partition(reader)?))
}

fn read_vectors(reader: &ArtifactReader) -> Result<Vectors, ArtifactError> {
    let vectors = Vectors::new(Points::read(reader)?, annotations::read(reader)?)
        .map_err(|error| ArtifactError::malformed("points.npy", error))?;
    Ok(vectors.with_coordinates(annotations::coordinates(reader)?))
}

/// Every kind of samples.
pub(super) const SAMPLES: [ArtifactKind; 8] = [
    "images",
    "train-images",
    "validation-images",
    "test-images",
    "vectors",
    "train-vectors",
    "validation-vectors",
    "test-vectors",
];

/// Images or vectors of any split.
#[derive(Debug)]
pub struct AnySamples(pub SampleSet);

/// Images or vectors that a model may learn from.
#[derive(Debug)]
pub struct TrainSamples(pub SampleSet);

impl Artifact for AnySamples {
    const KINDS: &'static [ArtifactKind] = &SAMPLES;

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write_samples(&self.0, writer)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        read_samples(reader).map(Self)
    }
}

impl Artifact for TrainSamples {
    const KINDS: &'static [ArtifactKind] = &["train-images", "train-vectors"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write_samples(&self.0, writer)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        read_samples(reader).map(Self)
    }
}

fn write_samples(samples: &SampleSet, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
    match samples {
        SampleSet::Images(images) => images::write(images, writer),
        SampleSet::Vectors(vectors) => write_vectors(writer, vectors, None, &[]),
    }
}

fn read_samples(reader: &ArtifactReader) -> Result<SampleSet, ArtifactError> {
    if reader.files().contains_key(PIXELS) {
        images::read(reader).map(SampleSet::Images)
    } else {
        read_vectors(reader).map(SampleSet::Vectors)
    }
}
