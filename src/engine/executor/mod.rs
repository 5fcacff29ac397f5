//! Executors start jobs and tell how they go.
//!
//! The scheduler decides what runs; an executor only carries it out. [`Local`] starts a child
//! process of this program for each job, [`slurm::Slurm`] submits jobs to a cluster, whose nodes do the
//! same there.

mod exit_status;
mod inline;
mod local;
pub mod slurm;

use std::path::PathBuf;
use std::time::Duration;

use crate::engine::job::{Job, JobEvent};
use crate::engine::plan::StageIndex;
use crate::engine::stage::Needs;

pub use inline::Inline;
pub use local::Local;

/// A job to be started.
#[derive(Debug)]
pub struct Submission {
    /// The stage it is for.
    pub stage: StageIndex,
    /// The stage's kind.
    pub kind: String,
    /// What the stage needs most.
    pub needs: Needs,
    /// The name of the run.
    pub run: String,
    /// What to do.
    pub job: Job,
    /// Where the job file goes.
    pub job_path: PathBuf,
    /// Where what the stage prints goes once it has claimed its key.
    pub log_path: PathBuf,
    /// Threads it may use.
    pub threads: usize,
    /// When to stop it.
    pub timeout: Option<Duration>,
}

/// How firmly running jobs are asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Save state, then stop.
    Soon,
    /// At once.
    Now,
}

/// Starts jobs and waits for them.
pub trait Executor {
    /// Starts a job.
    fn submit(&mut self, submission: Submission);

    /// Returns the next event of a job, waiting for it no longer than `patience`.
    fn next(&mut self, patience: Duration) -> Option<(StageIndex, JobEvent)>;

    /// Asks all running jobs to end.
    fn stop(&mut self, urgency: Urgency);

    /// Starts nothing more: jobs that have not begun end as stopped.
    fn drain(&mut self) {}

    /// Returns whether jobs wait in a queue elsewhere before they begin.
    fn is_remote(&self) -> bool {
        false
    }
}

/// Starts nothing: for a run that only looks for results.
#[derive(Clone, Copy, Debug)]
pub struct NoExecutor;

impl Executor for NoExecutor {
    fn submit(&mut self, _submission: Submission) {}

    fn next(&mut self, _patience: Duration) -> Option<(StageIndex, JobEvent)> {
        None
    }

    fn stop(&mut self, _urgency: Urgency) {}
}
