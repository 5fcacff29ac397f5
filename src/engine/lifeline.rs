//! Ties the life of a process to its parent's.

use std::io;
use std::os::unix::process::CommandExt;
use std::process;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

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

/// Makes the system kill this process when its parent dies, however that happens.
pub fn die_with(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the request was in place.
    if getppid()
        .map(Pid::as_raw_nonzero)
        .map(|id| id.get().unsigned_abs())
        == Some(parent)
    {
        Ok(())
    } else {
        Err(io::Error::other("the runner is gone"))
    }
}
