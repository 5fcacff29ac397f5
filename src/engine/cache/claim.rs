//! The right to compute a key: a lock that dies with its process, or a lease where machines share a cache.
//!
//! Whoever holds the claim works in `work/<key>/`; leftovers of a dead process are cleared by the
//! next one to claim the same key. With a lease it works in the lease's folder, which whoever takes the
//! lease over gets, state and all; state that is kept goes back to `work/<key>/`. With the claim of a stage that has a horizon comes the use of its
//! trajectory, whose lock is always taken after the key's.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::folders::{is_filled, move_if_there, remove};
use super::lock::{Lock, LockName, Patience, Wait};
use super::trajectory::Held;
use super::{Cache, CacheError, Lookup, StoredResult};
use crate::engine::digest::{StageKey, TrajectoryKey};
use crate::engine::system::failpoint;

/// What came of asking for a key.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, for a moment")]
pub enum Claimed<'a> {
    /// The result is there, perhaps since a moment ago.
    Hit(StoredResult),
    /// This process is to compute it.
    Mine(Claim<'a>),
}

/// What of earlier runs may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// A result that is there, and state to go on from.
    Allowed,
    /// State, but no result: a forced stage tries again.
    StateOnly,
    /// Nothing: compute it again, all of it.
    Refused,
}

/// The exclusive right to compute and publish one key.
#[derive(Debug)]
pub struct Claim<'a> {
    pub(super) cache: &'a Cache,
    pub(super) key: StageKey,
    /// Gone once the claim has been given back.
    lock: Option<Lock>,
    pub(super) trajectory: Option<Held>,
    work: PathBuf,
    /// Where state is while nobody has the claim.
    rest: PathBuf,
    /// Set when it turns out that another process has taken over.
    lost: Arc<AtomicBool>,
}

impl Cache {
    /// Claims a key and the trajectory that it belongs to, waiting while another process computes
    /// the one or uses the other.
    pub fn claim(
        &self,
        key: &StageKey,
        trajectory: Option<&TrajectoryKey>,
        reuse: Reuse,
        patience: Patience<'_>,
    ) -> Result<Claimed<'_>, CacheError> {
        let mut wait = Wait::new(patience);
        let name = self.claim_lock(key);
        failpoint::pass("claim.lock.before").map_err(CacheError::at(&name.path))?;
        let lock = Lock::acquire(&name, &format!("computes {}", key.short()), &mut wait)?;
        failpoint::pass("claim.lock.after").map_err(CacheError::at(&name.path))?;
        let mut claim = self.claimed(key, lock)?;
        if reuse == Reuse::Allowed
            && let Lookup::Hit(result) = self.lookup(key)?
        {
            claim.release()?;
            return Ok(Claimed::Hit(result));
        }
        if let Some(trajectory) = trajectory {
            claim.trajectory = Some(self.hold_trajectory(trajectory, &mut wait)?);
        }
        if reuse == Reuse::Refused {
            claim.clear_state()?;
        }
        claim.prepare()?;
        Ok(Claimed::Mine(claim))
    }

    /// Makes a claim of a lock; kept state comes to where the claim works.
    pub(super) fn claimed(&self, key: &StageKey, lock: Lock) -> Result<Claim<'_>, CacheError> {
        let rest = self.root.join("work").join(key.to_string());
        let work = lock.folder().map_or_else(|| rest.clone(), Path::to_owned);
        let (key, lock, lost) = (*key, Some(lock), Arc::default());
        let claim = Claim { cache: self, key, lock, trajectory: None, work, rest, lost };
        claim.fetch_state()?;
        Ok(claim)
    }

    pub(super) fn claim_lock(&self, key: &StageKey) -> LockName {
        self.lock_name(&key.to_string())
    }
}

impl Claim<'_> {
    /// Returns the key.
    pub fn key(&self) -> &StageKey {
        &self.key
    }

    /// Returns who had the key before and died, in words, if it was taken over.
    pub fn taken_from(&self) -> Option<&str> {
        let own = self.lock.as_ref().and_then(Lock::taken_from);
        own.or_else(|| self.trajectory.as_ref().and_then(Held::taken_from))
    }

    /// Returns what is set, once the claim is gone, if another process has taken over meanwhile.
    pub fn lost(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.lost)
    }

    /// Brings state to where the claim works.
    fn fetch_state(&self) -> Result<(), CacheError> {
        if self.work != self.rest {
            move_if_there(&self.rest.join("state"), &self.work.join("state"))?;
            let _ = fs::remove_dir(&self.rest);
        }
        Ok(())
    }

    /// Puts state that is kept to where the next claim looks for it.
    ///
    /// Returns whether that was done; if not, the lease must not be given back, and goes to whoever takes it
    /// over, state and all.
    fn leave_state(&self) -> bool {
        let state = self.work.join("state");
        if self.work == self.rest || !is_filled(&state) {
            return true;
        }
        fs::create_dir_all(&self.rest).is_ok()
            && move_if_there(&state, &self.rest.join("state")).is_ok()
    }

    /// Returns the folder that the stage writes its artifact into.
    pub fn output_folder(&self) -> PathBuf {
        self.work.join("output")
    }

    /// Returns a folder for temporary files of the stage.
    pub fn scratch_folder(&self) -> PathBuf {
        self.work.join("scratch")
    }

    /// Returns the folder for checkpoints: the trajectory's, or one that is kept until the key is
    /// published.
    pub fn state_folder(&self) -> PathBuf {
        match &self.trajectory {
            Some(trajectory) => trajectory.folder.clone(),
            None => self.work.join("state"),
        }
    }

    /// Returns the name of what the state in that folder belongs to.
    pub fn state_owner(&self) -> String {
        match &self.trajectory {
            Some(trajectory) => trajectory.key.to_string(),
            None => self.key.to_string(),
        }
    }

    /// Returns whether there is state that a later run would go on from.
    pub fn has_state(&self) -> bool {
        is_filled(&self.state_folder())
    }

    /// Removes the state, that of the trajectory or the stage's own.
    pub fn clear_state(&self) -> Result<(), CacheError> {
        match &self.trajectory {
            Some(trajectory) => trajectory.clear(),
            None => remove(&self.state_folder()),
        }
    }

    fn prepare(&self) -> Result<(), CacheError> {
        if self.work == self.rest {
            fs::create_dir_all(&self.work).map_err(CacheError::at(&self.work))?;
        }
        for folder in [self.output_folder(), self.scratch_folder()] {
            remove(&folder)?;
            // The folder of a lease that was taken over must not come back.
            fs::create_dir(&folder).map_err(CacheError::at(&folder))?;
        }
        let state = self.state_folder();
        match &self.trajectory {
            Some(_) if self.work == self.rest => fs::create_dir_all(&state),
            _ if state.is_dir() => Ok(()),
            _ => fs::create_dir(&state),
        }
        .map_err(CacheError::at(&state))?;
        failpoint::pass("claim.clean.after").map_err(CacheError::at(&state))
    }

    /// Removes the working folder; with it goes any checkpoint, except those of a trajectory.
    pub(super) fn clear(&self) -> Result<(), CacheError> {
        failpoint::pass("claim.clear.before").map_err(CacheError::at(&self.work))?;
        if self.work == self.rest {
            remove(&self.work)?;
        } else {
            // The folder of a lease goes when it is given back.
            for folder in ["output", "scratch", "state"] {
                remove(&self.work.join(folder))?;
            }
        }
        failpoint::pass("claim.clear.after").map_err(CacheError::at(&self.work))
    }

    /// Gives the claim back. From here on the working folder may be another process's.
    pub(super) fn release(&mut self) -> Result<(), CacheError> {
        if let Some(lock) = self.lock.take()
            && self.leave_state()
        {
            lock.release();
        }
        let LockName { path, .. } = self.cache.claim_lock(&self.key);
        failpoint::pass("claim.release.after").map_err(CacheError::at(&path))
    }
}

impl Drop for Claim<'_> {
    /// Frees the disk of what a failed stage wrote, while the lock is still held; checkpoints stay.
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            let is_lost = lock.folder().is_some_and(|folder| !folder.exists());
            self.lost.store(is_lost, Ordering::Relaxed);
            let _ = remove(&self.output_folder());
            let _ = remove(&self.scratch_folder());
            // A file's lock dies with it, and its file is a leftover.
            if self.leave_state() && lock.folder().is_some() {
                lock.release();
            }
        }
    }
}
