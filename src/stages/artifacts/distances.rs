//! Distance tables: `distances.npy` (n x n, after scaling) and `about.json` (how it was scaled).
//!
//! With anchors the table is between these alone; `nearest.npy` has the row of each point's anchor,
//! and `legs.npy` the distance to it, after scaling, where it counts.

use serde::{Deserialize, Serialize};

use super::arrays::{read_array, write_array};
use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::geometry::{AnchorLink, Distances, GeometryError, Links, Parts, Rescale};

const TABLE: &str = "distances.npy";
const NEAREST: &str = "nearest.npy";
const LEGS: &str = "legs.npy";

#[derive(Serialize, Deserialize)]
struct About {
    mean_before_scaling: f64,
    rescale: Rescale,
    /// Separate parts of the graph before they were joined; with anchors, their rows are those of the
    /// table.
    #[serde(flatten)]
    parts: Option<Parts>,
    /// How points are linked with anchors; absent if the table is between all points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchors: Option<AnchorLink>,
}

impl Artifact for Distances {
    const KINDS: &'static [ArtifactKind] = &["distances"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write_array(writer, TABLE, &[self.side(), self.side()], self.values())?;
        if let Some(Links { nearest, legs, .. }) = self.links() {
            write_array(writer, NEAREST, &[nearest.len()], nearest)?;
            if !legs.is_empty() {
                write_array(writer, LEGS, &[legs.len()], legs)?;
            }
        }
        let about = About {
            mean_before_scaling: self.mean_before_scaling(),
            rescale: self.rescale(),
            parts: self.parts().cloned(),
            anchors: self.links().map(|links| links.link),
        };
        writer.write_json("about.json", &about)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let ([rows, _], values) = read_array::<f32, 2>(reader, TABLE)?;
        let about: About = reader.read_json("about.json")?;
        let table = Self::from_parts(rows, values, about.mean_before_scaling, about.rescale)
            .map_err(|error| ArtifactError::malformed(TABLE, error))?
            .with_parts(about.parts);
        let Some(link) = about.anchors else {
            return Ok(table);
        };
        let (_, nearest) = read_array::<u32, 1>(reader, NEAREST)?;
        let legs = match link {
            AnchorLink::ViaAnchor => read_array::<f32, 1>(reader, LEGS)?.1,
            AnchorLink::AsAnchor | AnchorLink::StraightInCell => Vec::new(),
        };
        table.with_links(Links { link, nearest, legs }).map_err(|error| {
            let is_leg = matches!(error, GeometryError::LegCount { .. });
            ArtifactError::malformed(if is_leg { LEGS } else { NEAREST }, error)
        })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::geometry::Bridge;

    const FILES: [&str; 4] = ["about.json", LEGS, NEAREST, TABLE];

    fn distances(link: AnchorLink) -> Distances {
        let table = vec![0.0, 1.5, 1.5, 0.0];
        let table = Distances::from_parts(2, table, 4.0, Rescale::UnitMean).unwrap();
        let legs = if link == AnchorLink::ViaAnchor { vec![0.25, 0.0, 0.5] } else { Vec::new() };
        table.with_links(Links { link, nearest: vec![1, 0, 1], legs }).unwrap()
    }

    fn folder(distances: &Distances) -> (TempDir, ArtifactWriter) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArtifactWriter::new(folder.path().to_owned());
        distances.write(&mut writer).unwrap();
        (folder, writer)
    }

    fn read(writer: &ArtifactWriter) -> Result<Distances, String> {
        let is_there = |name: &&str| writer.path(name).unwrap().exists();
        let names: Vec<&str> = FILES.into_iter().filter(is_there).collect();
        Distances::read(&writer.reader(&names).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn distances_come_back_as_they_were() {
        let plain = Distances::from_parts(2, vec![0.0, 7.0, 7.0, 0.0], 3.5, Rescale::None).unwrap();
        let bridge = Bridge { from: 0, to: 1, length: 2.5, equally_short: 2 };
        let parts = Parts { components: 2, bridges: vec![bridge] };
        let mut all = vec![plain.clone(), plain.with_parts(Some(parts))];
        for link in [AnchorLink::AsAnchor, AnchorLink::StraightInCell, AnchorLink::ViaAnchor] {
            all.push(distances(link));
        }
        for distances in all {
            assert_eq!(read(&folder(&distances).1), Ok(distances));
        }
    }

    #[test]
    fn files_that_do_not_belong_together_are_named() {
        let damaged = |name: &str, values: &[u32]| {
            let (folder, mut writer) = folder(&distances(AnchorLink::ViaAnchor));
            let shape = [values.len()];
            if name == NEAREST {
                write_array(&mut writer, name, &shape, values).unwrap();
            } else {
                let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
                write_array(&mut writer, name, &shape, &values).unwrap();
            }
            let error = read(&writer).unwrap_err();
            drop(folder);
            error
        };
        assert_eq!(
            damaged(NEAREST, &[1, 0, 2]),
            "nearest.npy is invalid: point 2 is linked with anchor 2, but there are 2 anchors"
        );
        assert_eq!(
            damaged(LEGS, &[1, 0]),
            "legs.npy is invalid: 3 points need 3 distances to their anchors, found 2"
        );
        assert_eq!(
            damaged(TABLE, &[0, 0, 0, 0]),
            "distances.npy is invalid: expected 2 dimensions, found 1"
        );
    }

    #[test]
    fn a_table_with_anchors_needs_to_say_which_points_they_stand_for() {
        let (_folder, writer) = folder(&distances(AnchorLink::AsAnchor));
        std::fs::remove_file(writer.path(NEAREST).unwrap()).unwrap();
        let error = read(&writer).unwrap_err();
        assert!(error.starts_with("the artifact has no file `nearest.npy`"), "{error}");
    }

    #[test]
    fn a_table_of_a_program_that_says_nothing_of_graphs_is_read() {
        let (_folder, mut writer) = folder(&distances(AnchorLink::AsAnchor));
        let about = br#"{"mean_before_scaling": 1.0, "rescale": "None"}"#;
        writer.write("about.json", about).unwrap();
        let read = read(&writer).unwrap();
        assert_eq!((read.len(), read.parts(), read.links()), (2, None, None));
    }
}
