//! Results on their way, by threads of their own: a run goes on meanwhile.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::Remote;
use super::fetch::Fetched;
use super::send::{Parcel, Sent};
use crate::engine::cache::FileImporter;
use crate::engine::digest::StageKey;

/// Requests at once: most of their time is waiting.
const THREADS: usize = 8;

/// Threads that take work in order and give back what came of it.
#[derive(Debug)]
struct Workers<T, R> {
    work: Option<Sender<T>>,
    results: Receiver<R>,
    stop: Arc<AtomicBool>,
}

impl<T: Send + 'static, R: Send + 'static> Workers<T, R> {
    /// Starts threads; `failed` is what comes of work that panicked.
    fn start(
        act: impl Fn(&T, &AtomicBool) -> R + Send + Sync + 'static,
        failed: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (work, waiting) = mpsc::channel::<T>();
        let (sender, results) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (waiting, act) = (Arc::new(Mutex::new(waiting)), Arc::new((act, failed)));
        let worker = || {
            let (waiting, act) = (Arc::clone(&waiting), Arc::clone(&act));
            let (sender, stop) = (sender.clone(), Arc::clone(&stop));
            move || {
                let (act, failed) = &*act;
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
                while let Some(item) = next() {
                    let result = catch_unwind(AssertUnwindSafe(|| act(&item, &stop)));
                    // Nobody may be left to hear of it.
                    let _ = sender.send(result.unwrap_or_else(|_| failed(&item)));
                }
            }
        };
        let mut started = Ok(0);
        for _ in 0..THREADS {
            match thread::Builder::new().spawn(worker()) {
                Ok(_) => started = started.map(|count| count + 1),
                // Where users may have few threads, a few do.
                Err(cause) => {
                    if matches!(started, Ok(0)) {
                        started = Err(cause);
                    }
                    break;
                }
            }
        }
        started.map(|_| Self { work: Some(work), results, stop })
    }

    fn give(&self, item: T) {
        if let Some(work) = &self.work {
            let _ = work.send(item);
        }
    }
}

impl<T, R> Drop for Workers<T, R> {
    /// Lets threads end after what they are at; nobody waits for it.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.work = None;
    }
}

/// Asks a remote for results. What is asked for is named by a number of the caller's.
#[derive(Debug)]
pub struct Fetches {
    remote: Arc<Remote>,
    workers: Workers<(usize, StageKey), (usize, Fetched)>,
    waiting: usize,
}

impl Fetches {
    /// Fetches into a cache.
    pub fn new(remote: Arc<Remote>, importer: FileImporter) -> io::Result<Self> {
        let asked = Arc::clone(&remote);
        let act = move |(name, key): &(usize, StageKey), stop: &AtomicBool| {
            (*name, asked.fetch(key, &importer, stop))
        };
        let failed = |(name, _): &(usize, StageKey)| (*name, Fetched::Absent);
        Ok(Self { remote, workers: Workers::start(act, failed)?, waiting: 0 })
    }

    /// Returns the remote.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Asks for a result.
    pub fn ask(&mut self, name: usize, key: StageKey) {
        self.waiting += 1;
        self.workers.give((name, key));
    }

    /// Returns whether there are answers to come.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Returns the next answer, waiting for it no longer than `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<(usize, Fetched)> {
        let answer = self.workers.results.recv_timeout(patience).ok()?;
        self.waiting -= 1;
        Some(answer)
    }
}

/// How uploads went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UploadCount {
    /// Results that are there now.
    pub stored: usize,
    /// Results that had been there before.
    pub known: usize,
    /// Results that could not be stored.
    pub failed: usize,
    /// Bytes that were transferred.
    pub bytes: u64,
}

/// Sends results to a remote.
#[derive(Debug)]
pub struct Uploads {
    remote: Arc<Remote>,
    workers: Workers<Parcel, Sent>,
    given: usize,
    count: UploadCount,
}

impl Uploads {
    /// Sends to a remote.
    pub fn new(remote: Arc<Remote>) -> io::Result<Self> {
        let target = Arc::clone(&remote);
        let act = move |parcel: &Parcel, stop: &AtomicBool| target.send(parcel, stop);
        let workers = Workers::start(act, |_| Sent::Failed)?;
        Ok(Self { remote, workers, given: 0, count: UploadCount::default() })
    }

    /// Returns the remote.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Sends a result when there is room.
    pub fn send(&mut self, parcel: Parcel) {
        self.given += 1;
        self.workers.give(parcel);
    }

    /// Returns how many results are on their way.
    pub fn waiting(&self) -> usize {
        let UploadCount { stored, known, failed, .. } = self.count;
        self.given - stored - known - failed
    }

    /// Takes note of what has arrived, waiting for one no longer than `patience`; returns how it stands.
    pub fn update(&mut self, patience: Duration) -> UploadCount {
        let mut sent = self.workers.results.recv_timeout(patience).ok();
        while let Some(result) = sent {
            match result {
                Sent::Stored(bytes) => {
                    self.count.stored += 1;
                    self.count.bytes += bytes;
                }
                Sent::Known => self.count.known += 1,
                Sent::Failed => self.count.failed += 1,
            }
            sent = self.workers.results.try_recv().ok();
        }
        self.count
    }
}
