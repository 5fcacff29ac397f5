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

/// A manifest of which only what other stages need has been read.
#[derive(Clone, Debug)]
pub struct Found {
    manifest: String,
    outline: Outline,
    is_indexed: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Outline {
    key: StageKey,
    artifact: Content,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Content {
    digest: ContentDigest,
}

impl Found {
    /// Reads the outline of a manifest in the index.
    pub(super) fn of(manifest: String) -> Option<Self> {
        let outline = serde_json::from_str(&manifest).ok()?;
        Some(Self { manifest, outline, is_indexed: true })
    }

    /// Returns whether the index has it; if not, a lookup puts it there that is not one of many.
    pub fn is_indexed(&self) -> bool {
        self.is_indexed
    }

    /// Says that the index does not have it.
    pub(super) fn not_indexed(self) -> Self {
        Self { is_indexed: false, ..self }
    }

    /// Returns the key.
    pub fn key(&self) -> StageKey {
        self.outline.key
    }

    /// Returns the digest of the result.
    pub fn content(&self) -> ContentDigest {
        self.outline.artifact.digest
    }

    /// Reads the whole manifest.
    pub(super) fn entry(&self) -> Option<Entry> {
        serde_json::from_str(&self.manifest).ok()
    }

    /// Reads what the manifest says besides the key and its record.
    pub(super) fn rest(&self) -> Option<Rest> {
        serde_json::from_str(&self.manifest).ok()
    }
}

/// What a manifest says besides the key and its record.
#[derive(Debug, Deserialize)]
pub(super) struct Rest {
    #[serde(default)]
    trajectory: Option<TrajectoryKey>,
    pub(super) artifact: StoredArtifact,
    run: RunRecord,
}

impl Rest {
    /// Puts the key and its record back.
    pub(super) fn entry(self, key: StageKey, record: KeyRecord) -> Entry {
        let Self { trajectory, artifact, run } = self;
        Entry { key, record, trajectory, artifact, run }
    }
}
