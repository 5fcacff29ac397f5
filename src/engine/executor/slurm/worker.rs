//! What a node does: the stages of one task, one after the other, each in a process of its own.

use std::time::Duration;

use super::batch::{Batch, BatchStage};
use super::result::{Asked, StageResult};
use crate::engine::executor::{Executor, Submission, Urgency};
use crate::engine::job::{Job, JobEvent, JobOutcome};
use crate::engine::stage::Needs;
use crate::engine::stage::context::log_line;
use crate::engine::system::{clock, host};

/// A node's part of a batch.
pub struct Worker<'a> {
    /// The batch.
    pub batch: &'a Batch,
    /// The Slurm job, with the number of its task.
    pub job: Option<String>,
    /// How often Slurm had started the job before.
    pub restarts: u32,
    /// Tells whether stages should save their state and stop, and why.
    pub asked: &'a dyn Fn() -> Option<Asked>,
}

impl Worker<'_> {
    /// Runs the stages of a task, and leaves a result for each that began.
    pub fn run(&self, task: usize, executor: &mut dyn Executor) -> Result<(), String> {
        let stages = self.batch.tasks.get(task);
        let stages = stages.ok_or_else(|| format!("the batch has no task {task}"))?;
        for (number, stage) in stages.iter().enumerate() {
            if (self.asked)().is_some() {
                break;
            }
            let path = self.batch.result_path(stage);
            // Started once more by Slurm: what is done is done.
            if StageResult::read(&path).is_some_and(|result| result.is_final()) {
                continue;
            }
            let began = clock::now();
            log_line(&format!("stage {} ({} of {})", stage.stage, number + 1, stages.len()));
            let outcome = self.stage(number, stage, executor);
            let result = StageResult {
                outcome,
                asked: (self.asked)(),
                began,
                ended: clock::now(),
                node: host::name(),
                job: self.job.clone(),
                restarts: self.restarts,
            };
            result.write(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        }
        Ok(())
    }

    fn stage(&self, number: usize, stage: &BatchStage, executor: &mut dyn Executor) -> JobOutcome {
        const PATIENCE: Duration = Duration::from_millis(100);
        let job = match Job::read(&stage.job) {
            Ok(job) => job,
            Err(message) => return JobOutcome::Failed { message, permanent: false },
        };
        executor.submit(Submission {
            stage: number,
            kind: stage.kind.clone(),
            needs: Needs::Cpu,
            run: self.batch.run.clone(),
            job,
            job_path: stage.job.clone(),
            log_path: stage.log.clone(),
            threads: self.batch.threads,
            timeout: stage.timeout.map(Duration::from_secs),
        });
        let mut has_asked = false;
        loop {
            if !has_asked && (self.asked)().is_some() {
                has_asked = true;
                executor.stop(Urgency::Soon);
            }
            if let Some((_, JobEvent::Ended(outcome))) = executor.next(PATIENCE) {
                return outcome;
            }
        }
    }
}

impl StageResult {
    /// Returns whether another try would change nothing.
    pub(super) const fn is_final(&self) -> bool {
        matches!(self.outcome, JobOutcome::Executed(_) | JobOutcome::Cached(_))
    }
}
