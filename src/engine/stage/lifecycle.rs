//! How far a running stage is, and how it ended.

use serde::{Deserialize, Serialize};

/// The unit of progress that is told as a share of the whole.
pub const PERCENT: &str = "%";

/// How far a running stage is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Units done.
    pub done: u64,
    /// Units in all.
    pub total: u64,
    /// What a unit is, such as `epoch`.
    pub unit: String,
    /// A word on the state, such as `loss 0.0183`.
    pub note: String,
    /// Something worth a line of its own, such as that a training goes on where it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Progress {
    /// Returns the share that is done, from 0 to 1.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { (self.done as f64 / self.total as f64).min(1.0) }
    }

    /// Returns how far it is: `epoch 61/100` or `37 %`.
    pub fn counted(&self) -> String {
        let Self { done, total, unit, .. } = self;
        if unit == PERCENT {
            format!("{:.0} %", 100.0 * self.share())
        } else {
            format!("{unit} {done}/{total}")
        }
    }

    /// Returns how far it is, with the note.
    pub fn words(&self) -> String {
        let counted = self.counted();
        if self.note.is_empty() { counted } else { format!("{counted}  {}", self.note) }
    }
}

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was computed in this run.
    Executed,
    /// Its artifact was in the cache.
    Cached,
    /// It failed.
    Failed,
    /// It was asked to stop and saved its state.
    Stopped,
    /// It did not start, because an input failed or the run was ending.
    Skipped,
}
