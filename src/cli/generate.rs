//! Completion scripts and the manual page, generated from the argument definitions.

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::failure::Failure;
use super::terminal;

/// Prints a completion script.
pub(super) fn completions(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pcae-run", &mut script);
    terminal::line(String::from_utf8_lossy(&script).trim_end());
}

/// Prints the manual page.
pub(super) fn manual() -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(Failure::stage)?;
    terminal::line(String::from_utf8_lossy(&page).trim_end());
    Ok(())
}
