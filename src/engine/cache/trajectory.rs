//! Trajectories: state that stages share which differ only in how far they go.
//!
//! A stage with a horizon keeps its state in `trajectories/<trajectory key>/` instead of its own
//! working folder. It outlives the stage's end, so that a longer run goes on from a shorter one. While
//! someone holds a lease on it, it is in the lease's folder.
//!
//! One process uses it at a time, under a lock of its own. No deadlock is possible: a process takes
//! the lock of one key, then that of the key's trajectory, and waits for nothing while it holds the
//! latter; so whoever is waited for either works or waits for one that works.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::folders::{is_filled, move_if_there, remove};
use super::lock::{Lock, LockName, Wait};
use super::{Cache, CacheError};
use crate::engine::digest::TrajectoryKey;
use crate::engine::system::failpoint;

/// The folder of the state in that of a lease; tells the lease of a trajectory from that of a key.
pub(super) const LEASED: &str = "trajectory";

/// State on disk that stages of one trajectory share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trajectory {
    /// Its key.
    pub key: TrajectoryKey,
    /// What it takes on disk.
    pub bytes: u64,
}

/// The right to use a trajectory's state.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) key: TrajectoryKey,
    pub(super) folder: PathBuf,
    /// Where the state is while nobody holds it.
    rest: PathBuf,
    /// Where it goes before it is removed.
    grave: PathBuf,
    /// Gone once it has been given back.
    lock: Option<Lock>,
}

impl Held {
    /// Returns who held it before and died, in words, if it was taken over.
    pub(super) fn taken_from(&self) -> Option<&str> {
        self.lock.as_ref()?.taken_from()
    }

    /// Removes the state: all of it or nothing, also if the process dies meanwhile.
    pub(super) fn clear(&self) -> Result<(), CacheError> {
        remove(&self.grave)?;
        match fs::rename(&self.folder, &self.grave) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
            renamed => renamed.map_err(CacheError::at(&self.folder))?,
        }
        failpoint::pass("trajectory.clear.rename.after").map_err(CacheError::at(&self.grave))?;
        remove(&self.grave)
    }
}

impl Drop for Held {
    /// Gives it back; an empty folder is no state.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
        if self.folder != self.rest {
            let above = self.rest.parent().unwrap_or(&self.rest);
            let _ = fs::create_dir_all(above);
            if move_if_there(&self.folder, &self.rest).is_err() {
                // It goes to whoever takes the lease over.
                return;
            }
        }
        if let Some(lock) = self.lock.take() {
            lock.release();
        }
    }
}

impl Cache {
    /// Returns every trajectory that has a folder, in order of keys.
    pub fn trajectories(&self) -> Result<Vec<Trajectory>, CacheError> {
        let folder = self.trajectory_root();
        let items = match fs::read_dir(&folder) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            items => items.map_err(CacheError::at(&folder))?,
        };
        let mut found = Vec::new();
        for item in items {
            let item = item.map_err(CacheError::at(&folder))?;
            if let Ok(key) = item.file_name().to_string_lossy().parse() {
                found.push(Trajectory { key, bytes: bytes_below(&item.path()) });
            }
        }
        found.sort_by_key(|trajectory| trajectory.key);
        Ok(found)
    }

    /// Returns whether a stage of this trajectory left something to go on from.
    pub fn has_state(&self, key: &TrajectoryKey) -> bool {
        is_filled(&self.trajectory_root().join(key.to_string()))
    }

    /// Takes a trajectory, waiting while another process uses it.
    pub(super) fn hold_trajectory(
        &self,
        key: &TrajectoryKey,
        wait: &mut Wait<'_>,
    ) -> Result<Held, CacheError> {
        let name = self.trajectory_lock(key);
        let lock = Lock::acquire(&name, "is running this stage with another length", wait)?;
        failpoint::pass("trajectory.lock.after").map_err(CacheError::at(&name.path))?;
        self.held(key, lock)
    }

    /// Removes a trajectory, unless a process uses it; returns the bytes freed.
    pub(super) fn remove_trajectory(&self, trajectory: &Trajectory) -> Result<u64, CacheError> {
        let Some(lock) = Lock::try_acquire(&self.trajectory_lock(&trajectory.key))? else {
            return Ok(0);
        };
        self.held(&trajectory.key, lock)?.clear()?;
        Ok(trajectory.bytes)
    }

    /// Returns the trajectories that some process uses now.
    pub(super) fn used_trajectories(&self, among: &[Trajectory]) -> BTreeSet<TrajectoryKey> {
        let keys = among.iter().map(|trajectory| trajectory.key);
        keys.filter(|key| Lock::is_held(&self.trajectory_lock(key))).collect()
    }

    pub(super) fn held(&self, key: &TrajectoryKey, lock: Lock) -> Result<Held, CacheError> {
        let name = key.to_string();
        // Below `work/` whatever a dead process leaves is collected.
        let grave = self.root.join("work").join(&name);
        let rest = self.trajectory_root().join(name);
        let folder = lock.folder().map_or_else(|| rest.clone(), |own| own.join(LEASED));
        if folder != rest {
            move_if_there(&rest, &folder)?;
        }
        Ok(Held { key: *key, folder, rest, grave, lock: Some(lock) })
    }

    fn trajectory_root(&self) -> PathBuf {
        self.root.join("trajectories")
    }

    pub(super) fn trajectory_lock(&self, key: &TrajectoryKey) -> LockName {
        self.lock_name(&key.to_string())
    }
}

/// Returns the size of all files below a folder; what vanishes meanwhile does not count.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(items) = fs::read_dir(folder) else {
        return 0;
    };
    let size = |item: fs::DirEntry| match item.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&item.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    items.flatten().map(size).sum()
}
