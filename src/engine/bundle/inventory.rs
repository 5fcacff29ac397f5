//! The inventory: what a bundle is about, and name, size and digest of every file in it.

use serde::{Deserialize, Serialize};

use super::error::Problem;
use crate::engine::digest::ContentDigest;

/// The name of the inventory, which is the first file.
pub const INVENTORY: &str = "inventory.txt";

/// Raised when an earlier program could not read what this one writes.
const FORMAT: u32 = 1;

/// How much of a pipeline's results is in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Every result.
    Everything,
    /// Tables and conclusions, and what they read.
    Tables,
}

/// What a bundle is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The version of the program that made it.
    pub program: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// The pipeline file.
    pub file: String,
    /// The pipeline's scale, if it has several.
    pub scale: Option<String>,
    /// How much of its results is there.
    pub extent: Extent,
}

/// A file in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The digest of its bytes.
    pub digest: ContentDigest,
}

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inventory {
    bundle: u32,
    pub(super) about: About,
    pub(super) files: Vec<ListedFile>,
}

impl Inventory {
    pub(super) fn new(about: About, files: Vec<ListedFile>) -> Self {
        Self { bundle: FORMAT, about, files }
    }

    /// Returns its text: one line a file.
    pub(super) fn text(&self) -> String {
        let files: Vec<String> = self.files.iter().map(line).collect();
        format!(
            "{{\"bundle\": {},\n\"about\": {},\n\"files\": [\n{}\n]}}\n",
            self.bundle,
            line(&self.about),
            files.join(",\n")
        )
    }

    /// Reads what [`Inventory::text`] has written.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Version {
            bundle: u32,
        }
        let damaged = |cause| Problem::Refused(format!("its inventory can't be read: {cause}"));
        let version: Version = serde_json::from_slice(text).map_err(damaged)?;
        if version.bundle != FORMAT {
            let found = version.bundle;
            return Problem::refused(format!(
                "it has format {found}, but this version reads {FORMAT}: use another pcae-run"
            ));
        }
        let inventory: Self = serde_json::from_slice(text).map_err(damaged)?;
        if inventory.text().as_bytes() != text {
            return Problem::refused("its inventory is not written as bundles are");
        }
        Ok(inventory)
    }
}

/// Returns a value on one line, its fields in the order in which they are declared.
fn line(value: &impl Serialize) -> String {
    // Plain strings and numbers can't fail.
    serde_json::to_string(value).unwrap_or_default()
}
