//! Says in one line what happened to a process that could not say it itself.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use crate::engine::job::JobOutcome;

/// Explains a process that ended without a word.
pub(super) fn death(status: ExitStatus, peak: u64) -> JobOutcome {
    const KILL: i32 = 9;
    let memory = if peak > 0 { format!(" at {}", gigabytes(peak)) } else { String::new() };
    let message = match status.signal() {
        Some(KILL) => {
            return JobOutcome::Killed(format!(
                "killed by signal 9{memory}: unless you did that, the system ran out of memory"
            ));
        }
        Some(number) => format!("killed by signal {number} ({}){memory}", name(number)),
        None => format!("exited with code {} without a result", status.code().unwrap_or(-1)),
    };
    JobOutcome::Failed { message, permanent: false }
}

/// Explains a process that was stopped for taking too long.
pub(super) fn timeout(limit: Duration) -> JobOutcome {
    let message = format!("stopped after its time limit of {} s", limit.as_secs());
    JobOutcome::Failed { message, permanent: true }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GB of memory", bytes as f64 / 1e9)
}

fn name(signal: i32) -> &'static str {
    match signal {
        1 => "hang-up",
        2 => "interrupt",
        4 => "illegal instruction",
        6 => "abort",
        7 => "bus error",
        8 => "arithmetic error",
        11 => "segmentation fault",
        15 => "termination",
        _ => "signal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_names_the_memory_it_had() {
        let JobOutcome::Killed(message) = death(ExitStatus::from_raw(9), 30_800_000_000) else {
            panic!("signal 9 is a kill");
        };
        assert!(message.contains("signal 9 at 30.80 GB"), "{message}");
        assert!(message.contains("out of memory"), "{message}");
    }
}
