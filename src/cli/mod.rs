//! The command line: one file per command, and the only code that prints.
//!
//! Tables, paths and JSON go to standard output; progress, notes and errors to standard error.

mod args;
mod cache;
mod collect;
mod doctor;
mod export;
mod failure;
mod generate;
mod graph;
mod log;
mod plan;
mod progress;
mod publish;
mod run;
mod session;
mod stage;
mod status;
mod terminal;
mod trace;
mod why;

use std::process::ExitCode;

use clap::Parser;

use args::{CacheCommand, Cli, Command};
use failure::Failure;

use crate::engine::lifeline;

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => {
            terminal::error(&failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let common = &cli.common;
    let done = |()| ExitCode::SUCCESS;
    match cli.command {
        None if cli.run.dry_run => plan::plan(common, cli.run.file.as_deref()).map(done),
        None => run::run(common, &cli.run),
        Some(Command::Plan(file)) => plan::plan(common, file.file.as_deref()).map(done),
        Some(Command::Why { stage, file }) => {
            why::why(common, &stage, file.file.as_deref()).map(done)
        }
        Some(Command::Status { check, file }) => {
            status::status(common, check, file.file.as_deref())
        }
        Some(Command::Graph { dot, mermaid, file }) => {
            graph::graph(common, graph::Format::of(dot, mermaid), file.file.as_deref()).map(done)
        }
        Some(Command::Log { stage, file }) => {
            log::log(common, &stage, file.file.as_deref()).map(done)
        }
        Some(Command::Export { stage, folder, file }) => {
            export::export(common, &stage, &folder, file.file.as_deref()).map(done)
        }
        Some(Command::Trace { table, row, column, file }) => {
            trace::trace(common, &table, &row, &column, file.file.as_deref()).map(done)
        }
        Some(Command::Cache(CacheCommand::Stats)) => cache::stats(common).map(done),
        Some(Command::Cache(CacheCommand::Verify)) => cache::verify(common).map(done),
        Some(Command::Cache(CacheCommand::Rebuild)) => cache::rebuild(common).map(done),
        Some(Command::Gc { files, delete, free }) => {
            collect::collect(common, &files, delete, free).map(done)
        }
        Some(Command::Doctor) => doctor::doctor(common),
        Some(Command::Completions { shell }) => {
            generate::completions(shell);
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Manual) => generate::manual().map(done),
        Some(Command::Stage(args)) => stage::stage(common, &args),
        Some(Command::ReplaceProcess { die_with, args }) => {
            let message = lifeline::replace_process(die_with, &args).to_string();
            Err(Failure { code: lifeline::NOT_STARTED as u8, message })
        }
    }
}
