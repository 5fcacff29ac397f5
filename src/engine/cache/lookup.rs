//! From a key to a result that is known to be sound.

use std::collections::BTreeMap;

use super::entry::{Entry, ResultSummary, StoredResult};
use super::index::ReadTransaction;
use super::objects::{Check, Objects};
use super::stat::FileStamp;
use super::{Cache, CacheError};
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::system::clock;

/// What a lookup found.
#[derive(Debug)]
pub enum Lookup {
    /// A complete result.
    Hit(StoredResult),
    /// Nothing.
    Miss,
    /// A result that can't be used, and why.
    Damaged(String),
}

/// A result whose files are there and as large as they should be.
#[derive(Debug)]
pub struct LocatedResult {
    /// The result.
    pub result: StoredResult,
    stamps: Vec<FileStamp>,
}

/// Looks for the files of results, on any thread.
#[derive(Clone, Debug)]
pub struct FileLocator {
    objects: Objects,
    /// Some files belong to hundreds of results.
    known: BTreeMap<ContentDigest, FileStamp>,
}

impl FileLocator {
    /// Looks for the files of a result without reading them; the error says what is wrong.
    pub fn locate(&mut self, found: &ResultSummary) -> Result<LocatedResult, String> {
        let result = found.result().ok_or("its manifest can't be read")?;
        let mut stamps = Vec::with_capacity(result.artifact.files.len());
        for file in &result.artifact.files {
            let known = self.known.get(&file.digest).filter(|stamp| stamp.is_of(file.bytes));
            let stamp = match known {
                Some(stamp) => *stamp,
                None => self.objects.stamp(file).map_err(|fault| fault.message)?,
            };
            self.known.insert(file.digest, stamp);
            stamps.push(stamp);
        }
        Ok(LocatedResult { result, stamps })
    }
}

impl Cache {
    /// Looks a key up and checks that its files are there and right.
    pub fn lookup(&self, key: &StageKey) -> Result<Lookup, CacheError> {
        let Some(result) = self.find(key)?.and_then(|found| found.result()) else {
            return Ok(Lookup::Miss);
        };
        Ok(match self.objects.check(&result.artifact, self.check) {
            Ok(()) => Lookup::Hit(result),
            Err(fault) => Lookup::Damaged(self.readers()?.name(&result.artifact, &fault)),
        })
    }

    /// Takes note of a result that another machine has just published, also in place of an earlier one.
    pub fn refresh(&self, key: &StageKey) -> Result<(), CacheError> {
        match Entry::read(&self.entry_path(key)).filter(|entry| entry.key == *key) {
            Some(entry) => self.index.insert(&entry),
            None => Ok(()),
        }
    }

    /// Looks a key up; its files may be damaged.
    pub fn find(&self, key: &StageKey) -> Result<Option<ResultSummary>, CacheError> {
        if let Some(found) = self.index.outline(key)? {
            // Collected from another machine, whose index knows of it.
            let is_gone = self.terms.is_some() && !self.entry_path(key).exists();
            return Ok(Some(found).filter(|_| !is_gone));
        }
        // A process that died between its last two steps left a manifest but no index row.
        let Some(entry) = self.read_entry(key)? else {
            return Ok(None);
        };
        if self.is_writable() {
            // On a full disk the manifest is read again next time, no more.
            let _ = self.index.adopt(&entry);
            // Collected meanwhile, manifest first: what was put back must not stay.
            if !self.entry_path(key).exists() {
                self.index.remove(&[*key])?;
                return Ok(None);
            }
        }
        Ok(ResultSummary::of(&entry).map(|found| ResultSummary { is_indexed: false, ..found }))
    }

    /// Returns all that is known about a result that has been found.
    pub fn entry(&self, key: &StageKey) -> Result<Entry, CacheError> {
        self.read_entry(key)?.ok_or(CacheError::Manifest(*key))
    }

    fn read_entry(&self, key: &StageKey) -> Result<Option<Entry>, CacheError> {
        let indexed = self.index.manifest(key)?;
        let indexed = indexed.and_then(|text| Entry::parse(text.as_bytes()).ok());
        let entry = indexed.or_else(|| Entry::read(&self.entry_path(key)));
        Ok(entry.filter(|entry| entry.key == *key))
    }

    /// Sees the index as it is now until the result is dropped, which makes many lookups faster.
    pub fn read_transaction(&self) -> Result<ReadTransaction<'_>, CacheError> {
        Ok(self.index.read_transaction()?)
    }

    /// Returns what looks for the files of results.
    pub fn locator(&self) -> FileLocator {
        FileLocator { objects: self.objects.clone(), known: BTreeMap::new() }
    }

    /// Reads the files of results and returns what is wrong with which. If exactly these files have
    /// been found right before, it is not done again.
    pub fn check_all(
        &self,
        located: &[&LocatedResult],
    ) -> Result<Vec<(StageKey, String)>, CacheError> {
        let state = state(located);
        if self.check == Check::Small && self.index.is_sound(&state)? {
            return Ok(Vec::new());
        }
        let now = clock::now();
        let results = located.iter().map(|located| (located.result.key, &located.result.artifact));
        let damaged = self.damaged(&results.collect::<Vec<_>>(), self.check)?;
        let mut stamps = located.iter().flat_map(|located| &located.stamps);
        if damaged.is_empty() && stamps.all(|stamp| stamp.at_rest(now)) {
            // Without it the next run takes longer, no more.
            let _ = self.index.remember_sound(&state);
        }
        Ok(damaged)
    }
}

/// Returns a digest of which files these are, by what the system says about them.
pub(super) fn state(located: &[&LocatedResult]) -> String {
    let mut all = Vec::new();
    for located in located {
        for (file, stamp) in located.result.artifact.files.iter().zip(&located.stamps) {
            all.extend(file.digest.bytes());
            stamp.write(&mut all);
        }
    }
    blake3::hash(&all).to_hex().to_string()
}
