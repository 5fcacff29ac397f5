//! The machine: clock, threads, processes, files, and what the host tells of itself.

pub mod clock;
pub mod failpoint;
pub mod file_type;
pub mod host;
pub(crate) mod parallel;
pub mod printable;
pub mod process;
pub mod regular_file;
