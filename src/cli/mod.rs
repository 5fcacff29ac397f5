//! The command line, and the only code that prints.
//!
//! `commands` has one file per command; `preflight` is what is checked and predicted before a run
//! starts; `output` writes to the terminal. Tables, paths and JSON go to standard output; progress,
//! notes and errors to standard error (with `--json`, errors are JSON too: see `error`).

mod args;
mod cluster;
mod commands;
mod curves;
mod error;
mod output;
mod preflight;
mod project;
mod remote;
mod runner;
mod suggestion;
mod workspace;

use std::env;
use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use error::{CommandError, ErrorKind};
use output::terminal;

use crate::engine::system::printable::printable;

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let json = cli.common.json;
    commands::dispatch(cli).unwrap_or_else(|error| {
        if json {
            terminal::json(&error.json());
        } else {
            terminal::error(&error);
        }
        error.kind().into()
    })
}

/// Prints what is wrong with the command line, or the help or version that was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let json = env::args_os().any(|argument| argument == "--json");
    if json {
        terminal::json(&usage_error(&error.render().to_string()).json());
    } else {
        // The message quotes arguments as they are: those of the printed one are printable.
        let shown = env::args_os().map(|text| printable(&text.to_string_lossy()).into_owned());
        match Cli::try_parse_from(shown) {
            Err(error) => drop(error.print()),
            Ok(_) => terminal::note(error.render().to_string().trim_end()),
        }
    }
    ErrorKind::Usage.into()
}

/// Splits what the parser of the command line says into its message and its tips.
fn usage_error(text: &str) -> CommandError {
    let (tips, message): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.trim_start().starts_with("tip: "));
    let message = message.join("\n");
    let message = message.strip_prefix("error: ").unwrap_or(&message).trim_end().to_owned();
    let tips = tips.iter().map(|tip| tip.trim_start().trim_start_matches("tip: "));
    tips.fold(CommandError::usage(message), CommandError::hint)
}
