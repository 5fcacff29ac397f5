//! Distance tables: `distances.npy` (n x n, after scaling) and `about.json` (how it was scaled).

use serde::{Deserialize, Serialize};

use super::arrays::{read_array, write_array};
use crate::engine::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::geometry::{Distances, Rescale};

#[derive(Serialize, Deserialize)]
struct About {
    mean_before_scaling: f64,
    rescale: Rescale,
}

impl Artifact for Distances {
    const KINDS: &'static [ArtifactKind] = &["distances"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write_array(writer, "distances.npy", &[self.len(), self.len()], self.values())?;
        let about =
            About { mean_before_scaling: self.mean_before_scaling(), rescale: self.rescale() };
        writer.write_json("about.json", &about)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let ([rows, _], values) = read_array::<f32, 2>(reader, "distances.npy")?;
        let about: About = reader.read_json("about.json")?;
        Self::from_parts(rows, values, about.mean_before_scaling, about.rescale)
            .map_err(|error| ArtifactError::malformed("distances.npy", error))
    }
}
