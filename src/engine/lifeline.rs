//! Ties the life of a process to its parent's.

use std::io;
use std::os::unix::process::CommandExt;
use std::process;

use rustix::process::getppid;

/// The exit code of a process that was to become another program but could not, as in shells.
pub const NOT_STARTED: i32 = 127;

/// Becomes another program that dies when its parent does; returns only if that fails.
pub fn replace_process(parent: u32, args: &[String]) -> io::Error {
    if let Err(error) = die_with(parent) {
        return error;
    }
    match args {
        [program, rest @ ..] => {
            let error = process::Command::new(program).args(rest).exec();
            io::Error::new(error.kind(), format!("can't start `{program}`: {error}"))
        }
        [] => io::Error::other("no program"),
    }
}

/// Makes sure that this process ends when its parent does, however that happens.
pub fn die_with(parent: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    #[cfg(not(target_os = "linux"))]
    std::thread::spawn(move || {
        while parent_is(parent) {
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        std::process::abort();
    });
    // The parent may have died before the request was in place.
    if parent_is(parent) { Ok(()) } else { Err(io::Error::other("the runner is gone")) }
}

fn parent_is(process: u32) -> bool {
    getppid().is_some_and(|found| found.as_raw_pid().unsigned_abs() == process)
}
