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
            report: Box::new(|_| {}),
        };
        let ending = match Cache::open(&self.cache, Check::Small) {
            Ok(cache) => order.job.perform::<S>(&cache, conditions),
            Err(error) => Ending::Failed { message: error.to_string(), lasting: true },
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
