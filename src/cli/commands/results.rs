//! `pcae-run results`: every measured value, or every training curve, as one tidy table that data
//! frames are read from.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::json;

use super::report::publish::{at, replace};
use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, hold};
use crate::engine::cache::StoredResult;
use crate::engine::plan::PlannedStage;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::artifact::Artifact;
use crate::report::{TidyFormat, TidyRun, TidyTable, Values};
use crate::stages::{AnyStage, TrainingHistory, unit};

/// What is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measures {
    /// The values of records.
    Values,
    /// The losses and other curves of trainings, epoch by epoch.
    Histories,
}

/// Writes the table to a file, or to standard output.
pub(super) fn results(
    common: &Common,
    measures: Measures,
    out: Option<&Path>,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let format = out.map(format_of).transpose()?;
    let workspace = Workspace::open(common, file)?;
    let _in_use = hold(&workspace.cache)?;
    let statuses = workspace.statuses()?;
    let table = match measures {
        Measures::Values => values(&workspace, &statuses)?,
        Measures::Histories => histories(&workspace, &statuses)?,
    };
    let is_missing = |status: &&StageStatus| !matches!(status, StageStatus::Cached(_));
    let missing = statuses.iter().filter(is_missing).count();
    let pipeline = workspace.source.path().display();
    if table.is_empty() {
        let what = match measures {
            Measures::Values => "measured values",
            Measures::Histories => "training curves",
        };
        let error = CommandError::usage(format!("the cache has no {what} of `{pipeline}`"));
        return Err(if missing > 0 {
            error.hint(format!("run `pcae-run {pipeline}`"))
        } else {
            error
        });
    }
    if missing > 0 {
        let stages = terminal::count(missing, "stage");
        terminal::note(&format!("{stages} without a cached result: the table has no rows of them"));
    }
    match (out, format) {
        (Some(path), Some(format)) => {
            let mut bytes = Vec::new();
            table.write(format, &mut bytes).map_err(CommandError::failed)?;
            replace(&bytes, path).map_err(|cause| at(path, &cause))?;
            if common.json {
                terminal::json(&json!({"file": path, "rows": table.len()}));
            } else {
                let rows = terminal::count(table.len(), "row");
                terminal::line(&format!("{}: {rows}", path.display()));
            }
        }
        _ if common.json => table.objects().for_each(|row| terminal::json(&row)),
        _ => {
            // Whoever reads may have enough after a few lines.
            let _ = table.write(TidyFormat::Csv, &mut io::stdout().lock());
        }
    }
    Ok(())
}

fn format_of(path: &Path) -> Result<TidyFormat, CommandError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    TidyFormat::of_ending(&ending).ok_or_else(|| {
        CommandError::usage(format!("`{}` should end with .parquet, .csv or .json", path.display()))
    })
}

/// Returns the values of all records.
fn values(workspace: &Workspace, statuses: &[StageStatus]) -> Result<TidyTable, CommandError> {
    let mut runs = Vec::new();
    let mut stages: BTreeMap<&str, &AnyStage> = BTreeMap::new();
    for (planned, result) in results_of::<Values>(workspace, statuses) {
        let run = run(workspace, planned, result)?;
        let reader = workspace.cache.reader(&result.artifact);
        runs.push((run, Values::read(&reader).map_err(CommandError::cache)?));
        stages.insert(&planned.name, &planned.stage);
    }
    Ok(TidyTable::of_results(runs, |run, field, values| {
        unit(stages.get(run.stage.as_str())?, field, values)
    }))
}

/// Returns the curves of all trainings.
fn histories(workspace: &Workspace, statuses: &[StageStatus]) -> Result<TidyTable, CommandError> {
    let mut runs = Vec::new();
    for (planned, result) in results_of::<TrainingHistory>(workspace, statuses) {
        let run = run(workspace, planned, result)?;
        let reader = workspace.cache.reader(&result.artifact);
        let history = TrainingHistory::of_model(&reader).map_err(CommandError::cache)?;
        runs.extend(history.map(|history| (run, history)));
    }
    Ok(TidyTable::of_histories(
        runs.iter().map(|(run, history)| (run.clone(), &history.columns[..], &history.rows[..])),
    ))
}

/// Returns the stages whose cached results can be read as a `T`.
fn results_of<'w, T: Artifact>(
    workspace: &'w Workspace,
    statuses: &'w [StageStatus],
) -> impl Iterator<Item = (&'w PlannedStage<AnyStage>, &'w StoredResult)> {
    workspace.plan.stages().iter().zip(statuses).filter_map(|(planned, status)| match status {
        StageStatus::Cached(result) if T::KINDS.contains(&result.artifact.kind.as_str()) => {
            Some((planned, result))
        }
        _ => None,
    })
}

fn run(
    workspace: &Workspace,
    planned: &PlannedStage<AnyStage>,
    result: &StoredResult,
) -> Result<TidyRun, CommandError> {
    workspace.cache.check_input(&result.artifact)?;
    let entry = workspace.cache.entry(&result.key)?;
    Ok(TidyRun {
        stage: planned.name.clone(),
        labels: planned.labels.clone(),
        key: result.key.to_string(),
        seconds: entry.run.seconds,
        host: entry.run.host,
        device: entry.run.device,
    })
}
