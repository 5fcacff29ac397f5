//! Runs chosen stages of a pipeline, once or several times in a row, and shows them while they run.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::{Common, MannerArgs, OnError};
use super::failure::{BUSY, Failure, INTERRUPTED, STAGE_FAILED};
use super::outlook;
use super::progress::Display;
use super::session::{Session, device_jobs};
use super::terminal;
use crate::device;
use crate::engine::events::Event;
use crate::engine::executor::Local;
use crate::engine::host;
use crate::engine::run::{self, Manner, RunReport};
use crate::engine::schedule::Scheduler;
use crate::engine::select::Selection;
use crate::engine::supervise::this_program;

/// What stages are run with.
pub(super) struct Runner<'a> {
    common: &'a Common,
    args: &'a MannerArgs,
    manner: Manner,
    /// Counted from the first run on; before, an interrupt ends the program.
    interrupts: OnceCell<Arc<AtomicUsize>>,
}

impl<'a> Runner<'a> {
    /// Checks the device.
    pub(super) fn new(
        common: &'a Common,
        args: &'a MannerArgs,
        backend: &str,
    ) -> Result<Self, Failure> {
        device::probe(common.device).map_err(Failure::usage)?;
        let manner = manner(common, args, backend);
        Ok(Self { common, args, manner, interrupts: OnceCell::new() })
    }

    /// Runs what of the chosen stages is not cached, after telling what lies ahead.
    pub(super) fn run(
        &self,
        session: &Session,
        selection: &Selection,
    ) -> Result<RunReport, Failure> {
        let began = Instant::now();
        // Nothing that is seen now may be collected until the run is over.
        let _in_use = session.cache.hold()?;
        let standings =
            outlook::before_run(self.common, self.args, session, selection, &self.manner)?;
        let path = session.source.path();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        session.cache.remember_pipeline(&path)?;
        if self.interrupts.get().is_none() {
            let _ = self.interrupts.set(count_interrupts()?);
        }
        let asked = || self.interrupts.get().map_or(0, |count| count.load(Ordering::Relaxed));
        let program = this_program().map_err(Failure::stage)?;
        let mut executor = Local::new(program, child_arguments(self.common, self.args));
        let mut display = Display::new(self.common.json, selection.allowed.len());
        let mut emit = |event: Event| display.show(&event);
        let (plan, cache) = (&session.plan, &session.cache);
        let scheduler = Scheduler::new(plan, cache, &self.manner, selection, standings, &mut emit);
        let mut report = scheduler.run(&mut executor, &asked)?;
        display.finish();
        report.seconds = began.elapsed().as_secs_f64();
        Ok(report)
    }
}

/// Returns the exit code of a run.
pub(super) fn code(report: &RunReport) -> u8 {
    if report.interrupted {
        INTERRUPTED
    } else if report.failed.is_empty() {
        0
    } else if report.busy == report.failed.len() {
        BUSY
    } else {
        STAGE_FAILED
    }
}

fn manner(common: &Common, args: &MannerArgs, backend: &str) -> Manner {
    let cores = host::cores();
    Manner {
        jobs: common.jobs.unwrap_or(cores),
        device_jobs: args.device_jobs.unwrap_or_else(|| device_jobs(common.device)),
        cores,
        device: common.device.to_string(),
        backend: backend.to_owned(),
        offline: common.offline,
        on_error: match args.on_error {
            _ if args.keep_going => run::OnError::Continue,
            OnError::Finish => run::OnError::Finish,
            OnError::Stop => run::OnError::Stop,
            OnError::Continue => run::OnError::Continue,
        },
        timeout: args.timeout.map(Duration::from_secs),
        retries: args.retries,
    }
}

fn child_arguments(common: &Common, args: &MannerArgs) -> Vec<String> {
    let cache = std::path::absolute(&common.cache).unwrap_or_else(|_| common.cache.clone());
    let mut arguments =
        vec!["--cache".to_owned(), cache.to_string_lossy().into_owned(), "stage".to_owned()];
    if common.verify {
        arguments.push("--verify".to_owned());
    }
    if let Some(seconds) = args.lock_timeout {
        arguments.extend(["--lock-timeout".to_owned(), seconds.to_string()]);
    }
    arguments
}

/// Counts Ctrl-C and termination requests instead of dying of them.
fn count_interrupts() -> Result<Arc<AtomicUsize>, Failure> {
    let count = Arc::new(AtomicUsize::new(0));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::stage)?;
    let counter = Arc::clone(&count);
    thread::spawn(move || {
        for _ in signals.forever() {
            if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                terminal::note("stopping: running stages save their state (again: at once)");
            }
        }
    });
    Ok(count)
}
