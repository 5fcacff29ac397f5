//! Garbage collection: what may go, cheapest to recompute per byte first.
//!
//! Nothing that is reachable goes, and nothing goes while a run holds the cache. Manifests are
//! removed before the files they name, so a crash leaves unreferenced files, never dangling ones.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Cache, CacheError, Entry, files_below, hold_alone};
use crate::engine::digest::StageKey;

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
}

impl Cache {
    /// Lists what could go: everything but the kept keys, up to `enough` bytes.
    pub fn collectable(
        &self,
        keep: &BTreeSet<StageKey>,
        enough: Option<u64>,
    ) -> Result<Collection, CacheError> {
        self.adopt()?;
        let (kept, loose): (Vec<_>, Vec<_>) =
            self.entries()?.into_iter().partition(|entry| keep.contains(&entry.key));
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
        if let Some(enough) = enough {
            let mut freed = 0;
            candidates.retain(|candidate| {
                let wanted = freed < enough;
                freed += candidate.bytes;
                wanted
            });
        }
        let mut known: BTreeSet<_> = kept.iter().map(|entry| entry.key).collect();
        known.extend(keep);
        Ok(Collection { candidates, strays: self.strays()?, abandoned: self.abandoned(&known)? })
    }

    /// Makes sure that no run uses the cache while it is collected; list and delete under it.
    pub fn hold_alone(&self) -> Result<File, CacheError> {
        hold_alone(&self.root)
    }

    /// Removes a collection; returns the bytes freed. The caller holds the cache alone.
    pub fn collect(&self, collection: &Collection, _alone: &File) -> Result<u64, CacheError> {
        for candidate in &collection.candidates {
            discard(&self.entry_path(&candidate.entry.key))?;
            self.index.remove(&candidate.entry.key)?;
            discard(&self.log_path(&candidate.entry.key))?;
        }
        let mut freed = 0;
        for path in self.strays()? {
            freed += fs::metadata(&path).map_or(0, |found| found.len());
            discard(&path)?;
        }
        for path in self.aliases().dangling() {
            discard(&path)?;
        }
        for path in &collection.abandoned {
            if path.is_dir() {
                fs::remove_dir_all(path).map_err(CacheError::at(path))?;
            } else {
                discard(path)?;
            }
        }
        Ok(freed)
    }

    /// Returns what killed and failed stages left: working folders, orders, locks, logs.
    fn abandoned(&self, keep: &BTreeSet<StageKey>) -> Result<Vec<PathBuf>, CacheError> {
        let mut found = Vec::new();
        for folder in ["work", "jobs", "claims", "logs"] {
            let folder = self.root.join(folder);
            for item in fs::read_dir(&folder).map_err(CacheError::at(&folder))? {
                let item = item.map_err(CacheError::at(&folder))?;
                let name = item.file_name().to_string_lossy().into_owned();
                let key = name.split('.').next().and_then(|key| key.parse::<StageKey>().ok());
                if key.is_some_and(|key| !keep.contains(&key)) {
                    found.push(item.path());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns files that no entry refers to.
    fn strays(&self) -> Result<Vec<PathBuf>, CacheError> {
        let entries = self.entries()?;
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

/// Removes a file that may be gone already.
fn discard(path: &Path) -> Result<(), CacheError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(CacheError::at(path)(cause)),
        _ => Ok(()),
    }
}
