//! The machine: clock, threads, processes, what the host tells of itself, and what comes from or goes
//! to users: files that they name, text that is printed.

pub mod clock;
pub mod failpoint;
pub mod file_type;
pub mod host;
pub(crate) mod parallel;
pub mod printable;
pub mod process;
pub mod regular_file;
