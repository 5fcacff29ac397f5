//! The right to compute a key: an operating-system lock that dies with its process.
//!
//! Whoever holds the claim works in `work/<key>/`; leftovers of a dead process are cleared by the
//! next one to claim the same key. There is nothing to unlock by hand.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
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

/// How a process waits while another one computes the same key.
pub struct Patience<'a> {
    /// When to give up.
    pub longest: Option<Duration>,
    /// Set when it should stop waiting at once.
    pub stop: &'a AtomicBool,
    /// Called once, when the wait begins.
    pub on_wait: &'a mut dyn FnMut(),
}

/// The exclusive right to compute and publish one key.
#[derive(Debug)]
pub struct Claim<'a> {
    pub(super) cache: &'a Cache,
    pub(super) key: StageKey,
    /// Gone once the claim has been given back.
    lock: Option<File>,
    lock_path: PathBuf,
    work: PathBuf,
}

impl Cache {
    /// Claims a key, waiting while another process computes it.
    pub fn claim(
        &self,
        key: &StageKey,
        reuse: Reuse,
        patience: Patience<'_>,
    ) -> Result<Claimed<'_>, CacheError> {
        let path = self.root.join("claims").join(format!("{key}.lock"));
        failpoint::pass("claim.lock.before").map_err(CacheError::at(&path))?;
        let lock = Some(acquire(&path, key, patience)?);
        failpoint::pass("claim.lock.after").map_err(CacheError::at(&path))?;
        let work = self.root.join("work").join(key.to_string());
        let mut claim = Claim { cache: self, key: *key, lock, lock_path: path, work };
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

fn acquire(path: &Path, key: &StageKey, patience: Patience<'_>) -> Result<File, CacheError> {
    const PAUSE: Duration = Duration::from_millis(20);
    let began = Instant::now();
    let mut waiting = false;
    loop {
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(CacheError::at(path))?;
        match file.try_lock() {
            // The holder before us removed the file when it was done: a lock on a removed file
            // excludes nobody.
            Ok(()) if is_same_file(&file, path) => return Ok(file),
            Ok(()) => continue,
            Err(TryLockError::Error(cause)) => return Err(CacheError::at(path)(cause)),
            Err(TryLockError::WouldBlock) => {}
        }
        if patience.stop.load(Ordering::Relaxed) {
            return Err(CacheError::Stopped);
        }
        if let Some(longest) = patience.longest.filter(|longest| began.elapsed() >= *longest) {
            return Err(CacheError::Waited { key: *key, seconds: longest.as_secs() });
        }
        if !waiting {
            waiting = true;
            (patience.on_wait)();
        }
        thread::sleep(PAUSE);
    }
}

fn is_same_file(file: &File, path: &Path) -> bool {
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

    /// Gives the claim back. From here on the working folder may be another process's.
    pub(super) fn release(&mut self) -> Result<(), CacheError> {
        if let Some(lock) = self.lock.take() {
            // Removed while still locked, so that a waiting process sees that its file is gone.
            let _ = fs::remove_file(&self.lock_path);
            drop(lock);
        }
        failpoint::pass("claim.release.after").map_err(CacheError::at(&self.lock_path))
    }
}

impl Drop for Claim<'_> {
    /// Frees the disk of what a failed stage wrote, while the lock is still held; checkpoints stay.
    fn drop(&mut self) {
        if self.lock.is_some() {
            let _ = remove(&self.output_folder());
            let _ = remove(&self.scratch_folder());
        }
    }
}

fn remove(folder: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(CacheError::at(folder)(cause)),
        _ => Ok(()),
    }
}
