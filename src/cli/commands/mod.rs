//! The commands, one file or folder each.

mod bundle;
mod cache;
mod cancel;
mod compare;
mod completions;
mod diff;
mod doctor;
mod explain;
mod export;
mod fetch;
mod gc;
mod graph;
mod init;
mod installation;
mod log;
mod manual;
mod plan;
mod remote;
mod replay;
mod report;
mod results;
mod run;
mod scale_difference;
mod site;
mod stage;
mod status;
mod trace;
mod why;
mod worker;

use std::process::ExitCode;

use super::args::{BundleArgs, CacheCommand, Cli, Command, File, PlanArgs, RunnerArgs};
use super::error::CommandError;
use super::project;
use crate::engine::plan::select::Choice;
use crate::engine::site::ExecutorKind;
use crate::statistics::spent_alpha;

/// Runs the command that was typed.
pub(super) fn dispatch(mut cli: Cli) -> Result<ExitCode, CommandError> {
    project::locate(&mut cli)?;
    let common = &cli.common;
    let done = |()| ExitCode::SUCCESS;
    let Some(command) = cli.command else {
        return if cli.run.dry_run {
            plan::plan(common, cli.run.file.as_deref(), &cli.run.choice(), None).map(done)
        } else {
            run::run(common, &cli.run)
        };
    };
    // `pcae-run FILE plan` means the same as `pcae-run plan FILE`.
    let given = |file: File| file.file.or_else(|| cli.run.file.clone());
    match command {
        Command::Plan(PlanArgs { file, against }) => {
            let (file, choice) = (given(file), Choice::default());
            plan::plan(common, file.as_deref(), &choice, against.as_deref()).map(done)
        }
        Command::Why { stage, file } => why::why(common, &stage, given(file).as_deref()).map(done),
        Command::Status { check, file } => status::status(common, check, given(file).as_deref()),
        Command::Graph { dot, mermaid, file } => {
            let format = graph::Format::of(dot, mermaid);
            graph::graph(common, format, given(file).as_deref()).map(done)
        }
        Command::Log { stage, file } => log::log(common, &stage, given(file).as_deref()).map(done),
        Command::Export { stage, folder, pytorch, file } => {
            let content = if pytorch { export::Content::Pytorch } else { export::Content::Files };
            export::export(common, &stage, &folder, content, given(file).as_deref()).map(done)
        }
        Command::Fetch { runner, file } => {
            // Nodes of a cluster seldom reach the network.
            let runner = RunnerArgs { executor: Some(ExecutorKind::Local), ..runner };
            fetch::fetch(common, &runner, given(file).as_deref())
        }
        Command::Trace { table, row, column, file } => {
            let file = given(File { file });
            trace::trace(common, &table, &row, &column, file.as_deref()).map(done)
        }
        Command::Compare { alpha, look, until_decided, most, strict, runner, file } => {
            let file = given(file);
            if until_decided {
                let bounds = compare::until_decided::Bounds { alpha, most, strict };
                return compare::until_decided::compare(common, &runner, bounds, file.as_deref());
            }
            let alpha = look.map_or(alpha, |look| spent_alpha(alpha, look));
            compare::compare(common, alpha, strict, file.as_deref())
        }
        Command::Results { out, histories, file } => {
            let measures =
                if histories { results::Measures::Histories } else { results::Measures::Values };
            results::results(common, measures, out.as_deref(), given(file).as_deref()).map(done)
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
        Command::Bundle(args) => {
            let file = given(args.file);
            bundle::bundle(common, BundleArgs { file: File { file }, ..args }).map(done)
        }
        Command::Replay(args) => replay::replay(common, &args),
        Command::Cache(CacheCommand::Stats) => cache::stats(common).map(done),
        Command::Cache(CacheCommand::Verify) => cache::verify(common).map(done),
        Command::Cache(CacheCommand::Rebuild) => cache::rebuild(common).map(done),
        Command::Cache(CacheCommand::Push { pipeline, remote }) => {
            remote::push(common, &remote, pipeline.as_deref()).map(done)
        }
        Command::Cache(CacheCommand::Pull { pipeline, remote }) => {
            remote::pull(common, &remote, pipeline.as_deref()).map(done)
        }
        Command::Cache(CacheCommand::Key { name, out }) => {
            remote::key(common, &name, out.as_deref()).map(done)
        }
        Command::Gc { files, delete, free } => {
            let files: Vec<_> = cli.run.file.clone().into_iter().chain(files).collect();
            gc::gc(common, &files, delete, free).map(done)
        }
        Command::Init { path, out, table } => {
            init::init(common, &path, out.as_deref(), table).map(done)
        }
        Command::Doctor(args) => doctor::doctor(common, &args),
        Command::Site { example } => {
            site::site(common, example);
            Ok(ExitCode::SUCCESS)
        }
        Command::Cancel { file } => cancel::cancel(common, given(file).as_deref()).map(done),
        Command::Explain { name } => explain::explain(name.as_deref(), common.json).map(done),
        Command::Completions { shell, install } => {
            completions::completions(common, shell, install).map(done)
        }
        Command::Manual { install } => manual::manual(common, install).map(done),
        Command::Stage(args) => stage::stage(common, &args),
        Command::Worker(args) => worker::worker(common, &args),
    }
}
