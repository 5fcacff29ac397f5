//! Operating-system locks on files: they die with their process, so nothing is unlocked by hand.
//!
//! The holder removes the file while it still has the lock. Whoever waited for it then holds a lock
//! on a removed file, which excludes nobody, and asks again.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::error::CacheError;

/// How a process waits while another one has what it needs.
pub struct Patience<'a> {
    /// When to give up, counted over everything that it waits for.
    pub longest: Option<Duration>,
    /// Set when it should stop waiting at once.
    pub stop: &'a AtomicBool,
    /// Called once, when the wait begins.
    pub on_wait: &'a mut dyn FnMut(),
}

/// One wait, perhaps for several locks in turn.
pub(super) struct Wait<'a> {
    patience: Patience<'a>,
    began: Instant,
    told: bool,
}

impl<'a> Wait<'a> {
    pub(super) fn new(patience: Patience<'a>) -> Self {
        Self { patience, began: Instant::now(), told: false }
    }

    /// Waits a moment for a process that does what `what` says, unless it has been long enough.
    fn moment(&mut self, what: &str) -> Result<(), CacheError> {
        const PAUSE: Duration = Duration::from_millis(20);
        if self.patience.stop.load(Ordering::Relaxed) {
            return Err(CacheError::Stopped);
        }
        let over = |longest: &Duration| self.began.elapsed() >= *longest;
        if let Some(longest) = self.patience.longest.filter(over) {
            return Err(CacheError::Waited { what: what.to_owned(), seconds: longest.as_secs() });
        }
        if !self.told {
            self.told = true;
            (self.patience.on_wait)();
        }
        thread::sleep(PAUSE);
        Ok(())
    }
}

/// A lock that this process holds.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes a lock, waiting while another process holds it; `what` says what that one does.
    pub(super) fn acquire(
        path: &Path,
        what: &str,
        wait: &mut Wait<'_>,
    ) -> Result<Self, CacheError> {
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            wait.moment(what)?;
        }
    }

    /// Takes a lock, unless another process holds it.
    pub(super) fn try_acquire(path: &Path) -> Result<Option<Self>, CacheError> {
        loop {
            let file = File::options().create(true).append(true).open(path);
            let file = file.map_err(CacheError::at(path))?;
            match file.try_lock() {
                Ok(()) if is_same_file(&file, path) => {
                    return Ok(Some(Self { file, path: path.to_owned() }));
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(cause)) => return Err(CacheError::at(path)(cause)),
            }
        }
    }

    /// Returns whether some process holds a lock; leaves no file behind.
    pub(super) fn is_held(path: &Path) -> bool {
        let file = File::open(path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Writes a note for people into the file.
    pub(super) fn write(&mut self, note: &[u8]) {
        let _ = self.file.write_all(note);
    }

    /// Gives the lock back.
    pub(super) fn release(self) {
        // Removed while still locked, so that a waiting process sees that its file is gone.
        let _ = fs::remove_file(&self.path);
        drop(self.file);
    }
}

fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
        _ => false,
    }
}
