//! What is known of samples: `factors.npy`, `classes.npy` where there are classes, `parts.npy` where
//! parts are published but not cut yet, `about.json`.

use serde::{Deserialize, Serialize};

use super::arrays::{read_array, read_bytes, write_array};
use crate::data::{Annotations, Classes, Factors, Split};
use crate::engine::stage::artifact::{ArtifactError, ArtifactReader, ArtifactWriter};

/// Unreadable samples that are named; the others are only counted.
const NAMED: usize = 100;

#[derive(Serialize, Deserialize)]
struct About {
    /// Names of a vector's coordinates, where they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    coordinates: Vec<String>,
    factors: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<String>>,
    /// How many samples were left out because they could not be read.
    #[serde(default)]
    skipped: usize,
    /// The first of them, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped_files: Vec<String>,
}

/// What is written beside the samples.
#[derive(Clone, Copy)]
pub(crate) struct SampleMetadata<'a> {
    /// Factors and classes.
    pub(crate) annotations: &'a Annotations,
    /// Published parts that are not cut yet.
    pub(crate) partition: Option<&'a [Split]>,
    /// Names of the coordinates.
    pub(crate) coordinates: &'a [String],
    /// Samples that were skipped because they could not be read, one line each.
    pub(crate) skipped: &'a [String],
}

impl<'a> SampleMetadata<'a> {
    /// Returns metadata of factors and classes only.
    pub(crate) const fn only(annotations: &'a Annotations) -> Self {
        Self { annotations, partition: None, coordinates: &[], skipped: &[] }
    }

    /// Writes what is known of `count` samples.
    pub(super) fn write(
        &self,
        writer: &mut ArtifactWriter,
        count: usize,
    ) -> Result<(), ArtifactError> {
        let Factors { names, values } = &self.annotations.factors;
        write_array(writer, "factors.npy", &[count, names.len()], values)?;
        let classes = self.annotations.classes.as_ref();
        if let Some(classes) = classes {
            write_array(writer, "classes.npy", &[count], &classes.values)?;
        }
        if let Some(parts) = self.partition {
            let parts: Vec<u8> = parts.iter().map(|&part| part as u8).collect();
            write_array(writer, PARTS, &[count], &parts)?;
        }
        let about = About {
            coordinates: self.coordinates.to_vec(),
            factors: names.clone(),
            classes: classes.map(|classes| classes.names.clone()),
            skipped: self.skipped.len(),
            skipped_files: self.skipped.iter().take(NAMED).cloned().collect(),
        };
        writer.write_json("about.json", &about)
    }
}

const PARTS: &str = "parts.npy";

/// Reads the names of the coordinates.
pub(super) fn coordinates(reader: &ArtifactReader) -> Result<Vec<String>, ArtifactError> {
    Ok(reader.read_json::<About>("about.json")?.coordinates)
}

/// Reads the published parts.
pub(super) fn partition(reader: &ArtifactReader) -> Result<Option<Vec<Split>>, ArtifactError> {
    if !reader.files().contains_key(PARTS) {
        return Ok(None);
    }
    let ([_], parts) = read_bytes::<1>(reader, PARTS)?;
    let split = |&part: &u8| Split::ALL.get(usize::from(part)).copied();
    let parts: Option<_> = parts.iter().map(split).collect();
    parts.map(Some).ok_or_else(|| ArtifactError::malformed(PARTS, "parts are 0, 1 and 2"))
}

/// Reads factors and classes.
pub(super) fn read(reader: &ArtifactReader) -> Result<Annotations, ArtifactError> {
    let about: About = reader.read_json("about.json")?;
    let ([_, width], values) = read_array::<f32, 2>(reader, "factors.npy")?;
    if width != about.factors.len() {
        let reason = format!("{width} columns, but {} factors are named", about.factors.len());
        return Err(ArtifactError::malformed("factors.npy", reason));
    }
    let classes = match about.classes {
        Some(names) => {
            let (_, values) = read_array::<u16, 1>(reader, "classes.npy")?;
            Some(Classes { names, values })
        }
        None => None,
    };
    Ok(Annotations { factors: Factors { names: about.factors, values }, classes })
}
