//! `pcae-run completions`: a completion script, generated from the argument definitions.

use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::Shell;

use super::installation;
use crate::cli::args::{Cli, Common};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;

/// Prints a completion script, or puts it where the shell looks for it.
pub(super) fn completions(
    common: &Common,
    shell: Shell,
    install: bool,
) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pcae-run", &mut script);
    if !install {
        terminal::line(String::from_utf8_lossy(&script).trim_end());
        return Ok(());
    }
    let path = place(shell)?;
    installation::write(common, &path, &script)?;
    if shell == Shell::Zsh {
        let folder = path.parent().unwrap_or(&path).display();
        terminal::note(&format!("put `fpath+=({folder})` before `compinit` in ~/.zshrc"));
    }
    terminal::note("new shells complete `pcae-run`");
    Ok(())
}

/// Returns where a shell looks for the completions of a user.
fn place(shell: Shell) -> Result<PathBuf, CommandError> {
    match shell {
        Shell::Bash => installation::data("bash-completion/completions/pcae-run"),
        Shell::Zsh => installation::data("zsh/site-functions/_pcae-run"),
        Shell::Fish => installation::config("fish/completions/pcae-run.fish"),
        other => {
            let error = CommandError::usage(format!("{other} has no folder for completions"));
            Err(error.hint(format!("print them with `pcae-run completions {other}` instead")))
        }
    }
}
