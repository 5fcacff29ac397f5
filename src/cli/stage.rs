//! `pcae-run stage`: performs one job and tells its executor line by line.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::args::{Common, StageArgs};
use super::failure::{BUSY, Failure, INTERRUPTED, STAGE_FAILED};
use super::session::open_cache;
use crate::engine::context::log_line;
use crate::engine::job::{Conditions, Ending, Job, JobLine};
use crate::engine::supervise;
use crate::stages::AnyStage;

/// Performs one job; whatever happens, the last line says how it ended.
pub(super) fn stage(common: &Common, args: &StageArgs) -> Result<ExitCode, Failure> {
    perform(common, args).inspect_err(|failure| {
        let message = failure.message.clone();
        say(&JobLine::Ended(Ending::Failed { message, lasting: true }));
    })
}

fn perform(common: &Common, args: &StageArgs) -> Result<ExitCode, Failure> {
    if let Some(parent) = args.die_with {
        supervise::die_with(parent).map_err(Failure::stage)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::stage)?;
    }
    let cache = open_cache(common)?;
    let _in_use = cache.hold()?;
    let job = Job::read(&args.job).map_err(Failure::stage)?;
    let conditions = Conditions {
        threads: args.threads,
        longest_wait: args.lock_timeout.map(Duration::from_secs),
        log: match &args.log[..] {
            [so_far, name] => Some((so_far.clone(), name.clone())),
            _ => None,
        },
        stop,
        tell: Box::new(|line| say(&line)),
    };
    let ending = job.perform::<AnyStage>(&cache, conditions);
    if let Ending::Failed { message, .. } = &ending {
        log_line(&format!("failed: {message}"));
    }
    let code = match &ending {
        Ending::Executed(_) | Ending::Cached(_) => 0,
        Ending::Stopped => INTERRUPTED,
        Ending::Busy(_) => BUSY,
        Ending::Failed { .. } => STAGE_FAILED,
    };
    say(&JobLine::Ended(ending));
    Ok(ExitCode::from(code))
}

fn say(line: &JobLine) {
    let mut output = io::stdout().lock();
    let _ = serde_json::to_writer(&mut output, line);
    let _ = output.write_all(b"\n");
    let _ = output.flush();
}
