//! How a stage ended on a node, as the node tells it: the truth of an outcome.
//!
//! Written by a temporary file and a rename, so that it is there whole or not at all. Only where there
//! is none, the scheduler's state explains why.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::engine::job::JobOutcome;

/// How a stage ended on a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageResult {
    /// How it ended; with the names, digests and sizes of its files.
    pub outcome: JobOutcome,
    /// Why it was asked to stop, if it was.
    pub asked: Option<Asked>,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// The node.
    pub node: String,
    /// The Slurm job, with the number of its task.
    pub job: Option<String>,
    /// How often Slurm had started the job before.
    pub restarts: u32,
}

/// Why a stage on a node was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// The time limit of the job was near.
    TimeLimit,
    /// The job was told to end: cancelled, preempted, or its node is being shut down.
    Termination,
}

impl StageResult {
    /// Writes it.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let temporary = path.with_extension("result-tmp");
        fs::write(&temporary, serde_json::to_vec(self)?)?;
        fs::File::open(&temporary)?.sync_all()?;
        fs::rename(&temporary, path)
    }

    /// Reads one, if it is there.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }
}
