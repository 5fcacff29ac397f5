//! Runs jobs in this process, one after the other: for tests of the engine itself.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Executor, Submission, Urgency};
use crate::engine::cache::{Cache, Check};
use crate::engine::job::{Conditions, Job, JobEvent, JobOutcome};
use crate::engine::plan::StageIndex;
use crate::engine::stage::StageSet;

/// An executor without processes.
pub struct Inline<S> {
    cache: PathBuf,
    events: VecDeque<(StageIndex, JobEvent)>,
    stop: Arc<AtomicBool>,
    runs: PhantomData<S>,
}

impl<S> Inline<S> {
    /// Works on a cache folder.
    pub fn new(cache: PathBuf) -> Self {
        Self { cache, events: VecDeque::new(), stop: Arc::default(), runs: PhantomData }
    }
}

impl<S: StageSet> Executor for Inline<S> {
    fn submit(&mut self, submission: Submission) {
        let conditions = Conditions {
            threads: submission.threads,
            longest_wait: None,
            log: None,
            scratch: None,
            stop: Arc::clone(&self.stop),
            emit: Box::new(|_| {}),
        };
        // Through JSON and back, as a child process would read it.
        let job =
            serde_json::to_vec(&submission.job).and_then(|text| serde_json::from_slice(&text));
        let outcome = match (Cache::open(&self.cache, Check::Small), job) {
            (Ok(cache), Ok(job)) => Job::perform::<S>(job, &cache, conditions),
            (Err(error), _) => JobOutcome::Failed { message: error.to_string(), permanent: true },
            (_, Err(error)) => JobOutcome::Failed { message: error.to_string(), permanent: true },
        };
        self.events.push_back((submission.stage, JobEvent::Ended(outcome)));
    }

    fn next(&mut self, _patience: Duration) -> Option<(StageIndex, JobEvent)> {
        self.events.pop_front()
    }

    fn stop(&mut self, _urgency: Urgency) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
