//! What is known of samples: `factors.npy`, `classes.npy` where there are classes, `about.json`.

use serde::{Deserialize, Serialize};

use super::arrays::{read_array, write_array};
use crate::data::{Annotations, Classes, Factors};
use crate::engine::artifact::{ArtifactError, ArtifactReader, ArtifactWriter};

#[derive(Serialize, Deserialize)]
struct About {
    /// Names of a vector's coordinates, where they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    coordinates: Vec<String>,
    factors: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<String>>,
    /// Samples that were left out because they could not be read, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
}

/// Writes what is known of `count` samples.
pub(super) fn write(
    writer: &mut ArtifactWriter,
    annotations: &Annotations,
    count: usize,
    coordinates: &[String],
    skipped: &[String],
) -> Result<(), ArtifactError> {
    let Factors { names, values } = &annotations.factors;
    write_array(writer, "factors.npy", &[count, names.len()], values)?;
    if let Some(classes) = &annotations.classes {
        write_array(writer, "classes.npy", &[count], &classes.values)?;
    }
    let about = About {
        coordinates: coordinates.to_vec(),
        factors: names.clone(),
        classes: annotations.classes.as_ref().map(|classes| classes.names.clone()),
        skipped: skipped.to_vec(),
    };
    writer.write_json("about.json", &about)
}

/// Reads the names of the coordinates.
pub(super) fn coordinates(reader: &ArtifactReader) -> Result<Vec<String>, ArtifactError> {
    Ok(reader.read_json::<About>("about.json")?.coordinates)
}

/// Reads it back.
pub(super) fn read(reader: &ArtifactReader) -> Result<Annotations, ArtifactError> {
    let about: About = reader.read_json("about.json")?;
    let (_, values) = read_array::<f32, 2>(reader, "factors.npy")?;
    let classes = match about.classes {
        Some(names) => {
            let (_, values) = read_array::<u16, 1>(reader, "classes.npy")?;
            Some(Classes { names, values })
        }
        None => None,
    };
    Ok(Annotations { factors: Factors { names: about.factors, values }, classes })
}
