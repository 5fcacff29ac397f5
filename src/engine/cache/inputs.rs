//! Inputs of a stage, checked when it reads them.
//!
//! The digest of every file is compared before a stage begins; that of a large file is remembered as
//! long as the file system shows it unchanged. What the file system does not show, such as a bit that
//! the disk itself has lost, is found by `--verify` alone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::objects;
use super::stat::FileStamp;
use super::{Cache, CacheError};
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::key::InputRecord;
use crate::engine::stage::artifact::{StoredArtifact, StoredFile};
use crate::engine::system::clock;

/// A file that was found to be what it should be.
#[derive(Debug)]
pub struct CheckedFile {
    file: StoredFile,
    stamp: FileStamp,
}

impl Cache {
    /// Checks the digest of every file of an input. A damaged file is removed, so that the next run
    /// computes it again.
    pub fn check_input(&self, artifact: &StoredArtifact) -> Result<Vec<CheckedFile>, CacheError> {
        let check = |file: &StoredFile| match self.check_file(file) {
            Ok(stamp) => Ok(CheckedFile { file: file.clone(), stamp }),
            Err(damage) => Err(self.discard_damaged(artifact, file, &damage)),
        };
        artifact.files.iter().map(check).collect()
    }

    /// Makes sure that files are still what they were when they were checked.
    pub fn check_again(&self, checked: &[CheckedFile]) -> Result<(), CacheError> {
        for CheckedFile { file, stamp } in checked {
            let is_same = self.objects.stamp(file).is_ok_and(|now| now == *stamp);
            if !is_same && let Err(damage) = self.objects.check_digest(file) {
                return Err(CacheError::DamagedInput(format!(
                    "an input changed in the cache while the stage read it: {damage}; run again"
                )));
            }
        }
        Ok(())
    }

    fn check_file(&self, file: &StoredFile) -> Result<FileStamp, String> {
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

    fn discard_damaged(
        &self,
        artifact: &StoredArtifact,
        file: &StoredFile,
        damage: &str,
    ) -> CacheError {
        let path = self.objects.path(&file.digest);
        let suspects = self.suspects(&artifact.digest, &path).unwrap_or_default();
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        let _ = self.index.forget_sound();
        let advice = match removed {
            Ok(()) => "it was removed: run again to recompute it".to_owned(),
            Err(cause) if path.exists() => format!("it can't be removed: {cause}"),
            Err(_) => "run again to recompute it".to_owned(),
        };
        CacheError::DamagedInput(format!("{damage}; {advice}{}", suspected(&suspects)))
    }

    /// Adds to what is wrong with an artifact which results may have been computed from it as it is.
    pub(super) fn with_suspects(&self, artifact: &StoredArtifact, damage: &str) -> String {
        let damaged = artifact.files.iter().filter(|file| self.objects.check_digest(file).is_err());
        let suspects = damaged.flat_map(|file| {
            let path = self.objects.path(&file.digest);
            self.suspects(&artifact.digest, &path).unwrap_or_default()
        });
        let suspects: BTreeSet<_> = suspects.collect();
        format!("{damage}{}", suspected(&suspects.into_iter().collect::<Vec<_>>()))
    }

    /// Returns the results that were computed from an artifact since one of its files was last
    /// written: what is wrong with the file now may have been wrong then.
    fn suspects(
        &self,
        content: &ContentDigest,
        path: &Path,
    ) -> Result<Vec<(StageKey, String)>, CacheError> {
        // The time at which the file got its present bytes; without a file nothing wrong was read.
        let Ok(about) = fs::metadata(path) else {
            return Ok(Vec::new());
        };
        let reads = |input: &InputRecord| match input {
            InputRecord::One(digest) => digest == content,
            InputRecord::Each(members) => members.iter().any(|(_, digest)| digest == content),
        };
        let entries = self.index.all()?.into_iter().filter(|entry| {
            i64::try_from(entry.run.finished).is_ok_and(|end| end >= about.mtime())
                && entry.record.inputs.values().any(reads)
        });
        Ok(entries.map(|entry| (entry.key, entry.run.stage)).collect())
    }
}

/// Returns a clause that names results which may be wrong.
fn suspected(suspects: &[(StageKey, String)]) -> String {
    const NAMED: usize = 5;
    let names: Vec<_> = suspects.iter().take(NAMED).map(|(_, stage)| stage.as_str()).collect();
    match suspects.len() {
        0 => String::new(),
        count if count > NAMED => format!(
            "; {} and {} more were computed from it and may be wrong: recompute them with `--force`",
            names.join(", "),
            count - NAMED
        ),
        1 => format!(
            "; {} was computed from it and may be wrong: recompute it with `--force`",
            names.join(", ")
        ),
        _ => format!(
            "; {} were computed from it and may be wrong: recompute them with `--force`",
            names.join(", ")
        ),
    }
}
