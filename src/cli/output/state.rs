//! The states of a stage, by one name each in every command.

use std::fmt;

use serde::Serialize;

use super::terminal::Tone;

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// The cache has its result.
    Cached,
    /// Some run computes it just now.
    Running,
    /// It waits in the queue of a cluster.
    Queued,
    /// It would run, and failed when it last did.
    Failed,
    /// It would run.
    Stale,
    /// Whether it runs depends on inputs that are not there.
    Waiting,
}

impl State {
    /// Returns its color.
    pub(crate) const fn tone(self) -> Tone {
        match self {
            Self::Cached => Tone::Good,
            Self::Failed => Tone::Bad,
            Self::Running | Self::Queued | Self::Stale => Tone::Busy,
            Self::Waiting => Tone::Faint,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Cached => "cached",
            Self::Running => "running",
            Self::Queued => "queued",
            Self::Failed => "failed",
            Self::Stale => "stale",
            Self::Waiting => "waiting",
        })
    }
}
