//! Garbage collection: what may go, cheapest to recompute per byte first.
//!
//! Nothing that is reachable goes, and nothing goes while a run holds the cache. Manifests are
//! removed before the files they name, so a crash leaves unreferenced files, never dangling ones.
//! A trajectory goes with the last entry that belongs to it, unless a pipeline would go on from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::folders::{files_below, remove};
use super::lease;
use super::{Cache, CacheError, Entry, InUse, Trajectory, hold_alone};
use crate::engine::digest::{StageKey, TrajectoryKey};

/// Results that are removed in one transaction.
const SLICE: usize = 256;

/// What pipelines use or would use.
#[derive(Clone, Debug, Default)]
pub struct GcRoots {
    /// Keys of their stages.
    pub keys: BTreeSet<StageKey>,
    /// Trajectories of their stages, whether a result belongs to them or not.
    pub trajectories: BTreeSet<TrajectoryKey>,
}

/// An entry that no given pipeline reaches.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The entry.
    pub entry: Entry,
    /// Bytes that go with it, not counting files that kept entries share.
    pub bytes: u64,
}

impl Candidate {
    /// Returns what a byte of it costs to make again.
    fn seconds_per_byte(&self) -> f64 {
        self.entry.run.seconds / (self.bytes.max(1) as f64)
    }
}

/// What a collection would remove.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// Entries, the least worth keeping first.
    pub candidates: Vec<Candidate>,
    /// Files that nothing refers to, left by killed processes.
    pub strays: Vec<PathBuf>,
    /// What stopped, killed and failed stages left that no pipeline would take up again.
    pub abandoned: Vec<PathBuf>,
    /// State that no result which stays and no pipeline would go on from.
    pub trajectories: Vec<Trajectory>,
    /// Manifests that can't be used. Nobody knows which files they refer to, so no file counts as
    /// unreferenced while there are any.
    pub unusable: usize,
}

impl Cache {
    /// Lists what could go: everything but what the roots keep, up to `enough` bytes.
    pub fn collectable(
        &self,
        roots: &GcRoots,
        enough: Option<u64>,
    ) -> Result<Collection, CacheError> {
        let unusable = if self.is_writable() { self.adopt()? } else { 0 };
        let entries = self.entries()?;
        let strays = if unusable == 0 { self.strays(&entries)? } else { Vec::new() };
        let (kept, loose): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| roots.keys.contains(&entry.key));
        let mut trajectories = self.trajectories()?;
        let used = self.used_trajectories(&trajectories);
        let of_kept: BTreeSet<_> = kept.iter().filter_map(|entry| entry.trajectory).collect();
        trajectories.retain(|Trajectory { key, .. }| {
            ![&roots.trajectories, &of_kept, &used].iter().any(|stay| stay.contains(key))
        });
        let mut candidates = candidates(&kept, loose);
        if let Some(enough) = enough {
            cut(&mut candidates, &mut trajectories, enough);
        }
        let abandoned = self.abandoned(&roots.keys, &used)?;
        Ok(Collection { candidates, strays, abandoned, trajectories, unusable })
    }

    /// Makes sure that no run uses the cache while it is collected; list and delete under it.
    pub fn hold_alone(&self) -> Result<InUse, CacheError> {
        hold_alone(&self.root)
    }

    /// Removes a collection; returns the bytes freed. The caller holds the cache alone.
    pub fn collect(&self, collection: &Collection, _alone: &InUse) -> Result<u64, CacheError> {
        // In slices, so that nobody waits long for the index.
        for slice in collection.candidates.chunks(SLICE) {
            let keys: Vec<_> = slice.iter().map(|candidate| candidate.entry.key).collect();
            for key in &keys {
                remove(&self.entry_path(key))?;
            }
            self.index.remove(&keys)?;
            for key in &keys {
                remove(&self.log_path(key))?;
            }
        }
        let mut freed = 0;
        let strays = match collection.unusable {
            0 => self.strays(&self.entries()?)?,
            _ => Vec::new(),
        };
        for slice in strays.chunks(SLICE) {
            for path in slice {
                freed += fs::symlink_metadata(path).map_or(0, |found| found.len());
                remove(path)?;
            }
            self.index.forget_files(slice)?;
        }
        for path in self.aliases().dangling() {
            remove(&path)?;
        }
        for path in &collection.abandoned {
            remove(path)?;
        }
        for trajectory in &collection.trajectories {
            freed += self.remove_trajectory(trajectory)?;
        }
        self.remove_leftovers();
        Ok(freed)
    }

    /// Returns what killed and failed stages left: working folders, jobs, locks, logs. Locks of
    /// trajectories are among them, unless a process holds them.
    fn abandoned(
        &self,
        keep: &BTreeSet<StageKey>,
        used: &BTreeSet<TrajectoryKey>,
    ) -> Result<Vec<PathBuf>, CacheError> {
        let used: BTreeSet<_> = used.iter().map(|key| format!("{key}.lock")).collect();
        let mut found = Vec::new();
        for folder in ["work", "jobs", "claims", "logs"] {
            let folder = self.root.join(folder);
            for item in fs::read_dir(&folder).map_err(CacheError::at(&folder))? {
                let item = item.map_err(CacheError::at(&folder))?;
                let name = item.file_name().to_string_lossy().into_owned();
                let key = name.split('.').next().and_then(|key| key.parse::<StageKey>().ok());
                // Leases are given back, by what they hold: a trajectory is no stage's alone.
                let key = key.filter(|_| !name.ends_with(lease::SUFFIX));
                if key.is_some_and(|key| !keep.contains(&key)) && !used.contains(&name) {
                    found.push(item.path());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns files that no entry refers to.
    fn strays(&self, entries: &[Entry]) -> Result<Vec<PathBuf>, CacheError> {
        let known: BTreeSet<_> = entries
            .iter()
            .flat_map(|entry| &entry.artifact.files)
            .map(|file| self.objects.path(&file.digest))
            .collect();
        let mut found = files_below(&self.root.join("objects"))?;
        found.retain(|path| !known.contains(path));
        Ok(found)
    }
}

/// Returns the entries that may go, the least worth keeping first.
fn candidates(kept: &[Entry], loose: Vec<Entry>) -> Vec<Candidate> {
    let shared: BTreeSet<_> =
        kept.iter().flat_map(|entry| &entry.artifact.files).map(|file| file.digest).collect();
    let mut candidates: Vec<_> = loose
        .into_iter()
        .map(|entry| {
            let own = entry.artifact.files.iter().filter(|file| !shared.contains(&file.digest));
            let bytes = own.map(|file| file.bytes).sum();
            Candidate { entry, bytes }
        })
        .collect();
    candidates.sort_by(|a, b| {
        let cost = a.seconds_per_byte().total_cmp(&b.seconds_per_byte());
        cost.then_with(|| a.entry.key.cmp(&b.entry.key))
    });
    candidates
}

/// Takes only the first candidates, and the trajectories that go with them, that make up `enough`.
fn cut(candidates: &mut Vec<Candidate>, trajectories: &mut Vec<Trajectory>, enough: u64) {
    let mut users = BTreeMap::<TrajectoryKey, usize>::new();
    for trajectory in candidates.iter().filter_map(|candidate| candidate.entry.trajectory) {
        *users.entry(trajectory).or_default() += 1;
    }
    let sizes: BTreeMap<_, _> = trajectories.iter().map(|found| (found.key, found.bytes)).collect();
    let orphans = trajectories.iter().filter(|trajectory| !users.contains_key(&trajectory.key));
    let mut freed: u64 = orphans.map(|trajectory| trajectory.bytes).sum();
    candidates.retain(|candidate| {
        if freed >= enough {
            return false;
        }
        freed += candidate.bytes;
        if let Some((key, left)) =
            candidate.entry.trajectory.and_then(|key| Some((key, users.get_mut(&key)?)))
        {
            *left -= 1;
            freed += if *left == 0 { sizes.get(&key).copied().unwrap_or(0) } else { 0 };
        }
        true
    });
    trajectories.retain(|trajectory| users.get(&trajectory.key).is_none_or(|left| *left == 0));
}
