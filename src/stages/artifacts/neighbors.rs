//! Nearest neighbors: `asked.npy` (rows of the points whose neighbors these are), `indices.npy` and
//! `distances.npy` (one row for each asked point, nearest first) and `about.json` (among how many).

use serde::{Deserialize, Serialize};

use super::arrays::{read_array, write_array};
use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::geometry::Neighbors;

const ASKED: &str = "asked.npy";
const INDICES: &str = "indices.npy";
const DISTANCES: &str = "distances.npy";

#[derive(Serialize, Deserialize)]
struct About {
    /// Number of points among which neighbors were searched.
    points: usize,
}

impl Artifact for Neighbors {
    const KINDS: &'static [ArtifactKind] = &["neighbors"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        let (indices, distances): (Vec<u32>, Vec<f64>) = self.links().iter().copied().unzip();
        let shape = [self.rows(), self.count()];
        write_array(writer, ASKED, &[self.rows()], self.asked())?;
        write_array(writer, INDICES, &shape, &indices)?;
        write_array(writer, DISTANCES, &shape, &distances)?;
        writer.write_json("about.json", &About { points: self.points() })
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let About { points } = reader.read_json("about.json")?;
        let (_, asked) = read_array::<u32, 1>(reader, ASKED)?;
        let (shape, indices) = read_array::<u32, 2>(reader, INDICES)?;
        let (other, distances) = read_array::<f64, 2>(reader, DISTANCES)?;
        if shape != other {
            return Err(ArtifactError::malformed(DISTANCES, "not as large as the indices"));
        }
        let links = indices.into_iter().zip(distances).collect();
        Self::from_parts(points, asked, shape[1], links)
            .map_err(|error| ArtifactError::malformed(INDICES, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Points;

    #[test]
    fn neighbors_come_back_as_they_were() {
        let points = Points::new(5, 1, vec![0.0, 1.0, 3.0, 7.0, 15.0]).unwrap();
        let found = Neighbors::of_some(&points, vec![1, 4], 2, &mut |_, _| ()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArtifactWriter::new(folder.path().to_owned());
        found.write(&mut writer).unwrap();
        let reader = writer.reader(&[ASKED, INDICES, DISTANCES, "about.json"]).unwrap();
        assert_eq!(Neighbors::read(&reader).unwrap(), found);
        writer.write("about.json", br#"{"points": 3}"#).unwrap();
        assert!(Neighbors::read(&reader).is_err());
    }
}
