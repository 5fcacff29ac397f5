//! What was seen in the cache before a run, to be taken as long as it holds.

use std::collections::BTreeSet;

use super::assess::Standing;
use super::cache::Entry;
use super::plan::StageIndex;

/// The results that were seen, by stage.
pub(super) struct Sight {
    entries: Vec<Option<Box<Entry>>>,
    taken: BTreeSet<StageIndex>,
}

impl Sight {
    /// Keeps the results of stages that stand like this; the cache must be held since.
    pub(super) fn of(standings: Vec<Standing>) -> Self {
        let seen = |standing| match standing {
            Standing::Cached(entry) => Some(entry),
            Standing::Stale { .. } | Standing::Waiting { .. } => None,
        };
        Self { entries: standings.into_iter().map(seen).collect(), taken: BTreeSet::new() }
    }

    /// Takes the result of a stage; none if it has none, or if an input's was not taken from here: a
    /// stage whose inputs are as they were seen is as it was seen, too.
    pub(super) fn take(
        &mut self,
        stage: StageIndex,
        mut members: impl Iterator<Item = StageIndex>,
    ) -> Option<Entry> {
        if !members.all(|member| self.taken.contains(&member)) {
            return None;
        }
        let entry = self.entries[stage].take()?;
        self.taken.insert(stage);
        Some(*entry)
    }
}
