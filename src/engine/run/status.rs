//! Where every stage stands: its key record, and whether the cache has the result.
//!
//! `plan`, `why`, `status` and the run itself all ask here, so that they can't disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

use super::contents::CurrentContents;
use super::why::Causes;
use crate::engine::cache::{Cache, CacheError, LocatedResult, ResultSummary, StoredResult};
use crate::engine::digest::encoding::Encoded;
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::key::{KeyRecord, builder};
use crate::engine::plan::{Plan, StageIndex};
use crate::engine::stage::StageSet;
use crate::engine::system::parallel;

/// Where a stage stands before anything runs.
#[derive(Clone, Debug)]
pub enum StageStatus {
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

impl StageStatus {
    /// Returns the digest of its result, if the cache has it.
    fn content(&self) -> Option<ContentDigest> {
        match self {
            Self::Cached(result) => Some(result.artifact.digest),
            Self::Stale { .. } | Self::Waiting { .. } => None,
        }
    }
}

/// What the index says of a stage.
enum IndexLookup {
    /// It has a result with this content.
    Hit(ContentDigest),
    /// Its inputs are there, its result is not.
    Miss(KeyRecord<Encoded>),
    /// Inputs are not there.
    Blocked,
}

impl IndexLookup {
    fn content(&self) -> Option<ContentDigest> {
        match self {
            Self::Hit(content) => Some(*content),
            Self::Miss(_) | Self::Blocked => None,
        }
    }
}

/// Digests of outside files by path.
type FileDigests<'a> = BTreeMap<&'a Path, ContentDigest>;

/// A result with its files, or what is wrong with them.
type Located = Result<LocatedResult, String>;

/// Returns the status of every stage, in plan order, with notes about damaged entries.
pub fn of_plan<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
) -> Result<(Vec<StageStatus>, Vec<String>), CacheError> {
    let files = file_digests(plan, cache)?;
    let (lookups, located) = look_up_and_locate(plan, cache, backend, &files)?;
    let sound: Vec<_> = located.iter().flatten().flatten().collect();
    let damaged: BTreeMap<StageKey, String> = cache.check_all(&sound)?.into_iter().collect();
    let is_missing = |lookup: &IndexLookup| matches!(lookup, IndexLookup::Miss(_));
    let missing = plan.stages().iter().zip(&lookups).filter(|(_, lookup)| is_missing(lookup));
    let missing: Vec<_> = missing.map(|(planned, _)| &*planned.stage).collect();
    let mut missing = parallel::map(&missing, |stage| builder::settings(*stage)).into_iter();
    let _transaction = cache.read_transaction()?;
    let mut causes = Causes::new(plan, cache);
    let mut statuses: Vec<StageStatus> = Vec::with_capacity(plan.stages().len());
    let mut notes = Vec::new();
    for (planned, (lookup, located)) in plan.stages().iter().zip(lookups.into_iter().zip(located)) {
        let record = match lookup {
            IndexLookup::Miss(record) => missing.next().map(|settings| record.with(settings)),
            IndexLookup::Hit(_) | IndexLookup::Blocked => None,
        };
        let is_cached = |member: &StageIndex| matches!(statuses[*member], StageStatus::Cached(_));
        let on: Vec<_> = planned.members().filter(|member| !is_cached(member)).collect();
        if !on.is_empty() {
            statuses.push(StageStatus::Waiting { on });
            continue;
        }
        let damage = match located {
            Some(Ok(found)) => {
                let Some(damage) = damaged.get(&found.result.key) else {
                    statuses.push(StageStatus::Cached(found.result));
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
            let contents = CurrentContents {
                stage: |member: StageIndex| statuses[member].content(),
                file: |path: &Path| Ok(files[path]),
                backend,
            };
            builder::record(plan, planned, &contents)?
        };
        let why = if let Some(damage) = damage {
            notes.push(damaged_note(&planned.name, &damage));
            "its cached result is damaged".to_owned()
        } else {
            causes.why(statuses.len(), &record)?
        };
        statuses.push(StageStatus::Stale { record: Box::new(record), why });
    }
    Ok((statuses, notes))
}

/// Returns the digests of all outside files; several stages may read the same ones.
fn file_digests<'a, S>(plan: &'a Plan<S>, cache: &Cache) -> Result<FileDigests<'a>, CacheError> {
    let paths: BTreeSet<&PathBuf> =
        plan.stages().iter().flat_map(|planned| planned.files.values()).collect();
    paths.into_iter().map(|path| Ok((path.as_path(), cache.digest_of_file(path)?))).collect()
}

/// Looks up every stage whose inputs are there, while other threads look for the files of those that
/// were found.
fn look_up_and_locate<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
    files: &FileDigests<'_>,
) -> Result<(Vec<IndexLookup>, Vec<Option<Located>>), CacheError> {
    let settings =
        parallel::map(plan.stages(), |planned| Encoded::of(&builder::settings(&*planned.stage)));
    let (sender, receiver) = mpsc::channel::<(StageIndex, ResultSummary)>();
    let (locator, waiting) = (cache.locator(), Mutex::new(receiver));
    let located = Mutex::new(plan.stages().iter().map(|_| None).collect::<Vec<_>>());
    // Whoever is free takes the next one.
    let locate = || {
        let mut locator = locator.clone();
        let next = || waiting.lock().ok()?.recv().ok();
        let found = std::iter::from_fn(next).map(|(stage, found)| (stage, locator.locate(&found)));
        let found: Vec<_> = found.collect();
        let mut located = located.lock().unwrap_or_else(PoisonError::into_inner);
        for (stage, result) in found {
            located[stage] = Some(result);
        }
    };
    let look_up = || look_up(plan, cache, backend, files, settings, sender);
    let lookups = parallel::with_help(plan.stages().len(), look_up, locate)?;
    Ok((lookups, located.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Looks up every stage whose inputs are there, and sends what it finds.
fn look_up<S: StageSet>(
    plan: &Plan<S>,
    cache: &Cache,
    backend: &str,
    files: &FileDigests<'_>,
    settings: Vec<Encoded>,
    found: mpsc::Sender<(StageIndex, ResultSummary)>,
) -> Result<Vec<IndexLookup>, CacheError> {
    let transaction = cache.read_transaction()?;
    let mut lookups: Vec<IndexLookup> = Vec::with_capacity(plan.stages().len());
    let mut not_indexed = Vec::new();
    for (planned, settings) in plan.stages().iter().zip(settings) {
        if planned.members().any(|member| lookups[member].content().is_none()) {
            lookups.push(IndexLookup::Blocked);
            continue;
        }
        let contents = CurrentContents {
            stage: |member: StageIndex| lookups[member].content(),
            file: |path: &Path| Ok(files[path]),
            backend,
        };
        let bare = KeyRecord::new(planned.stage.as_stage().kind(), settings);
        let record = builder::complete(bare, plan, planned, &contents)?;
        lookups.push(match cache.find(&record.key())? {
            Some(summary) => {
                let content = summary.content();
                if !summary.is_indexed() {
                    not_indexed.push(summary.key());
                }
                // Whoever looks for files is there until the last is sent.
                let _ = found.send((lookups.len(), summary));
                IndexLookup::Hit(content)
            }
            None => IndexLookup::Miss(record),
        });
    }
    // From here on they are not waited for.
    drop(found);
    drop(transaction);
    for key in not_indexed {
        cache.find(&key)?;
    }
    Ok(lookups)
}

/// Returns the line that tells of a damaged entry.
pub fn damaged_note(stage: &str, damage: &str) -> String {
    format!("the cached result of `{stage}` can't be used and will be recomputed: {damage}")
}
