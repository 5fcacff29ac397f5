//! The manifest of a cached result.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::engine::digest::{ContentDigest, StageKey, TrajectoryKey};
use crate::engine::key::KeyRecord;
use crate::engine::stage::artifact::StoredArtifact;
use crate::engine::stage::run_record::RunRecord;
use crate::engine::system::regular_file;

/// A cached result: what was asked, what came out, how it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The key.
    pub key: StageKey,
    /// The key's pre-image.
    pub record: KeyRecord,
    /// The state it shares with longer and shorter runs, if its kind has a horizon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<TrajectoryKey>,
    /// The result.
    pub artifact: StoredArtifact,
    /// How it was made.
    pub run: RunRecord,
}

/// The last second of the year 9999.
const END_OF_CALENDAR: u64 = 253_402_300_799;

impl Entry {
    /// Reads a manifest; `None` if there is none that can be used.
    pub fn read(path: &Path) -> Option<Self> {
        Self::check(path).ok()
    }

    /// Reads a manifest; the error says what is wrong with it.
    pub(super) fn check(path: &Path) -> Result<Self, String> {
        let text = regular_file::read(path).map_err(|cause| format!("can't be read: {cause}"))?;
        Self::parse(&text)
    }

    /// Parses a manifest; the error says what is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let entry: Self =
            serde_json::from_slice(text).map_err(|cause| format!("is not a manifest: {cause}"))?;
        if entry.record.key() != entry.key {
            return Err("is of another key than its record".to_owned());
        }
        // Neither the index nor the calendar could hold it.
        if entry.run.finished > END_OF_CALENDAR || !(0.0..f64::MAX).contains(&entry.run.seconds) {
            return Err("has impossible times".to_owned());
        }
        Ok(entry)
    }
}

/// A result in the cache: what its stage left. Who made it and how is in its [`Entry`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredResult {
    /// The key.
    pub key: StageKey,
    /// The result.
    pub artifact: StoredArtifact,
}

impl From<Entry> for StoredResult {
    fn from(entry: Entry) -> Self {
        Self { key: entry.key, artifact: entry.artifact }
    }
}

/// A result of which only what other stages need has been read.
#[derive(Clone, Debug)]
pub struct ResultSummary {
    pub(super) key: StageKey,
    pub(super) content: ContentDigest,
    /// A [`StoredArtifact`] as JSON.
    pub(super) artifact: String,
    pub(super) is_indexed: bool,
}

impl ResultSummary {
    /// Outlines an entry; `None` if it can't be written down.
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        Some(Self {
            key: entry.key,
            content: entry.artifact.digest,
            artifact: serde_json::to_string(&entry.artifact).ok()?,
            is_indexed: true,
        })
    }

    /// Returns whether the index has it; if not, a lookup puts it there that is not one of many.
    pub fn is_indexed(&self) -> bool {
        self.is_indexed
    }

    /// Returns the key.
    pub fn key(&self) -> StageKey {
        self.key
    }

    /// Returns the digest of the result.
    pub fn content(&self) -> ContentDigest {
        self.content
    }

    /// Reads the rest; `None` if it is not about the same content.
    pub(super) fn result(&self) -> Option<StoredResult> {
        let artifact: StoredArtifact = serde_json::from_str(&self.artifact).ok()?;
        let same = artifact.digest == self.content;
        same.then_some(StoredResult { key: self.key, artifact })
    }
}
