//! Locks: of the operating system on files, which die with their process, so that nothing is unlocked by
//! hand; or leases where a cache is shared by machines.
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
use super::lease::{self, Lease, LeaseTerms};
use super::run_place::RunPlace;
use crate::engine::system::{host, regular_file};

/// Between two tries for a lock.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Bytes of what is read of a holder.
const LARGEST_NOTE: u64 = 1 << 12;

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
        // A lease is asked for at a file server, which others need, too.
        let pause = (self.began.elapsed() / 50).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
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
        thread::sleep(pause);
        Ok(())
    }
}

/// A name that one process at a time may hold.
#[derive(Clone, Debug)]
pub(super) struct LockName {
    /// The file of the lock.
    pub(super) path: PathBuf,
    /// How long a lease lasts, if the lock is one.
    pub(super) terms: Option<LeaseTerms>,
}

/// A lock that this process holds.
#[derive(Debug)]
pub(super) struct Lock(Held);

#[derive(Debug)]
enum Held {
    File { file: File, path: PathBuf },
    Lease(Lease),
}

impl LockName {
    /// Returns the folder of the lease.
    fn lease(&self) -> PathBuf {
        self.path.with_extension(lease::SUFFIX)
    }
}

impl Lock {
    /// Takes a lock, waiting while another process holds it; `what` says what that one does.
    pub(super) fn acquire(
        name: &LockName,
        what: &str,
        wait: &mut Wait<'_>,
    ) -> Result<Self, CacheError> {
        loop {
            if let Some(lock) = Self::try_acquire(name)? {
                return Ok(lock);
            }
            wait.moment(what)?;
        }
    }

    /// Takes a lock, unless another process holds it.
    pub(super) fn try_acquire(name: &LockName) -> Result<Option<Self>, CacheError> {
        let path = &name.path;
        if let Some(terms) = name.terms {
            let path = name.lease();
            let lease = Lease::try_acquire(&path, terms).map_err(CacheError::at(&path))?;
            return Ok(lease.map(|lease| Self(Held::Lease(lease))));
        }
        loop {
            let file = File::options().create(true).append(true).open(path);
            let file = file.map_err(CacheError::at(path))?;
            match file.try_lock() {
                Ok(()) if is_same_file(&file, path) => {
                    return Ok(Some(Self(Held::File { file, path: path.clone() })));
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(cause)) => return Err(CacheError::at(path)(cause)),
            }
        }
    }

    /// Returns whether some process holds a lock; leaves no file behind.
    pub(super) fn is_held(name: &LockName) -> bool {
        if let Some(terms) = name.terms {
            return lease::is_owned(&name.lease(), terms);
        }
        let file = File::open(&name.path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Returns where the process runs that holds a lock, if it has told.
    pub(super) fn place(name: &LockName) -> Option<RunPlace> {
        if name.terms.is_some() {
            return lease::place(&name.lease());
        }
        let text = regular_file::read_text(&name.path, LARGEST_NOTE).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Tells others where this process runs.
    pub(super) fn tell_place(&mut self) {
        // A lease tells by itself. For people alone: a run that can't tell still runs.
        if let Held::File { file, .. } = &mut self.0 {
            let place = RunPlace { host: host::name(), process: std::process::id() };
            let _ = file.write_all(&serde_json::to_vec(&place).unwrap_or_default());
        }
    }

    /// Returns the folder that is the holder's own for as long as it holds a lease.
    pub(super) fn folder(&self) -> Option<&Path> {
        match &self.0 {
            Held::File { .. } => None,
            Held::Lease(lease) => Some(lease.folder()),
        }
    }

    /// Returns from whom a lease was taken over.
    pub(super) fn taken_from(&self) -> Option<&str> {
        match &self.0 {
            Held::File { .. } => None,
            Held::Lease(lease) => lease.taken_from(),
        }
    }

    /// Gives the lock back.
    pub(super) fn release(self) {
        match self.0 {
            Held::File { file, path } => {
                // Removed while still locked, so that a waiting process sees that its file is gone.
                let _ = fs::remove_file(path);
                drop(file);
            }
            Held::Lease(lease) => lease.release(),
        }
    }
}

fn is_same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
        _ => false,
    }
}
