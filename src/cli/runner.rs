//! Runs chosen stages of a pipeline, and shows their progress.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::args::{Common, OnError, RunnerArgs};
use crate::cli::error::CommandError;
use crate::cli::output::progress::Display;
use crate::cli::output::terminal;
use crate::cli::preflight::{self, Checked};
use crate::cli::workspace::{Workspace, device_jobs, hold, reached_by};
use crate::device;
use crate::engine::executor::Local;
use crate::engine::plan::StageIndex;
use crate::engine::plan::select::Selection;
use crate::engine::run::events::Event;
use crate::engine::run::options::{self, RunOptions, RunReport};
use crate::engine::run::scheduler::Scheduler;
use crate::engine::run::status::StageStatus;
use crate::engine::system::host;
use crate::engine::system::process::{adopt_orphans, this_program};

/// Runs stages with the options of the command line.
pub(crate) struct Runner<'a> {
    common: &'a Common,
    args: &'a RunnerArgs,
    options: RunOptions,
    /// Counted from the first run on; before, an interrupt ends the program.
    interrupts: OnceCell<Arc<AtomicUsize>>,
}

impl<'a> Runner<'a> {
    /// Checks the device.
    pub(crate) fn new(
        common: &'a Common,
        args: &'a RunnerArgs,
        backend: &str,
    ) -> Result<Self, CommandError> {
        device::probe(common.device).map_err(CommandError::usage)?;
        let options = run_options(common, args, backend);
        Ok(Self { common, args, options, interrupts: OnceCell::new() })
    }

    /// Runs those of the chosen stages that are not cached, after the preflight checks.
    pub(crate) fn run(
        &self,
        workspace: &Workspace,
        selection: &Selection,
    ) -> Result<RunReport, CommandError> {
        let began = Instant::now();
        // Nothing that is found now may be deleted until the run is over.
        let _in_use = hold(&workspace.cache)?;
        workspace.cache.remove_leftovers();
        let Checked { statuses, prediction } =
            preflight::check(self.common, self.args, workspace, selection, &self.options)?;
        let is_cached = |stage: &StageIndex| matches!(statuses[*stage], StageStatus::Cached(_));
        let has_work = !selection.allowed.iter().all(is_cached) || !selection.forced.is_empty();
        if has_work && let Some(cause) = workspace.cache.unwritable() {
            let error = CommandError::failed(format!("nothing can be added to the cache: {cause}"));
            return Err(error.hint("choose another with `--cache DIR`"));
        }
        workspace.cache.remember_pipeline(workspace.source.path())?;
        if self.interrupts.get().is_none() {
            let _ = self.interrupts.set(count_interrupts()?);
        }
        let interrupts = || self.interrupts.get().map_or(0, |count| count.load(Ordering::Relaxed));
        let program = this_program().map_err(CommandError::failed)?;
        let arguments = child_arguments(self.common, self.args);
        let mut executor = Local::new(program, arguments, adopt_orphans());
        let stages = workspace.plan.stages();
        let predicted = prediction.stages.iter();
        let predicted = predicted.map(|(&stage, &seconds)| (stages[stage].name.clone(), seconds));
        let mut display =
            Display::new(self.common.json, selection.allowed.len(), predicted.collect());
        let mut emit = |event: Event| display.show(&event);
        let (plan, cache) = (&workspace.plan, &workspace.cache);
        let scheduler = Scheduler::new(plan, cache, &self.options, selection, statuses, &mut emit);
        let mut report = scheduler.run(&mut executor, &interrupts)?;
        let reached = report.results.values().map(|result| result.key).collect();
        cache.remember_reached(&reached_by(self.common, workspace), &reached)?;
        display.finish();
        report.seconds = began.elapsed().as_secs_f64();
        Ok(report)
    }
}

fn run_options(common: &Common, args: &RunnerArgs, backend: &str) -> RunOptions {
    let cores = host::cores();
    RunOptions {
        jobs: common.jobs.unwrap_or(cores),
        device_jobs: args.device_jobs.unwrap_or_else(|| device_jobs(common.device)),
        cores,
        device: common.device.to_string(),
        backend: backend.to_owned(),
        offline: common.offline,
        on_error: match args.on_error {
            _ if args.keep_going => options::OnError::Continue,
            OnError::Finish => options::OnError::Finish,
            OnError::Stop => options::OnError::Stop,
            OnError::Continue => options::OnError::Continue,
        },
        timeout: args.timeout.map(Duration::from_secs),
        retries: args.retries,
    }
}

fn child_arguments(common: &Common, args: &RunnerArgs) -> Vec<String> {
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
fn count_interrupts() -> Result<Arc<AtomicUsize>, CommandError> {
    let count = Arc::new(AtomicUsize::new(0));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CommandError::failed)?;
    let counter = Arc::clone(&count);
    thread::spawn(move || {
        for _ in signals.forever() {
            if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                terminal::note(
                    "stopping: running stages save their state (press Ctrl-C again to stop at once)",
                );
            }
        }
    });
    Ok(count)
}
