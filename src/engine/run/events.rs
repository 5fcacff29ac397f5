//! What happens during a run, as data: shown by the cli, written as JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::engine::digest::StageKey;
use crate::engine::stage::lifecycle::{Outcome, Progress};

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run begins.
    Started {
        /// The pipeline's name.
        pipeline: String,
        /// How many stages are selected.
        stages: usize,
    },
    /// A stage begins to run.
    StageStarted {
        /// Its name.
        stage: String,
        /// Its key.
        key: StageKey,
        /// Why it was not taken from the cache.
        why: String,
    },
    /// A stage waits in the queue of a cluster.
    StageQueued {
        /// Its name.
        stage: String,
        /// The job there.
        job: String,
        /// Why it waits, as the cluster says.
        reason: String,
    },
    /// The result of a stage came from the remote cache.
    StageFetched {
        /// Its name.
        stage: String,
        /// Its key.
        key: StageKey,
        /// Bytes that were transferred; files that were here already are not.
        bytes: u64,
    },
    /// A stage waits for another run that computes the same key, or the same to another length.
    StageWaits {
        /// Its name.
        stage: String,
    },
    /// A stage tells how far it is.
    StageProgress {
        /// Its name.
        stage: String,
        /// How far it is.
        progress: Progress,
    },
    /// A stage ended.
    StageEnded {
        /// Its name.
        stage: String,
        /// Its key, where its inputs were known.
        key: Option<StageKey>,
        /// How it ended.
        outcome: Outcome,
        /// How long it ran.
        seconds: f64,
        /// What went wrong, in one line.
        message: Option<String>,
    },
    /// Something that the user should know but that stops nothing.
    Note {
        /// One line.
        message: String,
    },
    /// The report was brought up to date.
    Report {
        /// Its folder.
        folder: PathBuf,
        /// Files that are new or changed.
        written: Vec<String>,
        /// Files of an earlier run whose stages have no result now.
        stale: Vec<String>,
    },
    /// The run is over.
    Summary {
        /// Stages computed.
        executed: usize,
        /// Stages taken from the cache, here or remote.
        cached: usize,
        /// How many of them came from the remote cache.
        fetched: usize,
        /// Stages failed.
        failed: usize,
        /// Stages that did not start.
        skipped: usize,
        /// Wall time.
        seconds: f64,
        /// Whether the run was interrupted.
        interrupted: bool,
    },
}
