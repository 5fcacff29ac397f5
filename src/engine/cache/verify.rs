//! Checks everything that can be checked, and makes the index anew.
//!
//! A manifest is checked against its key, its artifact against its files, every file against its
//! digest, and the index against the manifests. What nobody can tell is whether a manifest, its key
//! and its files were made up together: a stranger's cache is to be trusted like a stranger's program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::folders::files_below;
use super::index::Index;
use super::objects::Check;
use super::{Cache, CacheError, Entry, hold_alone};
use crate::engine::digest::StageKey;

/// What a check of the whole cache found.
#[derive(Debug, Default)]
pub struct Verification {
    /// How many results were checked.
    pub results: usize,
    /// Results and manifests that can't be used, with what is wrong.
    pub damaged: BTreeMap<String, String>,
    /// Rows of the index that are not what the manifests say, with what is wrong.
    pub deviating: BTreeMap<String, String>,
}

impl Verification {
    /// Returns whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.deviating.is_empty()
    }
}

impl Cache {
    /// Checks every manifest, every row of the index, and every file of every result by digest. The
    /// caller holds the cache, so that nothing is collected meanwhile.
    pub fn verify(&self) -> Result<Verification, CacheError> {
        let mut found = Verification::default();
        let mut manifests = BTreeMap::new();
        for path in files_below(&self.root.join("entries"))? {
            match Entry::check(&path) {
                Ok(entry) if self.entry_path(&entry.key) == path => {
                    manifests.insert(entry.key, entry);
                }
                Ok(_) => {
                    let what = "this manifest is stored under another key".to_owned();
                    found.damaged.insert(path.display().to_string(), what);
                }
                Err(what) => {
                    found
                        .damaged
                        .insert(path.display().to_string(), format!("this manifest {what}"));
                }
            }
        }
        let unusable = found.damaged.len();
        let deviating = self.index.deviating(&manifests)?;
        if !deviating.is_empty() {
            // Some may have been published since their manifests were read.
            let again = deviating.iter().filter_map(|key| key.parse().ok());
            let again = again.filter_map(|key| Some((key, Entry::read(&self.entry_path(&key))?)));
            let again: BTreeMap<StageKey, Entry> = again.collect();
            let still: BTreeSet<_> = self.index.deviating(&again)?.into_iter().collect();
            for key in deviating.into_iter().filter(|key| still.contains(key)) {
                let has_manifest = key.parse().is_ok_and(|key| again.contains_key(&key));
                let what =
                    if has_manifest { "differs from its manifest" } else { "has no manifest" };
                found.deviating.insert(key, format!("its row in the index {what}"));
            }
        }
        if self.is_writable() {
            self.adopt()?;
        }
        let results: Vec<_> =
            manifests.values().map(|entry| (entry.key, &entry.artifact)).collect();
        let damaged = self.damaged(&results, Check::Everything)?.into_iter();
        found.damaged.extend(damaged.map(|(key, damage)| (key.to_string(), damage)));
        if !found.damaged.is_empty() && self.is_writable() {
            self.index.forget_sound()?;
        }
        found.results = manifests.len() + unusable;
        Ok(found)
    }

    /// Makes the index anew from the manifests; returns how many there are. The history of runs
    /// stays, unless the index can't be read at all. A result whose manifest is lost, but not its
    /// row, gets it back; manifests that can't be used go to `unusable/`.
    pub fn rebuild(root: &Path) -> Result<usize, CacheError> {
        let _alone = hold_alone(root)?;
        let damage = Index::open(root).and_then(|index| Ok(index.damage()?));
        match damage {
            // A newer one is set aside when the cache is opened.
            Ok(None) | Err(CacheError::NewerIndex(_)) => {}
            Ok(Some(_)) => Index::delete(root)?,
            Err(error) if error.is_damage() => Index::delete(root)?,
            Err(error) => return Err(error),
        }
        let cache = Self::open(root, Check::Small)?;
        cache.restore_manifests()?;
        cache.index.forget_entries()?;
        cache.adopt()?;
        Ok(cache.size()?.0)
    }

    /// Writes manifests that only the index has, and moves those out of the way that can't be used.
    fn restore_manifests(&self) -> Result<(), CacheError> {
        let temporary = self.root.join("work").join("manifest.json");
        for entry in self.index.intact()? {
            let is_lost = Entry::read(&self.entry_path(&entry.key)).is_none();
            if is_lost && self.objects.check(&entry.artifact, Check::Small).is_ok() {
                self.write_manifest(&entry, &temporary)?;
            }
        }
        let aside = self.root.join("unusable");
        for path in files_below(&self.root.join("entries"))? {
            if Entry::read(&path).is_none() {
                fs::create_dir_all(&aside).map_err(CacheError::at(&aside))?;
                let to = path.file_name().map_or_else(|| aside.clone(), |name| aside.join(name));
                fs::rename(&path, to).map_err(CacheError::at(&path))?;
            }
        }
        Ok(())
    }

    /// Puts manifests into the index that it lacks; returns how many can't be used.
    pub(super) fn adopt(&self) -> Result<usize, CacheError> {
        self.index.adopt_all(&self.root)
    }
}
