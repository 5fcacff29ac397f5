//! Why stages have no cached result, in a few words.

use std::collections::BTreeMap;

use crate::engine::cache::{Cache, CacheError, Entry, closest};
use crate::engine::key::KeyRecord;
use crate::engine::key::difference::Difference;
use crate::engine::plan::{Plan, PlannedStage, StageIndex};
use crate::engine::stage::StageSet;

/// Earlier results looked at for a stage whose name is new.
const NEIGHBORS: usize = 50;

/// Tells why stages have no cached result.
pub(super) struct Causes<'a, S> {
    plan: &'a Plan<S>,
    cache: &'a Cache,
    /// The latest results of each kind that was asked for.
    latest: BTreeMap<String, Vec<Entry>>,
}

impl<'a, S: StageSet> Causes<'a, S> {
    /// Tells of the stages of a plan.
    pub(super) fn new(plan: &'a Plan<S>, cache: &'a Cache) -> Self {
        Self { plan, cache, latest: BTreeMap::new() }
    }

    /// Returns in a few words why a stage has no cached result, and whether it has state to begin
    /// with.
    pub(super) fn why(
        &mut self,
        stage: StageIndex,
        record: &KeyRecord,
    ) -> Result<String, CacheError> {
        let why = self.missing(stage, record)?;
        let trajectory = record.trajectory(self.plan.stages()[stage].stage.as_stage().horizon());
        let has_state = trajectory.is_some_and(|trajectory| self.cache.has_state(&trajectory));
        Ok(if has_state { format!("{why}; resumes from saved state") } else { why })
    }

    fn missing(&mut self, stage: StageIndex, record: &KeyRecord) -> Result<String, CacheError> {
        const NEAR: usize = 2;
        let planned = &self.plan.stages()[stage];
        let earlier = self.cache.closest_of_stage(self.plan.name(), &planned.name, record)?;
        if let Some(earlier) = earlier {
            return Ok(brief(self.plan, planned, &record.differences(&earlier.record)));
        }
        // Perhaps the stage had another name.
        if !self.latest.contains_key(&record.kind) {
            let latest = self.cache.recent(&record.kind, NEIGHBORS)?;
            self.latest.insert(record.kind.clone(), latest);
        }
        let like = closest(&self.latest[&record.kind], record, &planned.name);
        Ok(match like.map(|entry| (record.differences(&entry.record), &entry.run.stage)) {
            Some((differences, name)) if differences.len() <= NEAR => {
                let differences = brief(self.plan, planned, &differences);
                format!("first run; like `{name}` but {differences}")
            }
            _ => "first run".to_owned(),
        })
    }
}

/// Returns differences in one short line: values as they are, inputs by the stages behind them.
fn brief<S>(plan: &Plan<S>, planned: &PlannedStage<S>, differences: &[Difference]) -> String {
    const SHOWN: usize = 3;
    let mut parts: Vec<_> = differences
        .iter()
        .filter(|difference| !difference.is_input())
        .map(Difference::line)
        .collect();
    for input in &planned.inputs {
        let place = format!("input {}", input.role);
        let mine = |difference: &&Difference| {
            let rest = difference.component.strip_prefix(&place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("[axis "))
        };
        let changed = differences.iter().filter(mine).count();
        let role = &input.role;
        match input.members[..] {
            _ if changed == 0 => {}
            [only] => parts.push(format!("{role} changed ({})", plan.stages()[only].name)),
            _ => parts.push(format!("{role}: {changed} of {} changed", input.members.len())),
        }
        if differences.iter().any(|difference| difference.component == format!("order of {place}"))
        {
            parts.push(format!("{role}: order changed"));
        }
    }
    let more = parts.len().saturating_sub(SHOWN);
    parts.truncate(SHOWN);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}
