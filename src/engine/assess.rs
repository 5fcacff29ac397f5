//! Where a stage stands: its key record, and whether the cache has the result.
//!
//! `plan`, `why`, `status` and the run itself all ask here, so that they can't disagree.

use super::artifact::StoredArtifact;
use super::cache::{Cache, CacheError, Entry, Lookup};
use super::key::{Difference, InputRecord, KeyRecord};
use super::plan::{Plan, PlannedStage, StageIndex};
use super::stage::{Needs, Reference, StageSet};

/// Where a stage stands before anything runs.
#[derive(Clone, Debug)]
pub enum Standing {
    /// The cache has its result.
    Cached(Box<Entry>),
    /// It would run.
    Stale {
        /// Its key record.
        record: Box<KeyRecord>,
        /// Why, in a few words.
        why: String,
    },
    /// Whether it runs depends on what these inputs turn out to be.
    Waiting {
        /// The inputs that would run first.
        on: Vec<StageIndex>,
    },
}

/// Returns the part of a key record that a stage itself decides: kind, version, settings.
pub fn bare_record<S: StageSet>(stage: &S) -> KeyRecord {
    KeyRecord::new(stage.as_stage().kind(), settings(stage))
}

/// Returns the key record of a stage whose inputs are known.
pub fn record<S: StageSet>(
    planned: &PlannedStage<S>,
    artifact: impl Fn(StageIndex) -> Option<StoredArtifact>,
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<KeyRecord, CacheError> {
    let stage = planned.stage.as_stage();
    let mut record = bare_record(&planned.stage);
    for input in &planned.inputs {
        let digests = input.members.iter().filter_map(|&member| {
            let labels = plan.stages()[member].labels.clone();
            artifact(member).map(|artifact| (labels, artifact.digest))
        });
        let members: Vec<_> = digests.collect();
        let content = match (&input.reference, members.first()) {
            (Reference::One(_), Some((_, digest))) => InputRecord::One(*digest),
            _ => InputRecord::Each(members),
        };
        record.inputs.insert(input.role.clone(), content);
    }
    for (name, path) in &planned.files {
        record.files.insert(name.clone(), cache.digest_of_file(path)?);
    }
    for name in stage.externals().variables {
        let value = std::env::var_os(&name);
        let value = match value.map(std::ffi::OsString::into_string) {
            Some(Ok(value)) => Some(value),
            Some(Err(_)) => return Err(CacheError::Variable(name)),
            None => None,
        };
        record.variables.insert(name, value);
    }
    if stage.needs() == Needs::Device {
        record.backend = Some(backend.to_owned());
    }
    Ok(record)
}

/// Returns a stage's settings; the kind's own name around them is dropped.
pub(super) fn settings<S: StageSet>(stage: &S) -> serde_json::Value {
    match serde_json::to_value(stage) {
        Ok(serde_json::Value::Object(map)) if map.len() == 1 => {
            map.into_iter().next().map(|(_, inner)| inner).unwrap_or_default()
        }
        other => other.unwrap_or_default(),
    }
}

/// Returns where every stage stands, in plan order, with notes about damaged entries.
pub fn assess<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<(Vec<Standing>, Vec<String>), CacheError> {
    let mut standings: Vec<Standing> = Vec::with_capacity(plan.stages().len());
    let mut notes = Vec::new();
    for planned in plan.stages() {
        let on: Vec<_> = planned
            .members()
            .filter(|&member| !matches!(standings[member], Standing::Cached(_)))
            .collect();
        if !on.is_empty() {
            standings.push(Standing::Waiting { on });
            continue;
        }
        let artifact = |member: StageIndex| match &standings[member] {
            Standing::Cached(entry) => Some(entry.artifact.clone()),
            _ => None,
        };
        let record = record(planned, artifact, plan, cache, backend)?;
        standings.push(match cache.lookup(&record.key())? {
            Lookup::Hit(entry) => Standing::Cached(entry),
            Lookup::Miss => {
                let why = why(plan, standings.len(), &record, cache)?;
                Standing::Stale { record: Box::new(record), why }
            }
            Lookup::Damaged(_, damage) => {
                notes.push(damaged_note(&planned.name, &damage));
                let why = "its cached result is damaged".to_owned();
                Standing::Stale { record: Box::new(record), why }
            }
        });
    }
    Ok((standings, notes))
}

/// Returns the line that tells of a damaged entry.
pub fn damaged_note(stage: &str, damage: &str) -> String {
    format!("the cached result of `{stage}` can't be used and is made again: {damage}")
}

/// Returns in a few words why a stage has no cached result, and whether it has state to begin with.
pub fn why<S: StageSet>(
    plan: &Plan<S>,
    stage: StageIndex,
    record: &KeyRecord,
    cache: &Cache,
) -> Result<String, CacheError> {
    let why = missing(plan, stage, record, cache)?;
    let trajectory = record.trajectory(plan.stages()[stage].stage.as_stage().horizon());
    let has_state = trajectory.is_some_and(|trajectory| cache.has_state(&trajectory));
    Ok(if has_state { format!("{why}; can go on from earlier state") } else { why })
}

fn missing<S>(
    plan: &Plan<S>,
    stage: StageIndex,
    record: &KeyRecord,
    cache: &Cache,
) -> Result<String, CacheError> {
    const NEAR: usize = 2;
    let planned = &plan.stages()[stage];
    if let Some(earlier) = cache.closest_of_stage(plan.name(), &planned.name, record)? {
        return Ok(brief(plan, planned, &record.differences(&earlier.record)));
    }
    // Perhaps the stage had another name.
    let like = cache.closest(&planned.name, record, NEIGHBORS)?;
    Ok(match like.map(|entry| (record.differences(&entry.record), entry.run.stage)) {
        Some((differences, name)) if differences.len() <= NEAR => {
            format!("first run; like `{name}` but {}", brief(plan, planned, &differences))
        }
        _ => "first run".to_owned(),
    })
}

/// Earlier results looked at for a stage whose name is new.
const NEIGHBORS: usize = 50;

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
            parts.push(format!("{role}: another order"));
        }
    }
    let more = parts.len().saturating_sub(SHOWN);
    parts.truncate(SHOWN);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}
