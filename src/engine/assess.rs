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

/// Returns the key record of a stage whose inputs are known.
pub fn record<S: StageSet>(
    planned: &PlannedStage<S>,
    artifact: impl Fn(StageIndex) -> Option<StoredArtifact>,
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<KeyRecord, CacheError> {
    let stage = planned.stage.as_stage();
    let mut record = KeyRecord::new(stage.kind(), settings(&planned.stage));
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
        #[expect(clippy::disallowed_methods, reason = "declared by the stage and put into its key")]
        let value = std::env::var(&name).ok();
        record.variables.insert(name, value);
    }
    if stage.needs() == Needs::Device {
        record.backend = Some(backend.to_owned());
    }
    Ok(record)
}

/// Returns a stage's settings; the kind's own name around them is dropped.
fn settings<S: StageSet>(stage: &S) -> serde_json::Value {
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
            .inputs
            .iter()
            .flat_map(|input| input.members.iter().copied())
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
                let why = why(plan.name(), &planned.name, &record, cache)?;
                Standing::Stale { record: Box::new(record), why }
            }
            Lookup::Damaged(damage) => {
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

/// Returns in a few words why a stage has no cached result.
pub fn why(
    pipeline: &str,
    stage: &str,
    record: &KeyRecord,
    cache: &Cache,
) -> Result<String, CacheError> {
    const SHOWN: usize = 3;
    let Some(earlier) = cache.closest_of_stage(pipeline, stage, record)? else {
        return Ok("first run".to_owned());
    };
    let differences = record.differences(&earlier.record);
    let mut lines: Vec<_> = differences.iter().take(SHOWN).map(Difference::line).collect();
    if differences.len() > SHOWN {
        lines.push(format!("and {} more", differences.len() - SHOWN));
    }
    Ok(lines.join(", "))
}
