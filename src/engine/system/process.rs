//! Keeps processes from outliving the one that started them.
//!
//! A stage process dies with its runner. A user's program runs under a supervisor: a process of
//! this program that leads a group of its own, notices when the stage is gone, and then kills the
//! whole group. What the program's own children leave running ends with it, too.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, getppid, kill_process_group};
use serde::{Deserialize, Serialize};

/// How a supervised program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramEnd {
    /// With an exit code.
    Code(i32),
    /// By a signal, with the largest memory that was seen.
    Signal {
        /// Its number.
        number: i32,
        /// Bytes.
        peak_memory: Option<u64>,
    },
    /// It never began.
    NotStarted(String),
}

/// Returns a path to this very program, even if its file is replaced meanwhile.
pub fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}

/// Makes sure that this process ends when its parent does, however that happens.
pub fn die_with(parent: u32) -> io::Result<()> {
    on_death_of_parent(parent, Signal::KILL, || std::process::abort())
}

/// Starts a program under a supervisor that leads a process group of its own.
///
/// The caller sets folder and environment; what the program prints goes to standard error. The
/// supervisor's own output is one line: a [`ProgramEnd`].
pub fn supervised(args: &[String]) -> io::Result<Command> {
    let mut command = Command::new(this_program()?);
    command
        .args(["supervise", "--parent", &std::process::id().to_string(), "--"])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0);
    Ok(command)
}

/// Sends a signal to a supervisor, its program and everything that they started.
pub fn signal_group(supervisor: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(supervisor.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

/// Runs a program to its end; the work of the supervisor process.
pub fn supervise(parent: u32, args: &[String]) -> io::Result<ProgramEnd> {
    // A stop request is for the program, which gets it as a member of the group.
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&asked))?;
    }
    on_death_of_parent(parent, Signal::TERM, kill_own_group)?;
    let [program, rest @ ..] = args else {
        return Ok(ProgramEnd::NotStarted("no program".to_owned()));
    };
    let log = io::stderr().as_fd().try_clone_to_owned()?;
    let started = Command::new(program).args(rest).stdin(Stdio::null()).stdout(log).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(cause) => {
            return Ok(ProgramEnd::NotStarted(format!("can't start `{program}`: {cause}")));
        }
    };
    let mut pause = Duration::from_millis(1);
    let mut peak = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(program_end(status, peak));
        }
        if asked.swap(false, Ordering::Relaxed) && !parent_is(parent) {
            kill_own_group();
        }
        peak = peak_memory(&child.id().to_string()).max(peak);
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn program_end(status: ExitStatus, peak_memory: Option<u64>) -> ProgramEnd {
    match (status.code(), status.signal()) {
        (None, Some(number)) => ProgramEnd::Signal { number, peak_memory },
        (code, _) => ProgramEnd::Code(code.unwrap_or(-1)),
    }
}

fn kill_own_group() {
    let _ = kill_process_group(getpid(), Signal::KILL);
}

/// Has the system send this process a signal when its parent dies. Elsewhere than on Linux a
/// thread watches the parent, and acts.
fn on_death_of_parent(parent: u32, signal: Signal, act: fn()) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let _ = act;
        rustix::process::set_parent_process_death_signal(Some(signal))?;
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = signal;
        thread::spawn(move || {
            while parent_is(parent) {
                thread::sleep(Duration::from_millis(500));
            }
            act();
        });
    }
    // The parent may have died before the request was in place.
    if parent_is(parent) { Ok(()) } else { Err(io::Error::other("the parent process is gone")) }
}

fn parent_is(process: u32) -> bool {
    getppid().is_some_and(|found| found.as_raw_pid().unsigned_abs() == process)
}

/// Returns the largest resident memory of a process in bytes, where the system tells.
pub fn peak_memory(process: &str) -> Option<u64> {
    let status = fs::read_to_string(Path::new("/proc").join(process).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}
