//! Inputs of a stage, checked when it reads them.
//!
//! The digest of every file is compared before a stage begins; that of a large file is remembered as
//! long as the file system shows it unchanged. What the file system does not show, such as a bit that
//! the disk itself has lost, is found by `--verify` alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::folders::remove;
use super::objects::{self, Check, Fault};
use super::stat::FileStamp;
use super::{Cache, CacheError};
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::key::InputRecord;
use crate::engine::stage::artifact::{StoredArtifact, StoredFile};
use crate::engine::system::clock;
use crate::engine::system::parallel;

/// A file that was found to be what it should be.
#[derive(Debug)]
pub struct CheckedFile {
    file: StoredFile,
    stamp: FileStamp,
}

/// The stages that read each artifact, with the time at which they ended.
pub(super) struct Readers(BTreeMap<ContentDigest, Vec<(u64, String)>>);

impl Readers {
    /// Adds to what is wrong with an artifact which results may have been computed from it as it is:
    /// those that ended after the file got its present bytes.
    pub(super) fn name(&self, artifact: &StoredArtifact, fault: &Fault) -> String {
        let changed = fs::metadata(&fault.path).ok().filter(|_| fault.is_wrong);
        let readers = changed.map(|about| {
            let all = self.0.get(&artifact.digest).into_iter().flatten();
            all.filter(move |(end, _)| i64::try_from(*end).is_ok_and(|end| end >= about.mtime()))
        });
        let names: BTreeSet<_> =
            readers.into_iter().flatten().map(|(_, stage)| stage.as_str()).collect();
        let names: Vec<_> = names.into_iter().collect();
        format!("{}{}", fault.message, suspected(&names))
    }
}

impl Cache {
    /// Checks the digest of every file of an input. A damaged file is removed, so that the next run
    /// computes it again.
    pub fn check_input(&self, artifact: &StoredArtifact) -> Result<Vec<CheckedFile>, CacheError> {
        let check = |file: &StoredFile| match self.check_file(file) {
            Ok(stamp) => Ok(CheckedFile { file: file.clone(), stamp }),
            Err(fault) => Err(CacheError::DamagedInput(self.discard(artifact, file, &fault)?)),
        };
        artifact.files.iter().map(check).collect()
    }

    /// Makes sure that files are still what they were when they were checked.
    pub fn check_again(&self, checked: &[CheckedFile]) -> Result<(), CacheError> {
        for CheckedFile { file, stamp } in checked {
            let is_same = self.objects.stamp(file).is_ok_and(|now| now == *stamp);
            if !is_same && let Err(fault) = self.objects.check_digest(file) {
                return Err(CacheError::DamagedInput(format!(
                    "an input changed in the cache while the stage read it: {}; run again",
                    fault.message
                )));
            }
        }
        Ok(())
    }

    fn check_file(&self, file: &StoredFile) -> Result<FileStamp, Fault> {
        let stamp = self.objects.stamp(file)?;
        if objects::is_small(file) {
            return self.objects.check_digest(file).map(|()| stamp);
        }
        let path = self.objects.path(&file.digest);
        let known = self.index.known_file(&path).ok().flatten();
        if known != Some((stamp, file.digest)) {
            let now = clock::now();
            self.objects.check_digest(file)?;
            if stamp.at_rest(now) {
                // Without it the next stage hashes the file again, no more.
                let _ = self.index.remember_file(&path, &stamp, &file.digest);
            }
        }
        Ok(stamp)
    }

    /// Removes a file with wrong bytes; returns what to tell the user.
    fn discard(
        &self,
        artifact: &StoredArtifact,
        file: &StoredFile,
        fault: &Fault,
    ) -> Result<String, CacheError> {
        let told = self.readers()?.name(artifact, fault);
        if !fault.is_wrong {
            return Ok(format!("{told}; run again"));
        }
        let aside = self.root.join("work").join(format!("{}.{}", file.digest, std::process::id()));
        fs::rename(&fault.path, &aside).map_err(CacheError::at(&fault.path))?;
        // Another process may have put the right bytes there meanwhile.
        if ContentDigest::of_file(&aside).is_ok_and(|digest| digest == file.digest) {
            fs::rename(&aside, &fault.path).map_err(CacheError::at(&fault.path))?;
        } else {
            remove(&aside)?;
        }
        self.index.forget_sound()?;
        Ok(format!("{told}; it was removed: run again to recompute it"))
    }

    /// Checks the files of results on all cores; returns what is wrong with which, and what may have
    /// been computed from it.
    pub(super) fn damaged<'a>(
        &self,
        results: &[(StageKey, &'a StoredArtifact)],
        check: Check,
    ) -> Result<Vec<(StageKey, String)>, CacheError> {
        let objects = &self.objects;
        let fault =
            |(_, artifact): &(StageKey, &'a StoredArtifact)| objects.check(artifact, check).err();
        let faults = results.iter().zip(parallel::map(results, fault));
        let faults: Vec<_> = faults.filter_map(|(result, fault)| Some((result, fault?))).collect();
        if faults.is_empty() {
            return Ok(Vec::new());
        }
        let readers = self.readers()?;
        let told =
            faults.iter().map(|((key, artifact), fault)| (*key, readers.name(artifact, fault)));
        Ok(told.collect())
    }

    /// Finds out which stages read which artifacts.
    pub(super) fn readers(&self) -> Result<Readers, CacheError> {
        let mut found = BTreeMap::<_, Vec<_>>::new();
        for entry in self.index.all()? {
            let mut add = |digest: &ContentDigest| {
                let reader = (entry.run.finished, entry.run.stage.clone());
                found.entry(*digest).or_default().push(reader);
            };
            for input in entry.record.inputs.values() {
                match input {
                    InputRecord::One(digest) => add(digest),
                    InputRecord::Each(members) => {
                        for (_, digest) in members {
                            add(digest);
                        }
                    }
                }
            }
        }
        Ok(Readers(found))
    }
}

/// Returns a clause that names results which may be wrong.
fn suspected(stages: &[&str]) -> String {
    const NAMED: usize = 5;
    let names = stages[..stages.len().min(NAMED)].join(", ");
    let (verb, what) = match stages.len() {
        0 => return String::new(),
        1 => ("was", "it"),
        _ => ("were", "them"),
    };
    let more = match stages.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "; {names}{more} {verb} computed from it and may be wrong: recompute {what} with `--force`"
    )
}
