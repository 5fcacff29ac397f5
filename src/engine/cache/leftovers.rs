//! What processes that were killed have left, and how runs that live are known.
//!
//! A run keeps in `jobs/` a lock that says where it runs, and for each stage that it has started the
//! job and how far it is.
//!
//! A run that has jobs holds a lock for as long as it lives; files of runs whose lock nobody holds
//! belong to nobody. Working folders are looked at under the lock of their key, so nothing that is in
//! use is touched. Checkpoints stay until their key has a result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use super::folders::{is_filled, names_in, remove};
use super::lease;
use super::lock::{Lock, LockName};
use super::run_place::RunPlace;
use super::trajectory::LEASED;
use super::{Cache, CacheError};
use crate::engine::digest::StageKey;
use crate::engine::stage::lifecycle::Progress;
use crate::engine::system::regular_file;

const LOCK: &str = "lock";
const JOB: &str = "json";
const PROGRESS: &str = "progress";
/// The ending of a record of jobs that run elsewhere and outlive their run.
const BATCH: &str = "batch";

/// Bytes of what is read of a running stage.
const LARGEST: u64 = 1 << 16;

/// A stage that a run has started and that has not ended.
#[derive(Clone, Debug)]
pub struct RunningStage {
    /// Where its run runs, if that is told.
    pub place: Option<RunPlace>,
    /// When it was started, in seconds since 1970.
    pub since: Option<u64>,
    /// How far it is, if it tells.
    pub progress: Option<Progress>,
}

/// A run that lives; as long as it does, its jobs are its own.
#[derive(Debug)]
pub struct RunningRun {
    /// Gone once it has been given back.
    lock: Option<Lock>,
}

impl Drop for RunningRun {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            lock.release();
        }
    }
}

impl Cache {
    /// Tells other processes that a run lives, until the result is dropped.
    pub fn begin_run(&self, run: &str) -> Result<RunningRun, CacheError> {
        const PAUSE: Duration = Duration::from_millis(1);
        // The name is this run's own: another process holds it only while it looks for leftovers.
        loop {
            if let Some(mut lock) = Lock::try_acquire(&self.run_lock(run))? {
                lock.tell_place();
                return Ok(RunningRun { lock: Some(lock) });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns where one run keeps the job for a stage's process.
    pub fn job_path(&self, key: &StageKey, run: &str) -> PathBuf {
        self.jobs().join(format!("{key}.{run}.{JOB}"))
    }

    /// Removes what a run kept of a stage that has ended.
    pub fn remove_job(&self, key: &StageKey, run: &str) {
        let job = self.job_path(key, run);
        let _ = fs::remove_file(job.with_extension(PROGRESS));
        let _ = fs::remove_file(job);
    }

    /// Returns whether a run lives.
    pub fn is_living(&self, run: &str) -> bool {
        Lock::is_held(&self.run_lock(run))
    }

    /// Returns the stages that run just now, by key.
    pub fn running_stages(&self) -> BTreeMap<StageKey, RunningStage> {
        let mut living = LivingRuns::default();
        let names = names_in(&self.jobs());
        let jobs = names.iter().filter(|name| name.ends_with(JOB));
        let jobs = jobs.filter_map(|name| parse(name));
        let jobs = jobs.filter(|(_, run)| living.contains(self, run));
        jobs.map(|(key, run)| (key, self.running_stage(&key, run))).collect()
    }

    /// Returns how far a stage is that runs somewhere, if it tells.
    pub fn progress(&self, key: &StageKey) -> Option<Progress> {
        let prefix = format!("{key}.");
        let names = names_in(&self.jobs());
        let of_key = |name: &&String| name.starts_with(&prefix) && name.ends_with(PROGRESS);
        read(&self.jobs().join(names.iter().find(of_key)?))
    }

    fn running_stage(&self, key: &StageKey, run: &str) -> RunningStage {
        let job = self.job_path(key, run);
        let started = fs::metadata(&job).and_then(|about| about.modified()).ok();
        let since = started.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        RunningStage {
            place: Lock::place(&self.run_lock(run)),
            since: since.map(|since| since.as_secs()),
            progress: read(&job.with_extension(PROGRESS)),
        }
    }

    /// Returns the keys of stages that run just now.
    pub fn running(&self) -> BTreeSet<StageKey> {
        let mut living = LivingRuns::default();
        let jobs = names_in(&self.jobs());
        let jobs = jobs.iter().filter_map(|name| parse(name));
        let jobs = jobs.filter(|(_, run)| living.contains(self, run));
        jobs.map(|(key, _)| key).collect()
    }

    /// Removes what killed processes have left, whether a pipeline reaches it or not. What can't be
    /// removed stays: nothing depends on it.
    pub fn remove_leftovers(&self) {
        if !self.is_writable() {
            return;
        }
        let mut living = LivingRuns::default();
        let names = names_in(&self.jobs());
        let elsewhere: BTreeSet<&str> = names.iter().filter_map(|name| batch_run(name)).collect();
        for name in &names {
            let run = [LOCK, lease::SUFFIX].iter().find_map(|suffix| name.strip_suffix(suffix));
            let run = run.and_then(|name| name.strip_suffix('.'));
            let owner = batch_run(name).or_else(|| parse(name).map(|(_, run)| run));
            let owner = owner.or_else(|| temporary_of(name));
            let is_used = |run| elsewhere.contains(run) || living.contains(self, run);
            if let Some(run) = run {
                release_if_free(&self.run_lock(run));
            } else if lease::is_passing(name) {
                remove_if_old(&self.jobs().join(name));
            } else if !owner.is_some_and(is_used) {
                let _ = remove(&self.jobs().join(name));
            }
        }
        let claims = self.root.join("claims");
        for name in names_in(&claims) {
            let key = name.split('.').next().and_then(|key| key.parse::<StageKey>().ok());
            let path = claims.join(&name);
            match (self.terms(), key) {
                (Some(_), Some(key)) if name.ends_with(lease::SUFFIX) => self.settle_lease(&key),
                (terms @ Some(_), None) if name.ends_with(lease::SUFFIX) => {
                    release_if_free(&LockName { path: path.with_extension(LOCK), terms });
                }
                // What a process that took or gave back a lease had no time to remove, or a lock from
                // before the cache was shared.
                (Some(_), _) if key.is_some() || lease::is_passing(&name) => remove_if_old(&path),
                (None, Some(key)) => release_if_free(&self.claim_lock(&key)),
                // The others are held by nobody most of the time, and stay.
                _ => {}
            }
        }
        self.remove_old_imports();
        for name in names_in(&self.root.join("work")) {
            let folder = self.root.join("work").join(&name);
            if let Ok(Some(lock)) = Lock::try_acquire(&self.lock_name(&name)) {
                let _ = self.clear_work(&folder, name.parse().ok());
                lock.release();
            }
        }
    }

    /// Gives back the lease of a dead owner; its state goes to where the next one looks for it.
    fn settle_lease(&self, key: &StageKey) {
        let name = self.claim_lock(key);
        let Ok(Some(lock)) = Lock::try_acquire(&name) else {
            return;
        };
        let is_trajectory = lock.folder().is_some_and(|own| own.join(LEASED).is_dir());
        if is_trajectory && let Ok(key) = key.to_string().parse() {
            drop(self.held(&key, lock));
        } else {
            drop(self.claimed(key, lock));
        }
    }

    /// Removes a working folder; the state of a key that has no result stays.
    fn clear_work(&self, folder: &Path, key: Option<StageKey>) -> Result<(), CacheError> {
        let is_published = match &key {
            Some(key) => self.index.outline(key)?.is_some(),
            None => true,
        };
        if is_published || !is_filled(&folder.join("state")) {
            return remove(folder);
        }
        remove(&folder.join("output"))?;
        remove(&folder.join("scratch"))
    }

    /// Returns the folder of jobs.
    pub fn jobs(&self) -> PathBuf {
        self.root.join("jobs")
    }

    fn run_lock(&self, run: &str) -> LockName {
        LockName { path: self.jobs().join(format!("{run}.{LOCK}")), terms: self.terms() }
    }
}

/// Notes how far the stage of a job is, for whoever asks meanwhile.
pub fn note_progress(job: &Path, progress: &Progress) {
    let (temporary, path) = (job.with_extension("tmp"), job.with_extension(PROGRESS));
    let text = serde_json::to_vec(progress).unwrap_or_default();
    // What can't be told is no reason to fail.
    let _ = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_str(&regular_file::read_text(path, LARGEST).ok()?).ok()
}

/// What is known of runs, so that each is asked about once.
#[derive(Default)]
struct LivingRuns {
    living: BTreeSet<String>,
    dead: BTreeSet<String>,
}

impl LivingRuns {
    fn contains(&mut self, cache: &Cache, run: &str) -> bool {
        if self.living.contains(run) || self.dead.contains(run) {
            return self.living.contains(run);
        }
        let lives = Lock::is_held(&cache.run_lock(run));
        let known = if lives { &mut self.living } else { &mut self.dead };
        known.insert(run.to_owned());
        lives
    }
}

/// Returns the run in the name of a record of jobs that was not written to its end.
fn temporary_of(name: &str) -> Option<&str> {
    name.strip_suffix(".tmp")?.split('.').next()
}

/// Returns the run in the name of a record of jobs that run elsewhere.
pub(super) fn batch_run(name: &str) -> Option<&str> {
    let name = name.strip_suffix(BATCH)?.strip_suffix('.')?;
    Some(name.split_once('.')?.0)
}

/// Returns the key and the run in the name of a job's file.
fn parse(name: &str) -> Option<(StageKey, &str)> {
    let (key, rest) = name.split_once('.')?;
    let (run, _) = rest.split_once('.')?;
    Some((key.parse().ok()?, run))
}

fn release_if_free(name: &LockName) {
    if let Ok(Some(lock)) = Lock::try_acquire(name) {
        lock.release();
    }
}

/// Removes what has been lying there for an hour.
pub(super) fn remove_if_old(path: &Path) {
    const OLD: Duration = Duration::from_hours(1);
    let changed = fs::symlink_metadata(path).and_then(|about| about.modified());
    if changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD)) {
        let _ = remove(path);
    }
}
