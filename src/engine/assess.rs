//! Where a stage stands: its key record, and whether the cache has the result.
//!
//! `plan`, `why`, `status` and the run itself all ask here, so that they can't disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

use super::cache::{Cache, CacheError, Found, Seen, StoredResult};
use super::digest::{ContentDigest, StageKey};
use super::encoding::Encoded;
use super::key::{InputRecord, KeyRecord};
use super::parallel;
use super::plan::{Plan, PlannedStage, StageIndex};
use super::stage::{Needs, Reference, StageSet};
use super::why::Causes;

/// Where a stage stands before anything runs.
#[derive(Clone, Debug)]
pub enum Standing {
    /// The cache has its result.
    Cached(StoredResult),
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

impl Standing {
    /// Returns the digest of its result, if the cache has it.
    fn content(&self) -> Option<ContentDigest> {
        match self {
            Self::Cached(result) => Some(result.artifact.digest),
            Self::Stale { .. } | Self::Waiting { .. } => None,
        }
    }
}

/// Returns the part of a key record that a stage itself decides: kind, version, settings.
pub fn bare_record<S: StageSet>(stage: &S) -> KeyRecord {
    KeyRecord::new(stage.as_stage().kind(), settings(stage))
}

/// Completes the record of a stage whose inputs are known, and the digests of its outside files.
pub fn complete<S: StageSet, T>(
    mut record: KeyRecord<T>,
    planned: &PlannedStage<S>,
    plan: &Plan<S>,
    backend: &str,
    content: impl Fn(StageIndex) -> Option<ContentDigest>,
    digest: impl Fn(&Path) -> Result<ContentDigest, CacheError>,
) -> Result<KeyRecord<T>, CacheError> {
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
    /// A result with this content.
    Found(ContentDigest),
    Missing(KeyRecord<Encoded>),
    /// Inputs are not there.
    Waiting,
}

impl Look {
    /// Returns the stage if it has no result though its inputs are there.
    fn lacks<'a, S>(&self, planned: &'a PlannedStage<S>) -> Option<&'a S> {
        matches!(self, Self::Missing(_)).then_some(&*planned.stage)
    }
}

/// Digests by path.
type Outside<'a> = BTreeMap<&'a Path, ContentDigest>;

/// What a look at the files of a result came to; the error says what is wrong.
type Sighting = Result<Seen, String>;

/// Returns where every stage stands, in plan order, with notes about damaged entries.
pub fn assess<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<(Vec<Standing>, Vec<String>), CacheError> {
    let outside = outside(plan, cache)?;
    let encoded = parallel::map(plan.stages(), |planned| Encoded::of(&settings(&*planned.stage)));
    let bare = plan.stages().iter().zip(encoded);
    let bare =
        bare.map(|(planned, settings)| KeyRecord::new(planned.stage.as_stage().kind(), settings));
    let (looks, sightings) = look_and_see(plan, cache, backend, &outside, bare)?;
    let seen: Vec<_> = sightings.iter().flatten().flatten().collect();
    let damaged: BTreeMap<StageKey, String> = cache.check_all(&seen)?.into_iter().collect();
    let missing =
        plan.stages().iter().zip(&looks).filter_map(|(planned, look)| look.lacks(planned));
    let missing: Vec<_> = missing.collect();
    let mut missing = parallel::map(&missing, |stage| settings(*stage)).into_iter();
    let _reading = cache.reading()?;
    let mut causes = Causes::new(plan, cache);
    let mut standings: Vec<Standing> = Vec::with_capacity(plan.stages().len());
    let mut notes = Vec::new();
    for (planned, (look, sighting)) in plan.stages().iter().zip(looks.into_iter().zip(sightings)) {
        let record = match look {
            Look::Missing(record) => missing.next().map(|settings| record.with(settings)),
            Look::Found(_) | Look::Waiting => None,
        };
        let is_there = |member: &StageIndex| matches!(standings[*member], Standing::Cached(_));
        let on: Vec<_> = planned.members().filter(|member| !is_there(member)).collect();
        if !on.is_empty() {
            standings.push(Standing::Waiting { on });
            continue;
        }
        let damage = match sighting {
            Some(Ok(seen)) => {
                let Some(damage) = damaged.get(&seen.result.key) else {
                    standings.push(Standing::Cached(seen.result));
                    continue;
                };
                Some(damage.clone())
            }
            Some(Err(damage)) => Some(damage),
            None => None,
        };
        let record = if let Some(record) = record {
            record
        } else {
            let content = |member: StageIndex| standings[member].content();
            let digest = |path: &Path| Ok(outside[path]);
            complete(bare_record(&*planned.stage), planned, plan, backend, content, digest)?
        };
        let why = if let Some(damage) = damage {
            notes.push(damaged_note(&planned.name, &damage));
            "its cached result is damaged".to_owned()
        } else {
            causes.why(standings.len(), &record)?
        };
        standings.push(Standing::Stale { record: Box::new(record), why });
    }
    Ok((standings, notes))
}

/// Returns the digests of all outside files; several stages may read the same ones.
fn outside<'a, S>(plan: &'a Plan<S>, cache: &Cache) -> Result<Outside<'a>, CacheError> {
    let paths: BTreeSet<&PathBuf> =
        plan.stages().iter().flat_map(|planned| planned.files.values()).collect();
    paths.into_iter().map(|path| Ok((path.as_path(), cache.digest_of_file(path)?))).collect()
}

/// Looks up every stage whose inputs are there, while other threads look for the files of those that
/// were found. `bare` has the record of every stage as far as it decides that itself.
fn look_and_see<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
    outside: &Outside<'_>,
    bare: impl Iterator<Item = KeyRecord<Encoded>>,
) -> Result<(Vec<Look>, Vec<Option<Sighting>>), CacheError> {
    let (sender, receiver) = mpsc::channel::<(StageIndex, Found)>();
    let (finder, waiting) = (cache.finder(), Mutex::new(receiver));
    let sightings = Mutex::new(plan.stages().iter().map(|_| None).collect::<Vec<_>>());
    // Whoever is free takes the next one.
    let see = || {
        let mut finder = finder.clone();
        let next = || waiting.lock().ok()?.recv().ok();
        let seen = std::iter::from_fn(next).map(|(stage, found)| (stage, finder.see(&found)));
        let seen: Vec<_> = seen.collect();
        let mut sightings = sightings.lock().unwrap_or_else(PoisonError::into_inner);
        for (stage, sighting) in seen {
            sightings[stage] = Some(sighting);
        }
    };
    let look = || look(plan, cache, backend, outside, bare, sender);
    let looks = parallel::with_help(plan.stages().len(), look, see)?;
    Ok((looks, sightings.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Looks up every stage whose inputs are there, and sends what it finds.
fn look<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
    outside: &Outside<'_>,
    bare: impl Iterator<Item = KeyRecord<Encoded>>,
    found_ones: mpsc::Sender<(StageIndex, Found)>,
) -> Result<Vec<Look>, CacheError> {
    let reading = cache.reading()?;
    let mut looks: Vec<Look> = Vec::with_capacity(plan.stages().len());
    let mut not_indexed = Vec::new();
    for (planned, bare) in plan.stages().iter().zip(bare) {
        let content = |member: StageIndex| match looks[member] {
            Look::Found(content) => Some(content),
            Look::Missing(_) | Look::Waiting => None,
        };
        if planned.members().any(|member| content(member).is_none()) {
            looks.push(Look::Waiting);
            continue;
        }
        let digest = |path: &Path| Ok(outside[path]);
        let record = complete(bare, planned, plan, backend, content, digest)?;
        looks.push(match cache.find(&record.key())? {
            Some(found) => {
                let content = found.content();
                if !found.is_indexed() {
                    not_indexed.push(found.key());
                }
                // Whoever looks for files is there until the last is sent.
                let _ = found_ones.send((looks.len(), found));
                Look::Found(content)
            }
            None => Look::Missing(record),
        });
    }
    // From here on they are not waited for.
    drop(found_ones);
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
