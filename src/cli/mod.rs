//! The command line: one file per command, and the only code that prints.
//!
//! Tables, paths and JSON go to standard output; progress, notes and errors to standard error.

mod args;
mod cache;
mod causes;
mod collect;
mod compare;
mod diff;
mod doctor;
mod execute;
mod explain;
mod export;
mod failure;
mod generate;
mod graph;
mod init;
mod log;
mod missing;
mod open_cells;
mod outlook;
mod plan;
mod postmortem;
mod prediction;
mod progress;
mod publish;
mod rates;
mod report;
mod run;
mod session;
mod settings;
mod stage;
mod status;
mod terminal;
mod trace;
mod until_decided;
mod why;

use std::process::ExitCode;

use clap::Parser;

use args::{CacheCommand, Cli, Command};
use failure::Failure;

use crate::engine::select::Choice;
use crate::engine::supervise::supervise;
use crate::statistics::spent_alpha;

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
            terminal::failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let common = &cli.common;
    let done = |()| ExitCode::SUCCESS;
    let Some(command) = cli.command else {
        return if cli.run.dry_run {
            plan::plan(common, cli.run.file.as_deref(), &cli.run.choice()).map(done)
        } else {
            run::run(common, &cli.run)
        };
    };
    // `pcae-run FILE plan` means the same as `pcae-run plan FILE`.
    let given = |file: args::File| file.file.or_else(|| cli.run.file.clone());
    match command {
        Command::Plan(file) => {
            plan::plan(common, given(file).as_deref(), &Choice::default()).map(done)
        }
        Command::Why { stage, file } => why::why(common, &stage, given(file).as_deref()).map(done),
        Command::Status { check, file } => status::status(common, check, given(file).as_deref()),
        Command::Graph { dot, mermaid, file } => {
            let format = graph::Format::of(dot, mermaid);
            graph::graph(common, format, given(file).as_deref()).map(done)
        }
        Command::Log { stage, file } => log::log(common, &stage, given(file).as_deref()).map(done),
        Command::Export { stage, folder, file } => {
            export::export(common, &stage, &folder, given(file).as_deref()).map(done)
        }
        Command::Trace { table, row, column, file } => {
            trace::trace(common, &table, &row, &column, given(file).as_deref()).map(done)
        }
        Command::Compare { alpha, look, until_decided, most, strict, manner, file } => {
            let file = given(file);
            if until_decided {
                let bounds = until_decided::Bounds { alpha, most, strict };
                return until_decided::compare(common, &manner, bounds, file.as_deref());
            }
            let alpha = look.map_or(alpha, |look| spent_alpha(alpha, look));
            compare::compare(common, alpha, strict, file.as_deref())
        }
        Command::Diff { old, new } => diff::diff(common, &old, &new),
        Command::Report { open, watch, check, file } => {
            let file = given(file);
            if check {
                report::check(common, file.as_deref())
            } else {
                report::report(common, open, watch, file.as_deref()).map(done)
            }
        }
        Command::Cache(CacheCommand::Stats) => cache::stats(common).map(done),
        Command::Cache(CacheCommand::Verify) => cache::verify(common).map(done),
        Command::Cache(CacheCommand::Rebuild) => cache::rebuild(common).map(done),
        Command::Gc { files, delete, free } => {
            let files: Vec<_> = cli.run.file.clone().into_iter().chain(files).collect();
            collect::collect(common, &files, delete, free).map(done)
        }
        Command::Init { path, out } => init::init(common, &path, out.as_deref()).map(done),
        Command::Doctor => doctor::doctor(common),
        Command::Explain { kind } => explain::explain(kind.as_deref()).map(done),
        Command::Completions { shell } => {
            generate::completions(shell);
            Ok(ExitCode::SUCCESS)
        }
        Command::Manual => generate::manual().map(done),
        Command::Stage(args) => stage::stage(common, &args),
        Command::Supervise { parent, args } => {
            terminal::json(&supervise(parent, &args).map_err(Failure::stage)?);
            Ok(ExitCode::SUCCESS)
        }
    }
}
