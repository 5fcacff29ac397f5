//! What stages asked for and what they used, and what to ask for next time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::engine::site::Resources;

/// How much more than was used is proposed: the next data may be larger.
const RESERVE: f64 = 1.5;

/// What one stage asked for and used.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Its kind.
    pub kind: String,
    /// What it asked for.
    pub asked: Resources,
    /// Seconds it took.
    pub seconds: u64,
    /// Its largest resident memory in bytes, where the system told.
    pub peak_memory: Option<u64>,
}

/// What all stages of a kind asked for and used, at most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindUsage {
    /// The kind.
    pub kind: String,
    /// How many stages.
    pub stages: usize,
    /// Seconds asked for.
    pub asked_seconds: u64,
    /// Seconds used, by the longest.
    pub used_seconds: u64,
    /// Bytes asked for.
    pub asked_memory: u64,
    /// Bytes used, by the largest; nothing where the system did not tell.
    pub used_memory: Option<u64>,
}

impl KindUsage {
    /// Returns the time to ask for: half as much again as the longest, in whole minutes.
    pub fn proposed_time(&self) -> Duration {
        let minutes = (self.used_seconds as f64 * RESERVE / 60.0).ceil().max(1.0);
        Duration::from_secs(60 * minutes as u64)
    }

    /// Returns the memory to ask for: half as much again as the largest, in steps of 256 MB.
    pub fn proposed_memory(&self) -> Option<u64> {
        const STEP: f64 = 256e6;
        let steps = |bytes: u64| (bytes as f64 * RESERVE / STEP).ceil().max(1.0);
        self.used_memory.map(|bytes| (steps(bytes) * STEP) as u64)
    }
}

/// What the stages of a run asked for and used.
#[derive(Clone, Debug, Default)]
pub struct Efficiency {
    kinds: BTreeMap<String, KindUsage>,
}

impl Efficiency {
    pub(super) fn add(&mut self, usage: Usage) {
        let Usage { kind, asked, seconds, peak_memory } = usage;
        let total = self.kinds.entry(kind.clone()).or_insert(KindUsage {
            kind,
            stages: 0,
            asked_seconds: 0,
            used_seconds: 0,
            asked_memory: 0,
            used_memory: None,
        });
        total.stages += 1;
        total.asked_seconds = total.asked_seconds.max(asked.time.as_secs());
        total.used_seconds = total.used_seconds.max(seconds);
        total.asked_memory = total.asked_memory.max(asked.memory);
        total.used_memory = total.used_memory.max(peak_memory);
    }

    /// Returns the kinds, in the order of their names.
    pub fn kinds(&self) -> impl Iterator<Item = &KindUsage> {
        self.kinds.values()
    }
}
