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

    /// Returns whether this goes less far than another stage of its trajectory.
    fn is_shorter(&self, other: &Self) -> bool {
        self.record.is_shorter(&other.record, self.horizon)
    }
}

/// The stages that are ready, in plan order.
#[derive(Debug, Default)]
pub(super) struct ReadyStages {
    stages: BTreeMap<StageIndex, Ready>,
    keys: BTreeMap<StageKey, BTreeSet<StageIndex>>,
    /// By trajectory, those that go least far first; among equals in plan order.
    trajectories: BTreeMap<TrajectoryKey, Vec<StageIndex>>,
}

impl ReadyStages {
    pub(super) fn insert(&mut self, stage: StageIndex, ready: Ready) {
        self.keys.entry(ready.key).or_default().insert(stage);
        if let Some(trajectory) = ready.trajectory {
            let group = self.trajectories.entry(trajectory).or_default();
            let comes_first = |other: &StageIndex| {
                let earlier = &self.stages[other];
                earlier.is_shorter(&ready) || (*other < stage && !ready.is_shorter(earlier))
            };
            group.insert(group.partition_point(comes_first), stage);
        }
        self.stages.insert(stage, ready);
    }

    pub(super) fn remove(&mut self, stage: StageIndex) -> Option<Ready> {
        let ready = self.stages.remove(&stage)?;
        if let Some(group) = self.keys.get_mut(&ready.key) {
            group.remove(&stage);
        }
        if let Some(group) = ready.trajectory.and_then(|key| self.trajectories.get_mut(&key)) {
            group.retain(|other| *other != stage);
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
        let same_key = self.keys.get(&key).into_iter().flatten();
        let related: BTreeSet<_> =
            same_key.chain(same_trajectory.into_iter().flatten()).copied().collect();
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
        self.trajectories.get(trajectory)?.first().copied()
    }
}
