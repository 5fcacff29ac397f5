//! The record of one call of sbatch: which stages its tasks compute.
//!
//! It is written into the cache before the job is submitted, and its number right after. So a runner
//! that comes later finds jobs whose own runner is gone, also one that died between the two.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::controller::TaskId;
use crate::engine::digest::StageKey;
use crate::engine::system::host;

/// One call of sbatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The run that made it.
    pub run: String,
    /// Its number within that run.
    pub number: usize,
    /// The pipeline.
    pub pipeline: String,
    /// The site whose cluster has it.
    pub site: String,
    /// The user who has submitted it.
    pub user: u32,
    /// The number of the Slurm job, once it is known.
    pub job: Option<String>,
    /// The job's name.
    pub name: String,
    /// The stages of each task, in the order they are run.
    pub tasks: Vec<Vec<BatchStage>>,
    /// Threads of a stage.
    pub threads: usize,
    /// The folder for temporary files of stages on a node, with environment variables in it; in the cache if
    /// there is none.
    pub scratch: Option<String>,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// Seconds that its tasks may take.
    pub time: u64,
    /// Bytes of memory that its tasks may take.
    pub memory: u64,
}

/// One stage of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchStage {
    /// Its name.
    pub stage: String,
    /// Its kind.
    pub kind: String,
    /// Its key.
    pub key: StageKey,
    /// The job file in the cache.
    pub job: PathBuf,
    /// Where its log goes.
    pub log: PathBuf,
    /// Seconds after which it is stopped.
    pub timeout: Option<u64>,
}

impl Batch {
    /// The ending of a record's file name.
    pub const SUFFIX: &'static str = "batch";

    /// Returns whether the queue of a site knows about it when this user asks.
    pub fn is_of(&self, site: &str) -> bool {
        self.site == site && self.user == host::user()
    }

    /// Returns its tasks with their stages, once it has a number.
    pub fn numbered_tasks(&self) -> impl Iterator<Item = (TaskId, &[BatchStage])> {
        let tasks = self.tasks.iter().enumerate();
        tasks.filter_map(|(task, stages)| {
            Some((TaskId::of(self.job.as_ref()?, task, self.tasks.len()), &stages[..]))
        })
    }

    /// Returns where it is kept.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.{}.{}", self.run, self.number, Self::SUFFIX))
    }

    /// Returns where the result of one of its stages is told.
    pub fn result_path(&self, stage: &BatchStage) -> PathBuf {
        stage.job.with_extension(format!("{}.result", self.number))
    }

    /// Writes it, in place of what was there.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let path = self.path(folder);
        let temporary = path.with_extension("tmp");
        fs::write(&temporary, serde_json::to_vec(self)?)?;
        fs::File::open(&temporary)?.sync_all()?;
        fs::rename(&temporary, path)
    }

    /// Reads one.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Reads all that are in a folder.
    pub fn all(folder: &Path) -> Vec<Self> {
        let Ok(items) = fs::read_dir(folder) else {
            return Vec::new();
        };
        let paths = items.flatten().map(|item| item.path());
        let is_record = |path: &PathBuf| path.extension().is_some_and(|e| e == Self::SUFFIX);
        let mut found: Vec<Self> =
            paths.filter(is_record).filter_map(|path| Self::read(&path)).collect();
        found.sort_by(|one, other| (&one.run, one.number).cmp(&(&other.run, other.number)));
        found
    }

    /// Removes the record and whatever is left of its stages.
    pub fn remove(&self, folder: &Path) {
        for stage in self.tasks.iter().flatten() {
            self.remove_stage(stage);
        }
        let _ = fs::remove_file(self.path(folder));
    }

    /// Removes what is left of one stage.
    pub fn remove_stage(&self, stage: &BatchStage) {
        let _ = fs::remove_file(self.result_path(stage));
        let _ = fs::remove_file(stage.job.with_extension("progress"));
        let _ = fs::remove_file(&stage.job);
    }
}
