//! Which of the ready stages may start: of those that share a trajectory one at a time.
//!
//! Side by side they would only wait for each other while they fill slots. The one that goes least
//! far comes first, so that the others go on from it.

use std::collections::{BTreeMap, BTreeSet};

use super::digest::{StageKey, TrajectoryKey};
use super::key::KeyRecord;
use super::plan::StageIndex;

/// A stage that is to run as soon as there is room.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) key: StageKey,
    pub(super) record: KeyRecord,
    pub(super) horizon: &'static [&'static str],
    pub(super) trajectory: Option<TrajectoryKey>,
    pub(super) why: String,
}

impl Ready {
    pub(super) fn new(record: KeyRecord, horizon: &'static [&'static str], why: String) -> Self {
        let (key, trajectory) = (record.key(), record.trajectory(horizon));
        Self { key, record, horizon, trajectory, why }
    }
}

/// Returns the stages that need not wait for another one of their trajectory, in the given order.
pub(super) fn lineup<'a>(
    ready: impl Iterator<Item = (StageIndex, &'a Ready)>,
    running: &BTreeSet<TrajectoryKey>,
) -> Vec<(StageIndex, StageKey)> {
    let ready: Vec<_> = ready.collect();
    let mut first = BTreeMap::<TrajectoryKey, (StageIndex, &Ready)>::new();
    for &(stage, candidate) in &ready {
        let Some(trajectory) = candidate.trajectory else {
            continue;
        };
        let (best, shortest) = first.entry(trajectory).or_insert((stage, candidate));
        if candidate.record.is_shorter(&shortest.record, candidate.horizon) {
            (*best, *shortest) = (stage, candidate);
        }
    }
    let may_start = |stage: StageIndex, candidate: &Ready| {
        candidate.trajectory.is_none_or(|trajectory| {
            !running.contains(&trajectory)
                && first.get(&trajectory).is_some_and(|(best, _)| *best == stage)
        })
    };
    ready
        .into_iter()
        .filter(|(stage, candidate)| may_start(*stage, candidate))
        .map(|(stage, candidate)| (stage, candidate.key))
        .collect()
}
