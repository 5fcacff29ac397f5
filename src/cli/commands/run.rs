//! `pcae-run FILE`: runs a pipeline and prints its tables.

use std::mem;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;

use super::report;
use super::report::publish::{self, Published};
use crate::cli::args::{Common, RunArgs};
use crate::cli::cluster;
use crate::cli::error::{CommandError, ErrorKind};
use crate::cli::output::failed_stages;
use crate::cli::output::terminal::{self, Tone, paint};
use crate::cli::preflight::due;
use crate::cli::runner::{Runner, executor_kind};
use crate::cli::workspace::Workspace;
use crate::engine::plan::select::Selection;
use crate::engine::run::events::Event;
use crate::engine::run::options::RunReport;
use crate::engine::site::ExecutorKind;
use crate::report::folder::PAGE;
use crate::report::terminal::render_within;

/// A paragraph is no wider than this: longer lines are hard to read.
const PARAGRAPH: usize = 100;

/// More files than this are counted, not named.
const FEW_FILES: usize = 4;

/// Runs a pipeline.
pub(super) fn run(common: &Common, args: &RunArgs) -> Result<ExitCode, CommandError> {
    let began = Instant::now();
    let workspace = Workspace::open_silently(common, args.file.as_deref())?;
    terminal::warnings(&workspace.source, workspace.plan.warnings());
    let selection = args.choice().select(&workspace.plan)?;
    let is_on_cluster = executor_kind(common, &args.runner) == ExecutorKind::Slurm;
    if args.detach {
        if !is_on_cluster {
            let error = CommandError::usage("--detach needs a cluster");
            return Err(error.hint("pass `--executor slurm`, or name it in a site file"));
        }
        return cluster::detach(common, &workspace).map(|()| ExitCode::SUCCESS);
    }
    if args.wait || (is_on_cluster && !args.detached) {
        let log = cluster::join(common, &workspace)?;
        if args.wait {
            require_results(args, &workspace, &selection, log.as_deref())?;
        }
    }
    let runner = Runner::new(common, &args.runner, &workspace.backend)?;
    let mut report = runner.run(&workspace, &selection)?;
    if args.detached && runner.is_near_limit() {
        return cluster::detach(common, &workspace).map(|()| ExitCode::SUCCESS);
    }
    report.seconds = began.elapsed().as_secs_f64();
    let published = publish_all(&workspace, &report, &common.reports);
    summarize(common, args, &workspace, &report, published.as_ref().ok());
    let code =
        published.map(|_| ErrorKind::of_run(&report).map_or(ExitCode::SUCCESS, ExitCode::from));
    // The program ends here, and gives all memory back at once.
    let Workspace { plan, .. } = workspace;
    mem::forget((plan, report));
    code
}

/// Makes sure that a run which was waited for has computed everything: `--wait` computes nothing itself.
fn require_results(
    args: &RunArgs,
    workspace: &Workspace,
    selection: &Selection,
    log: Option<&Path>,
) -> Result<(), CommandError> {
    let statuses = workspace.statuses()?;
    let missing = due(selection, &statuses).len();
    if missing == 0 {
        return Ok(());
    }
    let stages = terminal::count(missing, "stage");
    let file = args.file.as_deref().unwrap_or_else(|| workspace.source.path()).display();
    let error = match log {
        Some(log) => CommandError::failed(format!("the run has ended without {stages}"))
            .hint(format!("its messages: {}", log.display())),
        None => CommandError::failed(format!("no run to wait for, and {stages} to compute")),
    };
    Err(error
        .hint(format!("`pcae-run status {file}` lists them"))
        .hint(format!("`pcae-run {file} --executor slurm --detach` goes on")))
}

/// Brings tables, figures and the page that shows them up to date.
fn publish_all(
    workspace: &Workspace,
    run: &RunReport,
    root: &Path,
) -> Result<Published, CommandError> {
    let mut published = publish::publish(workspace, run, root)?;
    // A run that has nothing to do does not even read what the page would show.
    let idle = run.executed.is_empty()
        && run.failed.is_empty()
        && run.fetched == 0
        && published.written.is_empty();
    if !idle || !report::exists(&published.folder) {
        published.written.extend(report::write(workspace, &published.folder, None)?);
    }
    Ok(published)
}

fn summarize(
    common: &Common,
    args: &RunArgs,
    workspace: &Workspace,
    report: &RunReport,
    published: Option<&Published>,
) {
    let conclusions = published.iter().flat_map(|published| &published.conclusions);
    if common.json {
        for (stage, conclusion) in conclusions {
            let mut line = json!(conclusion);
            (line["event"], line["stage"]) = (json!("conclusion"), json!(stage));
            terminal::json(&line);
        }
        if let Some(Published { folder, written, stale, .. }) = published {
            let (folder, written) = (folder.clone(), written.clone());
            terminal::json(&Event::Report { folder, written, stale: stale.clone() });
        }
        terminal::json(&Event::Summary {
            executed: report.executed.len(),
            cached: report.cached,
            fetched: report.fetched,
            failed: report.failed.len(),
            skipped: report.skipped,
            seconds: report.seconds,
            interrupted: report.interrupted,
        });
        return;
    }
    let columns = terminal::columns();
    for (_, conclusion) in conclusions {
        terminal::line(&conclusion.terminal(columns.min(PARAGRAPH)));
    }
    for table in published.iter().flat_map(|published| &published.tables) {
        terminal::line(&render_within(table, columns));
    }
    let file = args.file.as_deref().unwrap_or_else(|| workspace.source.path());
    let retry = |stage: &str| {
        format!("to retry only this stage: {}", failed_stages::retry_command(common, file, stage))
    };
    failed_stages::print(workspace, report, retry);
    if let Some(published) = published {
        let folder = published.folder.display();
        if !published.written.is_empty() {
            terminal::note(&format!("wrote {folder}: {}", in_short(&published.written)));
        }
        if !published.stale.is_empty() {
            let names = published.stale.join(", ");
            terminal::note(&format!("out of date in {folder}, from an earlier run: {names}"));
        }
    }
    terminal::note(&last_line(report));
}

/// Names a few files, or the page and how many others there are.
fn in_short(files: &[String]) -> String {
    if files.len() <= FEW_FILES {
        return files.join(", ");
    }
    let shown = files.iter().find(|file| *file == PAGE).unwrap_or(&files[0]);
    format!("{shown} and {} other files", files.len() - 1)
}

fn last_line(report: &RunReport) -> String {
    let time = terminal::duration(report.seconds);
    let executed = report.executed.len();
    if report.left > 0 {
        let stages = terminal::count(report.left, "stage");
        return format!(
            "left after {time}: {executed} executed, {stages} in the queue; run the same command to take \
             their results"
        );
    }
    if report.interrupted {
        return format!(
            "interrupted after {time}: {executed} executed, {} stopped; run the same command to resume",
            report.stopped.len()
        );
    }
    if executed == 0 && report.failed.is_empty() && report.fetched == 0 {
        let all = terminal::count(report.cached, "stage");
        return format!("nothing to do: {all} cached, 0 executed ({time})");
    }
    let mut parts = vec![format!("{executed} executed"), format!("{} cached", report.cached)];
    if report.fetched > 0 {
        parts.push(format!("{} of them from the remote cache", report.fetched));
    }
    if report.skipped > 0 {
        parts.push(format!("{} not started", report.skipped));
    }
    let failures = match report.failed.len() {
        0 => String::new(),
        count => paint(Tone::Bad, &format!(" with {}", terminal::count(count, "failure"))),
    };
    format!("finished{failures} in {time}: {}", parts.join(", "))
}
