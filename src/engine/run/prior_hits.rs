//! What was seen in the cache before a run, to be taken as long as it holds.

use std::collections::BTreeSet;

use super::status::StageStatus;
use crate::engine::cache::StoredResult;
use crate::engine::plan::StageIndex;

/// The results that were seen, by stage.
pub(super) struct PriorHits {
    results: Vec<Option<StoredResult>>,
    taken: BTreeSet<StageIndex>,
}

impl PriorHits {
    /// Keeps the results of stages that stand like this; the cache must be held since.
    pub(super) fn of(statuses: Vec<StageStatus>) -> Self {
        let seen = |status| match status {
            StageStatus::Cached(result) => Some(result),
            StageStatus::Stale { .. } | StageStatus::Waiting { .. } => None,
        };
        Self { results: statuses.into_iter().map(seen).collect(), taken: BTreeSet::new() }
    }

    /// Takes the result of a stage; none if it has none, or if an input's was not taken from here: a
    /// stage whose inputs are as they were seen is as it was seen, too.
    pub(super) fn take(
        &mut self,
        stage: StageIndex,
        mut members: impl Iterator<Item = StageIndex>,
    ) -> Option<StoredResult> {
        if !members.all(|member| self.taken.contains(&member)) {
            return None;
        }
        let result = self.results[stage].take()?;
        self.taken.insert(stage);
        Some(result)
    }
}
