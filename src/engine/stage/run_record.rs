//! How a result was made: for people and predictions, never for keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// The class of the processor: equal programs compute equal bytes on processors of one class.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub processor_class: String,
    /// The version of the program that made it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
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
    /// The stage's work as it was counted beforehand, see [`super::estimate::Work`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<f64>,
}
