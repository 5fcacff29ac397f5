//! `pcae-run supervise`: runs the program of a `Command` stage and prints how it ended.

use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::engine::system::process;

/// Runs a program that ends with its parent, and prints how it ended as a line of JSON.
pub(super) fn supervise(parent: u32, args: &[String]) -> Result<(), CommandError> {
    terminal::json(&process::supervise(parent, args).map_err(CommandError::failed)?);
    Ok(())
}
