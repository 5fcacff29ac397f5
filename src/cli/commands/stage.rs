//! `pcae-run stage`: performs one job and tells its executor line by line.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::args::{Common, StageArgs};
use crate::cli::error::{CommandError, ErrorKind};
use crate::cli::output::terminal::size;
use crate::cli::workspace::open_cache;
use crate::device::{self, DeviceName};
use crate::engine::cache::{Cache, note_progress};
use crate::engine::job::{Conditions, Job, JobEvent, JobOutcome};
use crate::engine::stage::context::log_line;
use crate::engine::stage::lifecycle::Progress;
use crate::engine::system::process;
use crate::stages::AnyStage;

/// Performs one job; whatever happens, the last line says how it ended.
pub(super) fn stage(common: &Common, args: &StageArgs) -> Result<ExitCode, CommandError> {
    perform(common, args).inspect_err(|error| {
        let message = error.to_string();
        say(&JobEvent::Ended(JobOutcome::Failed { message, permanent: true }));
    })
}

fn perform(common: &Common, args: &StageArgs) -> Result<ExitCode, CommandError> {
    device::record_panics();
    process::adopt_orphans();
    if let Some(parent) = args.die_with {
        process::die_with(parent).map_err(CommandError::failed)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(CommandError::failed)?;
    }
    let cache =
        if args.on_node { Cache::open_on_node(&common.cache)? } else { open_cache(common)? };
    let _in_use = cache.hold(&mut || say(&JobEvent::Waiting))?;
    let job = Job::read(&args.job).map_err(CommandError::failed)?;
    let scratch = args.scratch.as_ref().map(|folder| folder.join(job.key.to_string()));
    if let Some(folder) = &scratch {
        fs::create_dir_all(folder).map_err(|cause| {
            let folder = folder.display();
            CommandError::failed(format!("the scratch folder {folder} can't be made: {cause}"))
        })?;
    }
    let conditions = Conditions {
        scratch: scratch.clone(),
        threads: args.threads,
        longest_wait: args.lock_timeout.map(Duration::from_secs),
        log: match &args.log[..] {
            [so_far, name] => Some((so_far.clone(), name.clone())),
            _ => None,
        },
        stop,
        emit: Box::new(teller(args.job.clone())),
    };
    let device = job.record.backend.as_ref().and_then(|_| job.device.parse::<DeviceName>().ok());
    let outcome = job.perform::<AnyStage>(&cache, conditions);
    // Otherwise nothing may have run on it.
    let has_run = matches!(outcome, JobOutcome::Executed(_) | JobOutcome::Failed { .. });
    if let Some(device) = device.filter(|device| has_run && !device.is_processor())
        && let Some(bytes) = device::reserved_memory(device)
    {
        log_line(&format!("memory of {device}: {} in use or kept for reuse", size(bytes)));
    }
    if let Some(folder) = scratch {
        let _ = fs::remove_dir_all(folder);
    }
    if let JobOutcome::Failed { message, .. } = &outcome {
        log_line(&format!("failed: {message}"));
    }
    let code = match &outcome {
        JobOutcome::Executed(_) | JobOutcome::Cached(_) => ExitCode::SUCCESS,
        JobOutcome::Stopped | JobOutcome::Left => ErrorKind::Interrupted.into(),
        JobOutcome::Busy(_) => ErrorKind::Busy.into(),
        JobOutcome::Failed { .. } | JobOutcome::Killed(_) | JobOutcome::NoDevice(_) => {
            ErrorKind::Failed.into()
        }
    };
    say(&JobEvent::Ended(outcome));
    Ok(code)
}

/// Tells the executor what happens, and leaves a note of how far the stage is for other processes.
fn teller(job: PathBuf) -> impl FnMut(JobEvent) {
    const PAUSE: Duration = Duration::from_secs(1);
    let mut noted: Option<Instant> = None;
    // Kept, since who reads the note may miss any one of them.
    let mut message = None;
    move |event| {
        if let JobEvent::Progress(progress) = &event {
            let is_told = progress.message.is_some();
            if is_told {
                message.clone_from(&progress.message);
            }
            if is_told || noted.is_none_or(|at| at.elapsed() >= PAUSE) {
                noted = Some(Instant::now());
                note_progress(&job, &Progress { message: message.clone(), ..progress.clone() });
            }
        }
        say(&event);
    }
}

fn say(line: &JobEvent) {
    let mut output = io::stdout().lock();
    let _ = serde_json::to_writer(&mut output, line);
    let _ = output.write_all(b"\n");
    let _ = output.flush();
}
