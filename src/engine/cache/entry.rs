//! The manifest of a cached result.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::engine::artifact::StoredArtifact;
use crate::engine::digest::{ContentDigest, StageKey, TrajectoryKey};
use crate::engine::key::KeyRecord;

/// How a result came to be. A record for people; nothing is decided by it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The pipeline that asked for it first.
    pub pipeline: String,
    /// The stage's name in that pipeline.
    pub stage: String,
    /// Wall time in seconds.
    pub seconds: f64,
    /// When it ended, in seconds since 1970.
    pub finished: u64,
    /// The machine.
    pub host: String,
    /// What the machine calls its processor; empty if it doesn't tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub processor: String,
    /// Processor cores that the process might use; 0 if that is not known.
    #[serde(default)]
    pub cores: usize,
    /// The compute device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// Threads it was allowed.
    pub threads: usize,
    /// Its largest resident memory in bytes, where the system tells.
    pub peak_memory: Option<u64>,
    /// Numbers that the stage measured of this run, such as the seconds of each epoch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, Vec<f64>>,
    /// The stage's work as it was counted beforehand, see [`crate::engine::cost::Work`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<f64>,
}

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

impl Entry {
    /// Reads a manifest; `None` if it is absent, torn, or not what its key says.
    pub fn read(path: &Path) -> Option<Self> {
        let entry: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (entry.record.key() == entry.key).then_some(entry)
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
pub struct Found {
    pub(super) key: StageKey,
    pub(super) content: ContentDigest,
    /// A [`StoredArtifact`] as JSON.
    pub(super) artifact: String,
    pub(super) is_indexed: bool,
}

impl Found {
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
