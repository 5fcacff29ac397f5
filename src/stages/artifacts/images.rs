//! Image sets: `images.npy` (bytes; image, channel, row, column), `factors.npy`, `about.json`.
//!
//! The split is part of the artifact's kind, so that a stage that trains can't be given test
//! images: a pipeline that tries is refused before it runs.

use serde::{Deserialize, Serialize};

use super::arrays::{read_array, write_array};
use crate::data::{Factors, ImageShape, Images, Split};
use crate::engine::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};

/// Images that a model may learn from.
#[derive(Debug)]
pub struct TrainImages(pub Images);

/// Images of any split.
#[derive(Debug)]
pub struct AnyImages(pub Images);

/// Returns the artifact kind of a split.
pub(crate) fn images_kind(split: Split) -> ArtifactKind {
    match split {
        Split::Train => "train-images",
        Split::Validation => "validation-images",
        Split::Test => "test-images",
    }
}

#[derive(Serialize, Deserialize)]
struct About {
    factors: Vec<String>,
}

impl Artifact for TrainImages {
    const KINDS: &'static [ArtifactKind] = &["train-images"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write(&self.0, writer)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        read(reader).map(Self)
    }
}

impl Artifact for AnyImages {
    const KINDS: &'static [ArtifactKind] = &["train-images", "validation-images", "test-images"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write(&self.0, writer)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        read(reader).map(Self)
    }
}

fn write(images: &Images, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
    let ImageShape { channels, height, width } = images.shape();
    let shape = [images.len(), channels, height, width];
    write_array(writer, "images.npy", &shape, images.pixels())?;
    let factors = images.factors();
    let shape = [images.len(), factors.names.len()];
    write_array(writer, "factors.npy", &shape, &factors.values)?;
    writer.write_json("about.json", &About { factors: factors.names.clone() })
}

fn read(reader: &ArtifactReader) -> Result<Images, ArtifactError> {
    let ([_, channels, height, width], pixels) = read_array::<u8, 4>(reader, "images.npy")?;
    let (_, values) = read_array::<f32, 2>(reader, "factors.npy")?;
    let about: About = reader.read_json("about.json")?;
    let factors = Factors { names: about.factors, values };
    Images::new(ImageShape { channels, height, width }, pixels, factors)
        .map_err(|error| ArtifactError::malformed("images.npy", error))
}
