//! `pcae-run completions`: a completion script, generated from the argument definitions.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::args::Cli;
use crate::cli::output::terminal;

/// Prints a completion script.
pub(super) fn completions(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pcae-run", &mut script);
    terminal::line(String::from_utf8_lossy(&script).trim_end());
}
