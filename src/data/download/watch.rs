//! The caller's side of a transfer: its wish to stop, its progress bar, its log.
//!
//! Everything that waits does so here, in slices short enough that a wish to stop is noticed.

use std::thread;
use std::time::{Duration, Instant};

use super::DownloadError;

/// Longest time between two looks at the caller's wish to stop.
pub(super) const SLICE: Duration = Duration::from_millis(100);

/// How far the transfer of one file has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes that are here.
    pub done: u64,
    /// Bytes that there are; of the packed file while a packed file is fetched.
    pub total: u64,
    /// What is going on, such as the host that is asked.
    pub note: String,
}

/// Passes on what happens, not more often than a person can see.
pub(super) struct Watch<'a> {
    stop: &'a dyn Fn() -> bool,
    progress: &'a mut dyn FnMut(Transfer),
    log: &'a dyn Fn(&str),
    reported: Option<Instant>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        stop: &'a dyn Fn() -> bool,
        progress: &'a mut dyn FnMut(Transfer),
        log: &'a dyn Fn(&str),
    ) -> Self {
        Self { stop, progress, log, reported: None }
    }

    /// Fails once the caller wishes to stop.
    pub(super) fn check(&self) -> Result<(), DownloadError> {
        if (self.stop)() { Err(DownloadError::Stopped) } else { Ok(()) }
    }

    /// Writes a line into the caller's log.
    pub(super) fn log(&self, line: &str) {
        (self.log)(line);
    }

    /// Shows how far the transfer has come; the last byte is always shown.
    pub(super) fn report(&mut self, done: u64, total: u64, note: &str) {
        if done == total || self.reported.is_none_or(|last| last.elapsed() >= SLICE) {
            self.show(done, total, note);
        }
    }

    /// Shows at once what is going on now.
    pub(super) fn show(&mut self, done: u64, total: u64, note: &str) {
        self.reported = Some(Instant::now());
        (self.progress)(Transfer { done, total, note: note.to_owned() });
    }

    /// Sleeps, unless the caller wishes to stop.
    pub(super) fn pause(&self, duration: Duration) -> Result<(), DownloadError> {
        let end = Instant::now() + duration;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(SLICE));
        }
    }
}
