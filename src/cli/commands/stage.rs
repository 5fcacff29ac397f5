//! `pcae-run stage`: performs one job and tells its executor line by line.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::args::{Common, StageArgs};
use crate::cli::error::{CommandError, ErrorKind};
use crate::cli::workspace::open_cache;
use crate::engine::cache::note_progress;
use crate::engine::job::{Conditions, Job, JobEvent, JobOutcome};
use crate::engine::stage::context::log_line;
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
    process::adopt_orphans();
    if let Some(parent) = args.die_with {
        process::die_with(parent).map_err(CommandError::failed)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(CommandError::failed)?;
    }
    let cache = open_cache(common)?;
    let _in_use = cache.hold(&mut || say(&JobEvent::Waiting))?;
    let job = Job::read(&args.job).map_err(CommandError::failed)?;
    let conditions = Conditions {
        threads: args.threads,
        longest_wait: args.lock_timeout.map(Duration::from_secs),
        log: match &args.log[..] {
            [so_far, name] => Some((so_far.clone(), name.clone())),
            _ => None,
        },
        stop,
        emit: Box::new(teller(args.job.clone())),
    };
    let outcome = job.perform::<AnyStage>(&cache, conditions);
    if let JobOutcome::Failed { message, .. } = &outcome {
        log_line(&format!("failed: {message}"));
    }
    let code = match &outcome {
        JobOutcome::Executed(_) | JobOutcome::Cached(_) => ExitCode::SUCCESS,
        JobOutcome::Stopped => ErrorKind::Interrupted.into(),
        JobOutcome::Busy(_) => ErrorKind::Busy.into(),
        JobOutcome::Failed { .. } => ErrorKind::Failed.into(),
    };
    say(&JobEvent::Ended(outcome));
    Ok(code)
}

/// Tells the executor what happens, and leaves a note of how far the stage is for other processes.
fn teller(job: PathBuf) -> impl FnMut(JobEvent) {
    const PAUSE: Duration = Duration::from_secs(1);
    let mut noted: Option<Instant> = None;
    move |event| {
        if let JobEvent::Progress(progress) = &event
            && noted.is_none_or(|at| at.elapsed() >= PAUSE)
        {
            noted = Some(Instant::now());
            note_progress(&job, progress);
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
