//! `pcae-run worker`: what a node of a cluster runs: the stages of one task.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use crate::cli::args::{Common, WorkerArgs};
use crate::cli::error::CommandError;
use crate::engine::executor::Local;
use crate::engine::executor::slurm::{Asked, Batch, Worker};
use crate::engine::site::variables;
use crate::engine::system::process::{adopt_orphans, this_program};

/// Runs the stages of a task; how each of them ended stands in a file of its own.
pub(super) fn worker(common: &Common, args: &WorkerArgs) -> Result<ExitCode, CommandError> {
    let (limit, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let signals = [(SIGUSR1, &limit), (SIGTERM, &end), (SIGINT, &end), (SIGHUP, &end)];
    for (signal, flag) in signals {
        signal_hook::flag::register(signal, Arc::clone(flag)).map_err(CommandError::failed)?;
    }
    let batch = Batch::read(&args.batch).ok_or_else(|| {
        let path = args.batch.display();
        CommandError::failed(format!("{path} can't be read here: is the cache folder shared?"))
    })?;
    let asked = || {
        if limit.load(Ordering::Relaxed) {
            Some(Asked::TimeLimit)
        } else {
            end.load(Ordering::Relaxed).then_some(Asked::Termination)
        }
    };
    let program = this_program().map_err(CommandError::failed)?;
    let scratch = scratch(&batch)?;
    let mut arguments = vec!["--cache".to_owned(), common.cache.to_string_lossy().into_owned()];
    arguments.extend(["stage", "--on-node"].map(str::to_owned));
    if let Some(folder) = &scratch {
        arguments.extend(["--scratch".to_owned(), folder.to_string_lossy().into_owned()]);
    }
    let mut executor = Local::new(program, arguments, adopt_orphans());
    let restarts = variable("SLURM_RESTART_COUNT").and_then(|text| text.parse().ok());
    let worker =
        Worker { batch: &batch, job: job(), restarts: restarts.unwrap_or(0), asked: &asked };
    let done = worker.run(args.task, &mut executor).map_err(CommandError::failed);
    if let Some(folder) = scratch {
        let _ = fs::remove_dir_all(folder);
    }
    done.map(|()| ExitCode::SUCCESS)
}

/// Makes a folder of this task's own for temporary files.
fn scratch(batch: &Batch) -> Result<Option<PathBuf>, CommandError> {
    let Some(text) = &batch.scratch else {
        return Ok(None);
    };
    let folder = variables::expand(text).map_err(CommandError::failed)?;
    let name =
        format!("{}-{}", batch.name, job().unwrap_or_else(|| std::process::id().to_string()));
    let folder = folder.join(name);
    fs::create_dir_all(&folder).map_err(|cause| {
        let folder = folder.display();
        CommandError::failed(format!("the scratch folder {folder} can't be made: {cause}"))
    })?;
    Ok(Some(folder))
}

/// Returns what Slurm calls this task.
fn job() -> Option<String> {
    let array = variable("SLURM_ARRAY_JOB_ID").zip(variable("SLURM_ARRAY_TASK_ID"));
    array.map(|(job, task)| format!("{job}_{task}")).or_else(|| variable("SLURM_JOB_ID"))
}

fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "where it runs, never an input of a stage")]
    env::var(name).ok()
}
