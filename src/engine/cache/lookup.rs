//! From a key to a result that is known to be sound.

use super::entry::{Entry, Found};
use super::index::Reading;
use super::objects::{Check, Objects};
use super::{Cache, CacheError};
use crate::engine::digest::StageKey;
use crate::engine::key::KeyRecord;

/// What a lookup found.
#[derive(Debug)]
pub enum Lookup {
    /// A complete entry.
    Hit(Box<Entry>),
    /// Nothing.
    Miss,
    /// An entry that can't be used, and why.
    Damaged(String),
}

/// A result that can't be used.
#[derive(Debug)]
pub struct Unsound {
    /// What it was looked up by.
    pub record: KeyRecord,
    /// What is wrong with it.
    pub damage: String,
}

/// Checks the files of results, on any thread.
#[derive(Clone, Debug)]
pub struct Checker {
    objects: Objects,
    check: Check,
}

impl Checker {
    /// Checks that the files of a result are there and right, given the record it was found by.
    pub fn check(&self, found: &Found, record: KeyRecord) -> Result<Box<Entry>, Box<Unsound>> {
        let unsound = |record, damage| Err(Box::new(Unsound { record, damage }));
        let Some(rest) = found.rest() else {
            return unsound(record, "its manifest can't be read".to_owned());
        };
        match self.objects.check(&rest.artifact, self.check) {
            Ok(()) => Ok(Box::new(rest.entry(found.key(), record))),
            Err(damage) => unsound(record, damage),
        }
    }
}

impl Cache {
    /// Looks a key up and checks that its files are there and right.
    pub fn lookup(&self, key: &StageKey) -> Result<Lookup, CacheError> {
        let Some(entry) = self.find(key)?.and_then(|found| found.entry()) else {
            return Ok(Lookup::Miss);
        };
        Ok(match self.objects.check(&entry.artifact, self.check) {
            Ok(()) => Lookup::Hit(Box::new(entry)),
            Err(damage) => Lookup::Damaged(damage),
        })
    }

    /// Looks a key up; its files may be damaged.
    pub fn find(&self, key: &StageKey) -> Result<Option<Found>, CacheError> {
        let own = |found: &Found| found.key() == *key;
        if let Some(found) = self.index.manifest(key)?.and_then(Found::of).filter(own) {
            return Ok(Some(found));
        }
        // A process that died between its last two steps left a manifest but no index row.
        let Some(entry) = Entry::read(&self.entry_path(key)).filter(|entry| entry.key == *key)
        else {
            return Ok(None);
        };
        self.index.adopt(&entry)?;
        Ok(serde_json::to_string(&entry).ok().and_then(Found::of).map(Found::not_indexed))
    }

    /// Sees the index as it is now until the result is dropped, which makes many lookups faster.
    pub fn reading(&self) -> Result<Reading<'_>, CacheError> {
        Ok(self.index.reading()?)
    }

    /// Returns what checks the files of results.
    pub fn checker(&self) -> Checker {
        Checker { objects: self.objects.clone(), check: self.check }
    }
}
