//! The stages that are ready, and which of them may start: of those that share a trajectory one at a
//! time.
//!
//! Side by side they would only wait for each other while they fill slots. The shortest comes first,
//! so that the others resume from it.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::digest::{StageKey, TrajectoryKey};
use crate::engine::key::KeyRecord;
use crate::engine::plan::StageIndex;

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

/// The stages that are ready, in plan order.
#[derive(Debug, Default)]
pub(super) struct ReadyStages {
    stages: BTreeMap<StageIndex, Ready>,
    keys: BTreeMap<StageKey, BTreeSet<StageIndex>>,
    trajectories: BTreeMap<TrajectoryKey, BTreeSet<StageIndex>>,
}

impl ReadyStages {
    pub(super) fn insert(&mut self, stage: StageIndex, ready: Ready) {
        self.keys.entry(ready.key).or_default().insert(stage);
        if let Some(trajectory) = ready.trajectory {
            self.trajectories.entry(trajectory).or_default().insert(stage);
        }
        self.stages.insert(stage, ready);
    }

    pub(super) fn remove(&mut self, stage: StageIndex) -> Option<Ready> {
        let ready = self.stages.remove(&stage)?;
        let trajectory = ready.trajectory.and_then(|key| self.trajectories.get_mut(&key));
        for group in self.keys.get_mut(&ready.key).into_iter().chain(trajectory) {
            group.remove(&stage);
        }
        Some(ready)
    }

    /// Removes and returns the stages that share a key or a trajectory.
    pub(super) fn remove_related(
        &mut self,
        key: StageKey,
        trajectory: Option<TrajectoryKey>,
    ) -> BTreeSet<StageIndex> {
        let same_trajectory = trajectory.and_then(|key| self.trajectories.get(&key));
        let related = self.keys.get(&key).into_iter().chain(same_trajectory).flatten();
        let related: BTreeSet<_> = related.copied().collect();
        for &stage in &related {
            self.remove(stage);
        }
        related
    }

    /// Returns the stages that need not wait for another one of their trajectory.
    pub(super) fn startable<'a>(
        &'a self,
        running: &'a BTreeSet<TrajectoryKey>,
    ) -> impl Iterator<Item = (StageIndex, &'a Ready)> {
        let may_start = |(stage, ready): &(&StageIndex, &Ready)| {
            ready.trajectory.is_none_or(|trajectory| {
                !running.contains(&trajectory) && self.shortest(&trajectory) == Some(**stage)
            })
        };
        self.stages.iter().filter(may_start).map(|(&stage, ready)| (stage, ready))
    }

    /// Returns the stage of a trajectory that goes least far; among equals the first.
    fn shortest(&self, trajectory: &TrajectoryKey) -> Option<StageIndex> {
        let mut group = self.trajectories.get(trajectory)?.iter();
        let first = *group.next()?;
        Some(group.fold(first, |shortest, &stage| {
            let (candidate, best) = (&self.stages[&stage], &self.stages[&shortest]);
            let is_shorter = candidate.record.is_shorter(&best.record, candidate.horizon);
            if is_shorter { stage } else { shortest }
        }))
    }
}
