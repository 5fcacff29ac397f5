//! How a run is to go about it, and how it went.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::engine::cache::StoredResult;
use crate::engine::digest::StageKey;
use crate::engine::plan::StageIndex;

/// What happens to the rest when a stage fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Running stages finish, no new ones start.
    Finish,
    /// Running stages are stopped.
    Stop,
    /// Everything that doesn't need the failed stage still runs.
    Continue,
}

/// How a run goes about it; of all this only the backend is in keys.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Stages side by side.
    pub jobs: usize,
    /// Stages side by side on each compute device.
    pub device_jobs: usize,
    /// Processor cores to share out.
    pub cores: usize,
    /// The compute devices.
    pub devices: Vec<String>,
    /// The devices' backend, as it stands in keys.
    pub backend: String,
    /// The folder for curves that stages show while they run: each has a folder of its name there.
    pub curves: Option<PathBuf>,
    /// Whether the network must not be used.
    pub offline: bool,
    /// What to do about failures.
    pub on_error: OnError,
    /// Default for stages without a limit of their own.
    pub timeout: Option<Duration>,
    /// Default for stages without a limit of their own.
    pub retries: u32,
    /// Whether results are only looked for, here and in the remote cache, and nothing is computed.
    pub only_look: bool,
}

impl RunOptions {
    /// Returns how results are looked for.
    pub fn to_look(backend: &str) -> Self {
        Self {
            jobs: 1,
            device_jobs: 1,
            cores: 1,
            devices: Vec::new(),
            backend: backend.to_owned(),
            curves: None,
            offline: true,
            on_error: OnError::Continue,
            timeout: None,
            retries: 0,
            only_look: true,
        }
    }
}

/// How a run went.
#[derive(Debug, Default)]
pub struct RunReport {
    /// Stages computed, in the order they ended.
    pub executed: Vec<String>,
    /// Stages taken from the cache, here or remote.
    pub cached: usize,
    /// How many of them came from the remote cache.
    pub fetched: usize,
    /// Failed stages with what happened.
    pub failed: Vec<(String, String)>,
    /// How many of the failed gave up waiting for another process.
    pub busy: usize,
    /// Stages that were stopped and saved their state.
    pub stopped: Vec<String>,
    /// How many stages go on without this run.
    pub left: usize,
    /// Stages that did not start.
    pub skipped: usize,
    /// Keys of the stages that were started, by name.
    pub keys: BTreeMap<String, StageKey>,
    /// The results, by stage.
    pub results: BTreeMap<StageIndex, StoredResult>,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
    /// Wall time, filled in by whoever started the run.
    pub seconds: f64,
}

/// Returns a name for this run that no other run on any host has.
pub(super) fn run_id() -> String {
    let host = rustix::system::uname();
    let since_start = std::time::Instant::now();
    let text = format!("{:?} {} {since_start:?}", host.nodename(), std::process::id());
    blake3::hash(text.as_bytes()).to_hex()[..12].to_owned()
}
