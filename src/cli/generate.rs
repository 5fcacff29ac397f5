//! Completion scripts and the manual page, generated from the argument definitions.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::failure::Failure;

/// Prints a completion script.
pub(super) fn completions(shell: Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "pcae-run", &mut io::stdout());
}

/// Prints the manual page.
pub(super) fn manual() -> Result<(), Failure> {
    clap_mangen::Man::new(Cli::command()).render(&mut io::stdout()).map_err(Failure::stage)
}
