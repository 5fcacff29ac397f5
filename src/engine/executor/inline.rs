//! Runs jobs in this process, one after the other: for tests of the engine itself.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Executor, Order, Update, Urgency};
use crate::engine::cache::{Cache, Check};
use crate::engine::job::{Conditions, Ending};
use crate::engine::stage::StageSet;

/// An executor without processes.
pub struct Inline<S> {
    cache: PathBuf,
    updates: VecDeque<Update>,
    stop: Arc<AtomicBool>,
    runs: PhantomData<S>,
}

impl<S> Inline<S> {
    /// Works on a cache folder.
    pub fn new(cache: PathBuf) -> Self {
        Self { cache, updates: VecDeque::new(), stop: Arc::default(), runs: PhantomData }
    }
}

impl<S: StageSet> Executor for Inline<S> {
    fn submit(&mut self, order: Order) {
        let conditions = Conditions {
            threads: order.threads,
            longest_wait: None,
            log: None,
            stop: Arc::clone(&self.stop),
            tell: Box::new(|_| {}),
        };
        // Through JSON and back, as a child process would read it.
        let job = serde_json::to_vec(&order.job).and_then(|text| serde_json::from_slice(&text));
        let ending = match (Cache::open(&self.cache, Check::Small), job) {
            (Ok(cache), Ok(job)) => crate::engine::job::Job::perform::<S>(job, &cache, conditions),
            (Err(error), _) => Ending::Failed { message: error.to_string(), lasting: true },
            (_, Err(error)) => Ending::Failed { message: error.to_string(), lasting: true },
        };
        self.updates.push_back(Update::Ended(order.stage, ending));
    }

    fn next(&mut self, _patience: Duration) -> Option<Update> {
        self.updates.pop_front()
    }

    fn stop(&mut self, _urgency: Urgency) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
