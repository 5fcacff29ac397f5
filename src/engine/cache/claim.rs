//! The right to compute a key: an operating-system lock that dies with its process.
//!
//! Whoever holds the claim works in `work/<key>/`; leftovers of a dead process are cleared by the
//! next one to claim the same key. With the claim of a stage that has a horizon comes the use of its
//! trajectory, whose lock is always taken after the key's.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::folders::{is_filled, remove};
use super::lock::{Lock, Patience, Wait};
use super::trajectory::Held;
use super::{Cache, CacheError, Lookup, StoredResult};
use crate::engine::digest::{StageKey, TrajectoryKey};
use crate::engine::system::failpoint;

/// What came of asking for a key.
#[derive(Debug)]
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
        let path = self.claim_lock(key);
        failpoint::pass("claim.lock.before").map_err(CacheError::at(&path))?;
        let lock = Lock::acquire(&path, &format!("computes {}", key.short()), &mut wait)?;
        failpoint::pass("claim.lock.after").map_err(CacheError::at(&path))?;
        let work = self.root.join("work").join(key.to_string());
        let mut claim = Claim { cache: self, key: *key, lock: Some(lock), trajectory: None, work };
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

    fn claim_lock(&self, key: &StageKey) -> PathBuf {
        self.lock_path(&key.to_string())
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
        for folder in [self.output_folder(), self.scratch_folder()] {
            remove(&folder)?;
            fs::create_dir_all(&folder).map_err(CacheError::at(&folder))?;
        }
        let state = self.state_folder();
        fs::create_dir_all(&state).map_err(CacheError::at(&state))?;
        failpoint::pass("claim.clean.after").map_err(CacheError::at(&state))
    }

    /// Removes the working folder; with it goes any checkpoint, except those of a trajectory.
    pub(super) fn clear(&self) -> Result<(), CacheError> {
        failpoint::pass("claim.clear.before").map_err(CacheError::at(&self.work))?;
        remove(&self.work)?;
        failpoint::pass("claim.clear.after").map_err(CacheError::at(&self.work))
    }

    /// Gives the claim back. From here on the working folder may be another process's.
    pub(super) fn release(&mut self) -> Result<(), CacheError> {
        if let Some(lock) = self.lock.take() {
            lock.release();
        }
        let path = self.cache.claim_lock(&self.key);
        failpoint::pass("claim.release.after").map_err(CacheError::at(&path))
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
