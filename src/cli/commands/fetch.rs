//! `pcae-run fetch`: brings everything here that a pipeline can take from the network.
//!
//! What its `Download` stages want goes into the cache. A published set that the pipeline uses only if it
//! is there (`IfPresent`) goes into the folder in which it looks for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::export::copy_below;
use crate::cli::args::{Common, RunnerArgs};
use crate::cli::error::{CommandError, ErrorKind};
use crate::cli::output::failed_stages;
use crate::cli::output::terminal;
use crate::cli::runner::Runner;
use crate::cli::workspace::{Workspace, load_plan, load_recorded_plan};
use crate::engine::pipeline::source::Source;
use crate::engine::plan::PlannedStage;
use crate::engine::plan::select::Choice;
use crate::engine::run::options::RunReport;
use crate::stages::AnyStage;

/// Fetches what a pipeline wants.
pub(super) fn fetch(
    common: &Common,
    runner: &RunnerArgs,
    file: Option<&Path>,
) -> Result<ExitCode, CommandError> {
    let workspace = Workspace::open(common, file)?;
    let is_download =
        |stage: &&PlannedStage<AnyStage>| matches!(*stage.stage, AnyStage::Download(_));
    let downloads = workspace.plan.stages().iter().filter(is_download);
    let until: Vec<String> = downloads.map(|stage| stage.name.clone()).collect();
    let wanted = optional_sets(&workspace)?;
    if until.is_empty() && wanted.is_empty() {
        if common.json {
            terminal::json(&json!({"downloads": 0}));
        } else {
            terminal::line("there is nothing to fetch");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !until.is_empty() {
        let report = run(common, runner, &workspace, &Choice { until, ..Choice::default() })?;
        if let Some(kind) = ErrorKind::of_run(&report) {
            return Ok(kind.into());
        }
        let downloads = report.results.len();
        if common.json {
            terminal::json(&json!({"downloads": downloads}));
        } else {
            let count = terminal::count(downloads, "download");
            terminal::line(&format!("{count} in the cache"));
        }
    }
    if wanted.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    fetch_sets(common, runner, workspace, &wanted)
}

/// Returns the folders that the pipeline looks in for published sets and does not find, each with the
/// name of the set's files.
fn optional_sets(workspace: &Workspace) -> Result<BTreeMap<String, &'static str>, CommandError> {
    let choices = workspace.plan.choices();
    let all: BTreeSet<String> = choices.keys().cloned().collect();
    let complete = load_recorded_plan(&workspace.source, &all)?;
    let missing = complete.stages().iter().filter_map(|stage| match &*stage.stage {
        AnyStage::Dataset(set) => {
            let path = set.path.clone().filter(|path| choices.get(path) == Some(&false))?;
            Some((path, set.source.published_files()?))
        }
        _ => None,
    });
    Ok(missing.collect())
}

/// Downloads sets by a pipeline of their own, and copies their files to where they are looked for.
fn fetch_sets(
    common: &Common,
    runner: &RunnerArgs,
    workspace: Workspace,
    wanted: &BTreeMap<String, &'static str>,
) -> Result<ExitCode, CommandError> {
    let folder = data_folder(common, &workspace);
    let stages = wanted.values().map(|files| format!("\"{files}\": Download(files: {files})"));
    let stages: BTreeSet<String> = stages.collect();
    let stages: Vec<String> = stages.into_iter().collect();
    let text = format!("Pipeline(name: \"fetch\", stages: {{{}}})", stages.join(", "));
    // Beside the pipeline, so that the same folders are searched for files that are here already.
    let source = Source::new(workspace.source.path().with_extension("fetch"), text);
    let plan = load_plan(&source, common)?;
    let workspace = Workspace { plan, source, ..workspace };
    let report = run(common, runner, &workspace, &Choice::default())?;
    if let Some(kind) = ErrorKind::of_run(&report) {
        return Ok(kind.into());
    }
    for (path, files) in wanted {
        let to = folder.join(path);
        let stage = workspace.stage(files)?;
        let Some(result) = report.results.get(&stage) else {
            continue;
        };
        for (name, from) in workspace.cache.reader(&result.artifact).files() {
            copy_below(&to, name, from)
                .map_err(|cause| CommandError::failed(format!("{}: {cause}", to.display())))?;
        }
        if common.json {
            terminal::json(&json!({"folder": to}));
        } else {
            terminal::line(&to.display().to_string());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the folder for data that are not beside the pipeline file, or the file's own.
fn data_folder(common: &Common, workspace: &Workspace) -> PathBuf {
    let given = common.data.as_deref().or_else(|| workspace.plan.data());
    given.unwrap_or_else(|| workspace.source.folder()).to_owned()
}

fn run(
    common: &Common,
    runner: &RunnerArgs,
    workspace: &Workspace,
    choice: &Choice,
) -> Result<RunReport, CommandError> {
    let selection = choice.select(&workspace.plan)?;
    let report = Runner::new(common, runner, &workspace.backend)?.run(workspace, &selection)?;
    let file = workspace.source.path().display().to_string();
    failed_stages::print(workspace, &report, |_| format!("to try again: pcae-run fetch {file}"));
    Ok(report)
}
