//! `pcae-run manual`: the manual page, generated from the argument definitions.

use clap::CommandFactory;

use crate::cli::args::Cli;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;

/// Prints the manual page.
pub(super) fn manual() -> Result<(), CommandError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(CommandError::failed)?;
    terminal::line(String::from_utf8_lossy(&page).trim_end());
    Ok(())
}
