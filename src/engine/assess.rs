//! Where a stage stands: its key record, and whether the cache has the result.
//!
//! `plan`, `why`, `status` and the run itself all ask here, so that they can't disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;

use super::cache::{Cache, CacheError, Entry, FileStamp, Found, Unsound};
use super::digest::ContentDigest;
use super::key::{InputRecord, KeyRecord};
use super::parallel;
use super::plan::{Plan, PlannedStage, StageIndex};
use super::stage::{Needs, Reference, StageSet};
use super::why::Causes;

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

/// What a look at a stage came to.
enum Look {
    /// A result that has not been checked yet.
    Found(ContentDigest),
    Checked(Result<Box<Entry>, Box<Unsound>>),
    Missing(KeyRecord),
    /// Inputs are not there.
    Waiting,
}

/// A result to be checked, and what it was found by.
type Unchecked = (StageIndex, Found, KeyRecord);

/// Returns where every stage stands, in plan order, with notes about damaged entries.
pub fn assess<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<(Vec<Standing>, Vec<String>), CacheError> {
    let looks = look_and_check(plan, cache, backend)?;
    let _reading = cache.reading()?;
    let mut causes = Causes::new(plan, cache);
    let mut standings: Vec<Standing> = Vec::with_capacity(plan.stages().len());
    let mut notes = Vec::new();
    for (planned, look) in plan.stages().iter().zip(looks) {
        let is_there = |member: &StageIndex| matches!(standings[*member], Standing::Cached(_));
        let on: Vec<_> = planned.members().filter(|member| !is_there(member)).collect();
        standings.push(match look {
            Look::Checked(Ok(entry)) if on.is_empty() => Standing::Cached(entry),
            Look::Checked(Err(unsound)) if on.is_empty() => {
                let Unsound { record, damage } = *unsound;
                notes.push(damaged_note(&planned.name, &damage));
                let why = "its cached result is damaged".to_owned();
                Standing::Stale { record: Box::new(record), why }
            }
            Look::Missing(record) if on.is_empty() => {
                let why = causes.why(standings.len(), &record)?;
                Standing::Stale { record: Box::new(record), why }
            }
            _ => Standing::Waiting { on },
        });
    }
    Ok((standings, notes))
}

/// Looks up every stage whose inputs are there, while other threads check the files of those that
/// were found.
fn look_and_check<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<Vec<Look>, CacheError> {
    let (sender, receiver) = mpsc::channel::<Unchecked>();
    let (checker, waiting) = (cache.checker(), Mutex::new(receiver));
    // Whoever is free takes the next one.
    let check = || {
        let next = || waiting.lock().ok()?.recv().ok();
        let checked = std::iter::from_fn(next)
            .map(|(stage, found, record)| (stage, checker.check(&found, record)));
        checked.collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let others = parallel::threads_for(plan.stages().len()).max(2) - 1;
        let others: Vec<_> = (0..others).map(|_| scope.spawn(check)).collect();
        let looks = look(plan, cache, backend, &sender);
        drop(sender);
        let own = check();
        let others: Vec<_> = others.into_iter().flat_map(parallel::joined).collect();
        let mut looks = looks?;
        for (stage, checked) in own.into_iter().chain(others) {
            looks[stage] = Look::Checked(checked);
        }
        Ok(looks)
    })
}

fn look<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
    to_check: &mpsc::Sender<Unchecked>,
) -> Result<Vec<Look>, CacheError> {
    // Several stages may read the same folder.
    let paths: BTreeSet<_> =
        plan.stages().iter().flat_map(|planned| planned.files.values()).collect();
    let (stamps, bare) = parallel::both(
        || paths.iter().map(|path| FileStamp::of(path)).collect::<Vec<_>>(),
        || parallel::map(plan.stages(), |planned| bare_record(&planned.stage)),
    );
    let mut outside = BTreeMap::new();
    for (path, stamp) in paths.into_iter().zip(stamps) {
        outside.insert(path.as_path(), cache.digest_of_stamped(path, &stamp?)?);
    }
    let digest = |path: &Path| match outside.get(path) {
        Some(digest) => Ok(*digest),
        None => cache.digest_of_file(path),
    };
    let reading = cache.reading()?;
    let mut looks: Vec<Look> = Vec::with_capacity(plan.stages().len());
    let mut not_indexed = Vec::new();
    for (planned, bare) in plan.stages().iter().zip(bare) {
        let content = |member: StageIndex| match looks[member] {
            Look::Found(content) => Some(content),
            Look::Checked(_) | Look::Missing(_) | Look::Waiting => None,
        };
        if planned.members().any(|member| content(member).is_none()) {
            looks.push(Look::Waiting);
            continue;
        }
        let record = complete(bare, planned, plan, backend, content, digest)?;
        looks.push(match cache.find(&record.key())? {
            Some(found) => {
                let content = found.content();
                if !found.is_indexed() {
                    not_indexed.push(found.key());
                }
                // Whoever checks is there until the last is sent.
                let _ = to_check.send((looks.len(), found, record));
                Look::Found(content)
            }
            None => Look::Missing(record),
        });
    }
    drop(reading);
    for key in not_indexed {
        cache.find(&key)?;
    }
    Ok(looks)
}

/// Returns the line that tells of a damaged entry.
pub fn damaged_note(stage: &str, damage: &str) -> String {
    format!("the cached result of `{stage}` can't be used and is made again: {damage}")
}
