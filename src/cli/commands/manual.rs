//! `pcae-run manual`: the manual page, generated from the argument definitions.

use std::env;
use std::path::PathBuf;

use clap::CommandFactory;

use super::installation;
use crate::cli::args::{Cli, Common};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;

/// Prints the manual page, or puts it where `man` looks for it.
pub(super) fn manual(common: &Common, install: bool) -> Result<(), CommandError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(CommandError::failed)?;
    if install {
        return installation::write(common, &place()?, &page);
    }
    terminal::line(String::from_utf8_lossy(&page).trim_end());
    Ok(())
}

/// Returns where `man` looks: beside the `bin` folder that the program is in, or else the user's own.
fn place() -> Result<PathBuf, CommandError> {
    const PAGE: &str = "man/man1/pcae-run.1";
    let program = env::current_exe().map_err(CommandError::failed)?;
    let folder = program.parent().filter(|folder| folder.ends_with("bin"));
    match folder.and_then(|bin| bin.parent()) {
        Some(prefix) => Ok(prefix.join("share").join(PAGE)),
        None => installation::data(PAGE),
    }
}
