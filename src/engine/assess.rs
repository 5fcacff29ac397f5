//! Where a stage stands: its key record, and whether the cache has the result.
//!
//! `plan`, `why`, `status` and the run itself all ask here, so that they can't disagree.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use super::cache::{Cache, CacheError, Entry, Found, Lookup};
use super::digest::ContentDigest;
use super::key::{Difference, InputRecord, KeyRecord};
use super::parallel;
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

/// Completes the record of a stage whose inputs are known, and the digests of its outside files.
pub fn complete<S: StageSet>(
    mut record: KeyRecord,
    planned: &PlannedStage<S>,
    plan: &Plan<S>,
    backend: &str,
    content: impl Fn(StageIndex) -> Option<ContentDigest>,
    digest: impl Fn(&Path) -> Result<ContentDigest, CacheError>,
) -> Result<KeyRecord, CacheError> {
    let stage = planned.stage.as_stage();
    for input in &planned.inputs {
        let input_record = match (&input.reference, &input.members[..]) {
            (Reference::One(_), [member, ..]) => content(*member).map(InputRecord::One),
            _ => None,
        };
        let input_record = input_record.unwrap_or_else(|| {
            let members = input.members.iter().filter_map(|&member| {
                let labels = plan.stages()[member].labels.clone();
                Some((labels, content(member)?))
            });
            InputRecord::Each(members.collect())
        });
        record.inputs.insert(input.role.clone(), input_record);
    }
    for (name, path) in &planned.files {
        record.files.insert(name.clone(), digest(path)?);
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

/// What a look at a stage came to; results have not been checked.
enum Look {
    Found(KeyRecord, ContentDigest),
    Missing(KeyRecord),
    /// Inputs are not there.
    Waiting,
}

/// Returns where every stage stands, in plan order, with notes about damaged entries.
pub fn assess<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<(Vec<Standing>, Vec<String>), CacheError> {
    let (looks, mut checked) = look_and_check(plan, cache, backend)?;
    let _reading = cache.reading()?;
    let mut standings: Vec<Standing> = Vec::with_capacity(plan.stages().len());
    let mut notes = Vec::new();
    for (planned, look) in plan.stages().iter().zip(looks) {
        let is_there = |member: &StageIndex| matches!(standings[*member], Standing::Cached(_));
        let on: Vec<_> = planned.members().filter(|member| !is_there(member)).collect();
        let record = match look {
            Look::Found(record, _) | Look::Missing(record) if on.is_empty() => record,
            _ => {
                standings.push(Standing::Waiting { on });
                continue;
            }
        };
        let why = match checked.remove(&standings.len()) {
            Some(Lookup::Hit(entry)) => {
                standings.push(Standing::Cached(entry));
                continue;
            }
            Some(Lookup::Damaged(_, damage)) => {
                notes.push(damaged_note(&planned.name, &damage));
                "its cached result is damaged".to_owned()
            }
            Some(Lookup::Miss) | None => why(plan, standings.len(), &record, cache)?,
        };
        standings.push(Standing::Stale { record: Box::new(record), why });
    }
    Ok((standings, notes))
}

/// Looks up every stage whose inputs are there, while another thread checks the files of those that
/// were found.
fn look_and_check<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<(Vec<Look>, BTreeMap<StageIndex, Lookup>), CacheError> {
    let (sender, receiver) = mpsc::channel::<(StageIndex, Found)>();
    let checker = cache.checker();
    thread::scope(|scope| {
        let checking = scope.spawn(move || {
            receiver.into_iter().map(|(stage, found)| (stage, checker.check(&found))).collect()
        });
        let looks = look(plan, cache, backend, &sender);
        drop(sender);
        match checking.join() {
            Ok(checked) => Ok((looks?, checked)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn look<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
    to_check: &mpsc::Sender<(StageIndex, Found)>,
) -> Result<Vec<Look>, CacheError> {
    let bare = parallel::map(plan.stages(), |planned| bare_record(&planned.stage));
    // Several stages may read the same folder.
    let mut outside = BTreeMap::new();
    for path in plan.stages().iter().flat_map(|planned| planned.files.values()) {
        if !outside.contains_key(path) {
            outside.insert(path.clone(), cache.digest_of_file(path)?);
        }
    }
    let digest = |path: &Path| match outside.get(path) {
        Some(digest) => Ok(*digest),
        None => cache.digest_of_file(path),
    };
    let _reading = cache.reading()?;
    let mut looks: Vec<Look> = Vec::with_capacity(plan.stages().len());
    for (planned, bare) in plan.stages().iter().zip(bare) {
        let content = |member: StageIndex| match &looks[member] {
            Look::Found(_, content) => Some(*content),
            Look::Missing(_) | Look::Waiting => None,
        };
        if planned.members().any(|member| content(member).is_none()) {
            looks.push(Look::Waiting);
            continue;
        }
        let record = complete(bare, planned, plan, backend, content, digest)?;
        looks.push(match cache.find(&record.key())? {
            Some(found) => {
                let content = found.content();
                // Whoever checks is there until the last is sent.
                let _ = to_check.send((looks.len(), found));
                Look::Found(record, content)
            }
            None => Look::Missing(record),
        });
    }
    Ok(looks)
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
