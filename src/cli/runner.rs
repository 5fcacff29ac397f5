//! Runs chosen stages of a pipeline, and shows their progress.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::cli::args::{Common, OnError, RunnerArgs};
use crate::cli::cluster;
use crate::cli::curves;
use crate::cli::error::CommandError;
use crate::cli::output::progress::Display;
use crate::cli::output::terminal;
use crate::cli::preflight::{self, Checked};
use crate::cli::remote;
use crate::cli::workspace::{Workspace, device_jobs, hold, reached_by};
use crate::device;
use crate::engine::executor::{Executor, Local};
use crate::engine::plan::StageIndex;
use crate::engine::plan::select::Selection;
use crate::engine::remote::Remote;
use crate::engine::run::events::Event;
use crate::engine::run::options::{self, RunOptions, RunReport};
use crate::engine::run::scheduler::Scheduler;
use crate::engine::run::sharing::Sharing;
use crate::engine::run::status::StageStatus;
use crate::engine::site::ExecutorKind;
use crate::engine::system::host;
use crate::engine::system::process::{adopt_orphans, this_program};

/// How often a run tells how many results are still to be uploaded.
const UPLOAD_INTERVAL: Duration = Duration::from_secs(5);

/// Runs stages with the options of the command line.
pub(crate) struct Runner<'a> {
    common: &'a Common,
    args: &'a RunnerArgs,
    options: RunOptions,
    executor: ExecutorKind,
    /// Counted from the first run on; before, an interrupt ends the program.
    interrupts: OnceCell<Arc<Interrupts>>,
    remote: OnceCell<Option<Arc<Remote>>>,
}

/// How often the user asked to stop, and what is to become of jobs on a cluster.
#[derive(Debug, Default)]
struct Interrupts {
    count: AtomicUsize,
    /// They go on without this run.
    leave: Arc<AtomicBool>,
    /// This run is a job itself, whose time limit is near.
    is_near_limit: AtomicBool,
}

impl<'a> Runner<'a> {
    /// Checks the devices.
    pub(crate) fn new(
        common: &'a Common,
        args: &'a RunnerArgs,
        backend: &str,
    ) -> Result<Self, CommandError> {
        let executor = executor_kind(common, args);
        let mut options = run_options(common, args, backend);
        // Elsewhere, stages run on devices that this machine need not have.
        if executor == ExecutorKind::Local {
            let devices = common.device.devices().map_err(CommandError::usage)?;
            // Of several, those that do not work are left out when it turns out.
            if let [only] = devices[..] {
                device::probe(only).map_err(CommandError::usage)?;
            }
            options.devices = devices.iter().map(ToString::to_string).collect();
        }
        if executor == ExecutorKind::Slurm {
            if !common.device.indices().is_empty() {
                let kind = common.device.kind();
                return Err(CommandError::usage(format!(
                    "`--device {}` has numbers",
                    common.device
                ))
                .hint(format!("a job sees only the GPUs that it asked for: `--device {kind}`")));
            }
            let jobs = common.jobs.unwrap_or(cluster::MOST_STAGES);
            (options.jobs, options.device_jobs) = (jobs, args.device_jobs.unwrap_or(jobs));
        }
        let (interrupts, remote) = (OnceCell::new(), OnceCell::new());
        Ok(Self { common, args, options, executor, interrupts, remote })
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
        let mut sharing = self.sharing(workspace)?;
        let fetched = self.look(workspace, selection, sharing.as_mut())?;
        let Checked { statuses, prediction } =
            preflight::check(self.common, self.args, workspace, selection, &self.options)?;
        let is_cached = |stage: &StageIndex| matches!(statuses[*stage], StageStatus::Cached(_));
        let has_work = !selection.allowed.iter().all(is_cached) || !selection.forced.is_empty();
        if has_work && let Some(cause) = workspace.cache.unwritable() {
            let error = CommandError::failed(format!("nothing can be added to the cache: {cause}"));
            return Err(error.hint("choose another with `--cache DIR`"));
        }
        workspace.cache.remember_pipeline(workspace.source.path())?;
        let interrupts = self.interrupts()?;
        let stages = workspace.plan.stages();
        let predicted = prediction.stages.iter();
        let predicted = predicted.map(|(&stage, &seconds)| (stages[stage].name.clone(), seconds));
        let mut display =
            Display::new(self.common.json, selection.allowed.len(), predicted.collect());
        let mut emit = |event: Event| display.show(&event);
        let (plan, cache) = (&workspace.plan, &workspace.cache);
        let scheduler = Scheduler::new(plan, cache, &self.options, selection, statuses, &mut emit);
        let scheduler = scheduler.sharing(sharing.as_mut());
        let run = |executor: &mut dyn Executor| {
            scheduler.run(executor, &|| interrupts.count.load(Ordering::Relaxed))
        };
        let mut used = None;
        let ended = match self.executor {
            ExecutorKind::Local => {
                let program = this_program().map_err(CommandError::failed)?;
                let arguments = child_arguments(self.common, self.args);
                run(&mut Local::new(program, arguments, adopt_orphans()))
            }
            ExecutorKind::Slurm => {
                let (predicted, leave) = (&prediction.stages, Arc::clone(&interrupts.leave));
                let mut slurm = cluster::executor(self.common, workspace, predicted, leave)?;
                let ended = run(&mut slurm);
                slurm.finish();
                used = Some((slurm.efficiency().clone(), slurm.controller().calls()));
                ended
            }
        };
        display.finish();
        if let Some(sharing) = sharing {
            self.finish_uploads(sharing, &interrupts);
        }
        let mut report = ended?;
        if let Some(folder) = &self.options.curves
            && let Err(error) = curves::write_missing(workspace, &report, folder)
        {
            terminal::warning(&error);
        }
        let reached = report.results.values().map(|result| result.key).collect();
        cache.remember_reached(&reached_by(self.common, workspace), &reached)?;
        report.fetched += fetched;
        if let Some((efficiency, calls)) = used {
            cluster::print_efficiency(self.common, &efficiency, calls);
        }
        report.seconds = began.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Opens the remote cache for a run that can add to its own.
    fn sharing(&self, workspace: &Workspace) -> Result<Option<Sharing>, CommandError> {
        let Workspace { cache, .. } = workspace;
        let uploads = self.args.upload || self.common.site.upload;
        let Some(remote) = self.remote()? else {
            if self.args.upload {
                return Err(remote::none());
            }
            return Ok(None);
        };
        if !cache.is_writable() {
            return Ok(None);
        }
        if uploads {
            remote::note_missing_key(self.common)?;
        }
        match Sharing::new(remote, cache.importer(), uploads) {
            Ok(sharing) => Ok(Some(sharing)),
            Err(cause) => {
                terminal::note(&format!("note: the remote cache is not used: {cause}"));
                Ok(None)
            }
        }
    }

    /// Returns the remote cache, which is opened once: what was found out about it is kept.
    fn remote(&self) -> Result<Option<Arc<Remote>>, CommandError> {
        if let Some(known) = self.remote.get() {
            return Ok(known.clone());
        }
        let opened = remote::open(self.common, &self.args.remote)?;
        Ok(self.remote.get_or_init(|| opened).clone())
    }

    /// Takes what the remote cache has, so that predictions are only about the rest; returns how many
    /// results came. An interrupt ends the program here: nothing runs yet, and fetches are resumed.
    fn look(
        &self,
        workspace: &Workspace,
        selection: &Selection,
        sharing: Option<&mut Sharing>,
    ) -> Result<usize, CommandError> {
        let Some(sharing) = sharing else {
            return Ok(0);
        };
        let mut display = Display::fetching(self.common.json);
        let never = AtomicUsize::new(0);
        let report = remote::look(workspace, selection, sharing, &never, &mut |event| {
            display.show(&event);
        })?;
        display.finish();
        Ok(report.fetched)
    }

    /// Waits until new results are uploaded, or until there is no more time for it.
    fn finish_uploads(&self, sharing: Sharing, interrupts: &Interrupts) {
        let before = interrupts.count.load(Ordering::Relaxed);
        let mut told = Instant::now();
        let (count, notes) = sharing.finish(&mut |left| {
            if told.elapsed() >= UPLOAD_INTERVAL {
                told = Instant::now();
                terminal::note(&format!("uploading: {} left", terminal::count(left, "result")));
            }
            let is_asked_again = interrupts.count.load(Ordering::Relaxed) != before;
            let is_leaving = interrupts.leave.load(Ordering::Relaxed);
            !(is_asked_again || is_leaving || interrupts.is_near_limit.load(Ordering::Relaxed))
        });
        for message in notes {
            self.say(message);
        }
        if count.stored > 0 {
            let results = terminal::count(count.stored, "result");
            self.say(format!("uploaded {results} ({})", terminal::size(count.bytes)));
        }
        if count.failed > 0 {
            let results = terminal::count(count.failed, "result");
            self.say(format!("not uploaded: {results} (`pcae-run cache push` sends them later)"));
        }
    }

    fn say(&self, message: String) {
        if self.common.json {
            terminal::json(&Event::Note { message });
        } else {
            terminal::note(&format!("note: {message}"));
        }
    }

    /// Returns whether this run is a job whose time limit is near.
    pub(crate) fn is_near_limit(&self) -> bool {
        let interrupts = self.interrupts.get();
        interrupts.is_some_and(|known| known.is_near_limit.load(Ordering::Relaxed))
    }

    fn interrupts(&self) -> Result<Arc<Interrupts>, CommandError> {
        if let Some(known) = self.interrupts.get() {
            return Ok(Arc::clone(known));
        }
        let interrupts = match self.executor {
            ExecutorKind::Local => count_interrupts(
                &[SIGINT, SIGTERM, SIGHUP],
                &[],
                "stopping: running stages save their state (press Ctrl-C again to stop at once)",
            ),
            ExecutorKind::Slurm => count_interrupts(
                &[SIGINT],
                &[SIGTERM, SIGHUP, SIGUSR1],
                "stopping: jobs are cancelled and save their state (press Ctrl-C again to leave at once)",
            ),
        }?;
        let _ = self.interrupts.set(Arc::clone(&interrupts));
        Ok(interrupts)
    }
}

/// Returns where stages run.
pub(crate) fn executor_kind(common: &Common, args: &RunnerArgs) -> ExecutorKind {
    args.executor.unwrap_or(common.site.executor)
}

fn run_options(common: &Common, args: &RunnerArgs, backend: &str) -> RunOptions {
    let cores = host::cores();
    RunOptions {
        jobs: common.jobs.unwrap_or(cores),
        device_jobs: args.device_jobs.unwrap_or_else(|| device_jobs(&common.device)),
        cores,
        devices: vec![common.device.first().to_string()],
        curves: args
            .tensorboard
            .as_ref()
            .map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone())),
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
        only_look: false,
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

/// Counts requests to stop instead of dying of them; after one of `leaving`, jobs elsewhere go on.
fn count_interrupts(
    stopping: &[i32],
    leaving: &[i32],
    told: &'static str,
) -> Result<Arc<Interrupts>, CommandError> {
    let interrupts = Arc::new(Interrupts::default());
    let mut signals = Signals::new(stopping.iter().chain(leaving)).map_err(CommandError::failed)?;
    let (counter, leaving) = (Arc::clone(&interrupts), leaving.to_vec());
    thread::spawn(move || {
        for signal in signals.forever() {
            let leaves = leaving.contains(&signal);
            counter.is_near_limit.fetch_or(signal == SIGUSR1, Ordering::Relaxed);
            if leaves {
                counter.leave.store(true, Ordering::Relaxed);
            }
            if counter.count.fetch_add(1, Ordering::Relaxed) == 0 {
                terminal::note(if leaves { "leaving: jobs in the queue go on" } else { told });
            }
        }
    });
    Ok(interrupts)
}
