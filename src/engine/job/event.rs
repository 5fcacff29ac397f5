//! What a job tells while it runs, and how it ended.

use serde::{Deserialize, Serialize};

use crate::engine::cache::StoredResult;
use crate::engine::stage::lifecycle::Progress;

/// An event in the life of a job; a child process prints one of these per line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobEvent {
    /// Another process computes the key or uses its trajectory; this one waits for it.
    Waiting,
    /// All that is needed is claimed, the work begins.
    Started,
    /// It waits in the queue of a cluster.
    Queued {
        /// The job there.
        job: String,
        /// Why it waits, as the cluster says.
        reason: String,
    },
    /// How far the stage is.
    Progress(Progress),
    /// Something that the user should know.
    Note(String),
    /// How the job ended.
    Ended(JobOutcome),
}

/// How a job ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOutcome {
    /// It was computed.
    Executed(StoredResult),
    /// Another process had computed it meanwhile.
    Cached(StoredResult),
    /// It saved its state and stopped.
    Stopped,
    /// It goes on without this run.
    Left,
    /// It was killed from outside, most likely for want of memory, as the message says.
    Killed(String),
    /// The compute device does not work, whatever the stage is; the message says why.
    NoDevice(String),
    /// Another process kept the key or its trajectory for too long.
    Busy(String),
    /// It failed.
    Failed {
        /// What happened, in one line.
        message: String,
        /// Whether it would fail again in the same way.
        permanent: bool,
    },
}

impl JobOutcome {
    pub(super) fn failed(message: impl ToString) -> Self {
        Self::Failed { message: message.to_string(), permanent: false }
    }
}
