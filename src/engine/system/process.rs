//! Keeps processes from outliving the one that started them.
//!
//! A stage process dies with its runner, a user's program with its stage. Both the runner and the
//! stage process are child subreapers: whatever a program leaves running, in its process group or out
//! of it, becomes a child of theirs, and is killed. Only if runner and stage are killed in the same
//! moment is nobody left to do so; then the program itself still dies, what it started may not.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, kill_process_group, waitpid,
};

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    on_death_of_parent(Some(Signal::KILL))?;
    #[cfg(not(target_os = "linux"))]
    thread::spawn(move || {
        while parent_is(parent) {
            thread::sleep(Duration::from_millis(500));
        }
        std::process::abort();
    });
    // The parent may have died before the request was in place.
    if parent_is(parent) { Ok(()) } else { Err(io::Error::other("the parent process is gone")) }
}

/// Makes this process the parent of everything below it that loses its own; returns the children
/// that it has already, which may have been started by a program that became this one.
pub fn adopt_orphans() -> BTreeSet<u32> {
    // Where the system can't, the members of process groups are killed all the same.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
    children().into_iter().collect()
}

/// Kills what processes that are gone have left to this one; `known` are its own children.
pub fn kill_orphans(known: &BTreeSet<u32>) {
    const PAUSE: Duration = Duration::from_millis(1);
    /// A program that starts processes faster than they can be killed is left to the user.
    const TRIES: usize = 1000;
    if !adopts_orphans() {
        return;
    }
    for _ in 0..TRIES {
        let orphans: Vec<_> = children().into_iter().filter(|id| !known.contains(id)).collect();
        if orphans.is_empty() {
            return;
        }
        for process in orphans.into_iter().filter_map(pid) {
            let _ = kill_process(process, Signal::KILL);
            let _ = waitpid(Some(process), WaitOptions::NOHANG);
        }
        // A killed process hands its own children on.
        thread::sleep(PAUSE);
    }
}

/// Runs a program in a process group of its own; when it has ended, nothing that it started is left.
///
/// The caller sets folder and environment; what the program prints goes to standard error. When
/// `should_stop` says so, its group is asked to end; if this process has lost its parent, it is killed.
pub fn run_program(
    args: &[String],
    set_up: impl FnOnce(&mut Command),
    should_stop: impl Fn() -> bool,
) -> io::Result<ProgramEnd> {
    let [program, rest @ ..] = args else {
        return Ok(ProgramEnd::NotStarted("no program".to_owned()));
    };
    let runner = getppid();
    let known: BTreeSet<u32> = children().into_iter().collect();
    let signal = death_signal();
    if signal.is_some() {
        // Time to kill the program's group before this process ends.
        on_death_of_parent(Some(Signal::TERM))?;
    }
    let mut command = Command::new(program);
    let log = io::stderr().as_fd().try_clone_to_owned()?;
    command.args(rest).stdin(Stdio::null()).stdout(log).process_group(0);
    set_up(&mut command);
    die_with_this_process(&mut command);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(cause) => {
            return Ok(ProgramEnd::NotStarted(format!("can't start `{program}`: {cause}")));
        }
    };
    let end = wait(&mut child, || getppid() != runner, should_stop);
    signal_group(&child, Signal::KILL);
    let _ = child.wait();
    kill_orphans(&known);
    on_death_of_parent(signal)?;
    end
}

fn wait(
    child: &mut Child,
    is_orphaned: impl Fn() -> bool,
    should_stop: impl Fn() -> bool,
) -> io::Result<ProgramEnd> {
    const LONGEST_PAUSE: Duration = Duration::from_millis(10);
    const REAPING: Duration = Duration::from_secs(1);
    let mut reaped = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut peak = None;
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(program_end(status, peak));
        }
        if should_stop() {
            if is_orphaned() {
                signal_group(child, Signal::KILL);
            } else if !asked {
                // A program that ignores this is killed with this process after the grace period.
                asked = true;
                signal_group(child, Signal::TERM);
            }
        }
        if reaped.elapsed() >= REAPING {
            reaped = Instant::now();
            reap_orphans(child.id());
        }
        peak = peak_memory(&child.id().to_string()).max(peak);
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Takes note of orphans that have ended, so that they do not pile up while a long program runs.
fn reap_orphans(own: u32) {
    if adopts_orphans() {
        for orphan in children().into_iter().filter(|id| *id != own).filter_map(pid) {
            let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
        }
    }
}

/// Sends a signal to a process and all of its group.
pub fn signal_group(leader: &Child, signal: Signal) {
    if let Some(group) = pid(leader.id()) {
        let _ = kill_process_group(group, signal);
    }
}

fn program_end(status: ExitStatus, peak_memory: Option<u64>) -> ProgramEnd {
    match (status.code(), status.signal()) {
        (None, Some(number)) => ProgramEnd::Signal { number, peak_memory },
        (code, _) => ProgramEnd::Code(code.unwrap_or(-1)),
    }
}

/// Has the system kill a program, once started, when this process dies.
#[expect(unsafe_code, reason = "only the new process itself can ask for it, before the program")]
fn die_with_this_process(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: between fork and exec only two system calls are made; nothing allocates or locks.
    unsafe {
        command.pre_exec(move || {
            on_death_of_parent(Some(Signal::KILL))?;
            if parent_is(parent) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
        });
    }
}

/// Has the system send this process a signal when its parent dies, where it can.
fn on_death_of_parent(signal: Option<Signal>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(signal)?;
    #[cfg(not(target_os = "linux"))]
    let _ = signal;
    Ok(())
}

/// Returns the signal that this process gets when its parent dies.
fn death_signal() -> Option<Signal> {
    #[cfg(target_os = "linux")]
    return rustix::process::parent_process_death_signal().ok().flatten();
    #[cfg(not(target_os = "linux"))]
    None
}

fn adopts_orphans() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::process::child_subreaper().is_ok_and(|set| set.is_some());
    #[cfg(not(target_os = "linux"))]
    false
}

/// Returns the processes whose parent is this one.
fn children() -> Vec<u32> {
    if let Some(listed) = listed_children() {
        return listed;
    }
    let own = getpid().as_raw_pid();
    let is_own = |process: &u32| parent_of(*process) == Some(own);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|item| item.file_name().to_str()?.parse().ok());
    processes.filter(is_own).collect()
}

/// Returns the children that the system lists for each thread, if it does.
fn listed_children() -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).ok()?;
        found.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    Some(found)
}

fn parent_of(process: u32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything; state and parent follow.
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}

fn parent_is(process: u32) -> bool {
    getppid().is_some_and(|found| found.as_raw_pid().unsigned_abs() == process)
}

/// Returns whether the process that began at a time has surely ended; others' processes may be hidden.
pub fn is_gone(process: u32, began_at: u64) -> bool {
    let number = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    let is_there =
        |number| rustix::process::test_kill_process(number) != Err(rustix::io::Errno::SRCH);
    !number.is_some_and(is_there) || began(process).is_some_and(|began| began != began_at)
}

/// Returns when a process began, as its machine counts; nothing if it has ended.
pub fn began(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_over = matches!(fields.first(), Some(&("Z" | "X")));
    fields.get(19).filter(|_| !is_over)?.parse().ok()
}

/// Returns the largest resident memory of a process in bytes, where the system tells.
pub fn peak_memory(process: &str) -> Option<u64> {
    let status = fs::read_to_string(Path::new("/proc").join(process).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}
