//! Executors start jobs and tell how they go.
//!
//! The scheduler decides what runs; an executor only carries it out. [`Local`] starts a child
//! process of this program for each job. Another executor needs a way to start
//! `pcae-run stage --cache DIR --job FILE` elsewhere and to read the lines it prints.

mod inline;
mod local;
mod triage;

use std::path::PathBuf;
use std::time::Duration;

use super::events::Progress;
use super::job::{Ending, Job};
use super::plan::StageIndex;

pub use inline::Inline;
pub use local::Local;

/// A job to be started.
#[derive(Debug)]
pub struct Order {
    /// The stage it is for.
    pub stage: StageIndex,
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

/// What a running job tells.
#[derive(Debug)]
pub enum Update {
    /// Another process computes its key or uses its trajectory; it waits for that.
    Waits(StageIndex),
    /// How far it is.
    Progress(StageIndex, Progress),
    /// That it ended.
    Ended(StageIndex, Ending),
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
    fn submit(&mut self, order: Order);

    /// Returns the next update, waiting for it no longer than `patience`.
    fn next(&mut self, patience: Duration) -> Option<Update>;

    /// Asks all running jobs to end.
    fn stop(&mut self, urgency: Urgency);
}
