//! `pcae-run plan`: what would run, why, how long and how large.

use std::path::Path;

use serde_json::json;

use super::scale_difference;
use crate::cli::args::Common;
use crate::cli::cluster;
use crate::cli::error::CommandError;
use crate::cli::output::state::State;
use crate::cli::output::terminal::{self, Tone, paint};
use crate::cli::preflight::due;
use crate::cli::preflight::missing_files::MissingFiles;
use crate::cli::preflight::prediction::{Parallelism, Prediction};
use crate::cli::preflight::rates::Rates;
use crate::cli::workspace::{Workspace, device_jobs};
use crate::engine::plan::select::Choice;
use crate::engine::run::status::StageStatus;
use crate::engine::site::ExecutorKind;
use crate::engine::stage::StageSet;
use crate::engine::system::host;

/// Shows the plan.
pub(super) fn plan(
    common: &Common,
    file: Option<&Path>,
    choice: &Choice,
    against: Option<&str>,
) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    if let Some(scale) = against {
        return scale_difference::print(common, &workspace, scale);
    }
    terminal::warnings(&workspace.source, workspace.plan.warnings());
    let selection = choice.select(&workspace.plan)?;
    let mut statuses = workspace.statuses()?;
    for &stage in &selection.forced {
        if let StageStatus::Cached(result) = &statuses[stage] {
            let record = Box::new(workspace.cache.entry(&result.key)?.record);
            statuses[stage] = StageStatus::Stale { record, why: "forced".to_owned() };
        }
    }
    let chosen = |stage: &usize| selection.allowed.contains(stage);
    let (mut cached, mut run, mut waiting) = (0, 0, 0);
    let mut lines = Vec::new();
    for stage in (0..statuses.len()).filter(chosen) {
        let (planned, status) = (&workspace.plan.stages()[stage], &statuses[stage]);
        let (word, reason) = match status {
            StageStatus::Cached(_) => {
                cached += 1;
                continue;
            }
            StageStatus::Stale { why, .. } => {
                run += 1;
                (paint(Tone::Busy, "run  "), why.clone())
            }
            StageStatus::Waiting { on } => {
                waiting += 1;
                (paint(Tone::Faint, "later"), workspace.waits_for(on))
            }
        };
        lines.push(format!("  {word}  {}  {}", planned.name, paint(Tone::Faint, &reason)));
    }
    let due = due(&selection, &statuses);
    // A plan may be made where the devices are not.
    let named = common.device.indices().len().max(1);
    let devices = common.device.devices().map_or(named, |devices| devices.len());
    let parallelism = Parallelism {
        jobs: common.jobs.unwrap_or_else(host::cores),
        device_jobs: device_jobs(&common.device) * devices,
    };
    let threads = (host::cores() / parallelism.jobs.min(parallelism.device_jobs)).max(1);
    // Only a run measures: a plan should appear at once.
    let mut rates = Rates::new(&workspace, common.device.first(), threads);
    let prediction =
        Prediction::of(&workspace.plan, &workspace.cache, &due, parallelism, &mut rates)?;
    let missing = MissingFiles::of(&workspace, &statuses, &due);
    if common.json {
        for stage in (0..statuses.len()).filter(chosen) {
            print_json(&workspace, stage, &statuses[stage]);
        }
        terminal::json(&json!({ "prediction": prediction }));
        return Ok(());
    }
    let total = terminal::count(selection.allowed.len(), "stage");
    let depend = if waiting == 1 { "depends" } else { "depend" };
    terminal::line(&format!(
        "{total}: {cached} cached, {run} to run, {waiting} {depend} on stages that will run"
    ));
    if !lines.is_empty() {
        terminal::line(&lines.join("\n"));
    }
    prediction.print();
    if common.site.executor == ExecutorKind::Slurm && !due.is_empty() {
        cluster::print_resources(common, &workspace, &due);
    }
    let (unavailable, downloads) = missing.partition(common.offline);
    if !unavailable.is_empty() {
        terminal::warning(&unavailable.error(common.offline));
    }
    if !downloads.is_empty() {
        terminal::note(&format!("to download: {}\n{}", downloads.amount(), downloads.list()));
        terminal::note(&format!("or {}", downloads.advice()));
    }
    Ok(())
}

fn print_json(workspace: &Workspace, stage: usize, status: &StageStatus) {
    let planned = &workspace.plan.stages()[stage];
    let (state, key, why) = match status {
        StageStatus::Cached(result) => (State::Cached, Some(result.key), None),
        StageStatus::Stale { record, why } => (State::Stale, Some(record.key()), Some(why.clone())),
        StageStatus::Waiting { on } => (State::Waiting, None, Some(workspace.waits_for(on))),
    };
    terminal::json(&json!({
        "stage": planned.name,
        "kind": planned.stage.as_stage().kind().name,
        "labels": planned.labels,
        "state": state,
        "key": key,
        "why": why,
    }));
}
