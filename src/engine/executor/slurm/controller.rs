//! What a scheduler is asked, and what it may answer.
//!
//! The executor knows nothing but this, so that it can be tested against a scheduler that lags, loses
//! answers or lies.

use serde::Serialize;

use super::request::Request;
use super::state::JobState;

/// A job or one task of an array, as Slurm writes it: `17` or `17_3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TaskId(pub String);

impl TaskId {
    /// Returns the name of a task of a job; a job without an array has one task.
    pub fn of(job: &str, task: usize, tasks: usize) -> Self {
        Self(if tasks > 1 { format!("{job}_{task}") } else { job.to_owned() })
    }
}

/// What a scheduler says of a task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskStatus {
    /// The task.
    pub id: TaskId,
    /// The name of its job.
    pub name: String,
    /// Its state.
    pub state: JobState,
    /// Why it waits, or why it ended.
    pub reason: String,
    /// The node it ran on, if it did.
    pub node: String,
    /// When it is expected to start, or will have reached its time limit, as Slurm writes it.
    pub expected: String,
}

/// Why a job was not submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// Not now: the scheduler is busy or a limit on the number of jobs is reached.
    Later(String),
    /// Nobody knows: the job may have been accepted.
    Unknown(String),
    /// Never: the request itself is refused.
    Refused(String),
}

/// A question that got no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer(pub String);

/// A scheduler of batch jobs.
pub trait Controller {
    /// Submits a job; returns its number.
    fn submit(&mut self, request: &Request) -> Result<String, SubmitError>;

    /// Returns this user's tasks in the queue and those that have just left it.
    fn queue(&mut self) -> Result<Vec<TaskStatus>, NoAnswer>;

    /// Asks the accounting for tasks that are not in the queue any more; what it does not know is left
    /// out.
    fn accounting(&mut self, tasks: &[TaskId]) -> Result<Vec<TaskStatus>, NoAnswer>;

    /// Asks tasks to end: they get time to save their state.
    fn cancel(&mut self, tasks: &[TaskId]) -> Result<(), NoAnswer>;
}
