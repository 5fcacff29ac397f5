//! The right to compute a key: an operating-system lock that dies with its process.
//!
//! Whoever holds the claim works in `work/<key>/`; leftovers of a dead process are cleared by the
//! next one to claim the same key. There is nothing to unlock by hand.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Cache, CacheError, Entry, Lookup};
use crate::engine::digest::StageKey;
use crate::engine::failpoint;

/// What came of asking for a key.
#[derive(Debug)]
pub enum Claimed<'a> {
    /// The result is there, perhaps since a moment ago.
    Hit(Box<Entry>),
    /// This process is to compute it.
    Mine(Claim<'a>),
}

/// Whether a result that is there may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Yes.
    Allowed,
    /// No: compute it again.
    Refused,
}

/// The exclusive right to compute and publish one key.
#[derive(Debug)]
pub struct Claim<'a> {
    pub(super) cache: &'a Cache,
    pub(super) key: StageKey,
    lock: File,
    lock_path: PathBuf,
    work: PathBuf,
}

impl Cache {
    /// Claims a key, waiting while another process computes it.
    pub fn claim(
        &self,
        key: &StageKey,
        reuse: Reuse,
        longest: Option<Duration>,
    ) -> Result<Claimed<'_>, CacheError> {
        let path = self.root.join("claims").join(format!("{key}.lock"));
        failpoint::pass("claim.lock.before").map_err(CacheError::at(&path))?;
        let lock = acquire(&path, key, longest)?;
        failpoint::pass("claim.lock.after").map_err(CacheError::at(&path))?;
        let work = self.root.join("work").join(key.to_string());
        let claim = Claim { cache: self, key: *key, lock, lock_path: path, work };
        if reuse == Reuse::Allowed
            && let Lookup::Hit(entry) = self.lookup(key)?
        {
            claim.release()?;
            return Ok(Claimed::Hit(entry));
        }
        claim.prepare()?;
        Ok(Claimed::Mine(claim))
    }
}

fn acquire(path: &Path, key: &StageKey, longest: Option<Duration>) -> Result<File, CacheError> {
    let began = Instant::now();
    loop {
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(CacheError::at(path))?;
        match longest {
            None => file.lock().map_err(CacheError::at(path))?,
            Some(longest) => loop {
                match file.try_lock() {
                    Ok(()) => break,
                    Err(TryLockError::WouldBlock) if began.elapsed() >= longest => {
                        return Err(CacheError::Waited { key: *key, seconds: longest.as_secs() });
                    }
                    Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(50)),
                    Err(TryLockError::Error(cause)) => return Err(CacheError::at(path)(cause)),
                }
            },
        }
        // The holder before us removed the file when it was done: a lock on a removed file
        // excludes nobody.
        if is_same_file(&file, path) {
            return Ok(file);
        }
    }
}

fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
        _ => false,
    }
}

impl Claim<'_> {
    /// Returns the key.
    pub fn key(&self) -> &StageKey {
        &self.key
    }

    /// Returns the folder that the stage writes its artifact into.
    pub fn output_folder(&self) -> PathBuf {
        self.work.join("output")
    }

    /// Returns a folder for temporary files of the stage.
    pub fn scratch_folder(&self) -> PathBuf {
        self.work.join("scratch")
    }

    /// Returns the folder for checkpoints, kept until the key is published.
    pub fn state_folder(&self) -> PathBuf {
        self.work.join("state")
    }

    fn prepare(&self) -> Result<(), CacheError> {
        for folder in [self.output_folder(), self.scratch_folder()] {
            remove(&folder)?;
            fs::create_dir_all(&folder).map_err(CacheError::at(&folder))?;
        }
        let state = self.state_folder();
        fs::create_dir_all(&state).map_err(CacheError::at(&state))?;
        failpoint::pass("claim.clean.after").map_err(CacheError::at(&state))
    }

    /// Removes the working folder; with it goes any checkpoint.
    pub(super) fn clear(&self) -> Result<(), CacheError> {
        failpoint::pass("claim.clear.before").map_err(CacheError::at(&self.work))?;
        remove(&self.work)?;
        failpoint::pass("claim.clear.after").map_err(CacheError::at(&self.work))
    }

    /// Gives the claim back.
    pub(super) fn release(&self) -> Result<(), CacheError> {
        // Removed while still locked, so that a waiting process sees that its file is gone.
        let _ = fs::remove_file(&self.lock_path);
        self.lock.unlock().map_err(CacheError::at(&self.lock_path))?;
        failpoint::pass("claim.release.after").map_err(CacheError::at(&self.lock_path))
    }
}

impl Drop for Claim<'_> {
    /// Frees the disk of what a failed stage wrote; checkpoints stay, the lock goes with its file.
    fn drop(&mut self) {
        let _ = remove(&self.output_folder());
        let _ = remove(&self.scratch_folder());
    }
}

fn remove(folder: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(CacheError::at(folder)(cause))
        }
        _ => Ok(()),
    }
}
