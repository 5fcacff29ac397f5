//! What is checked before a run starts: whether files are missing, and how long it may take.

pub(crate) mod missing_files;
pub(crate) mod prediction;
pub(crate) mod rates;

use std::io::{self, IsTerminal, Write};

use serde_json::json;

use self::missing_files::MissingFiles;
use self::prediction::{Parallelism, Prediction};
use self::rates::{Basis, Rates};
use crate::cli::args::{Common, RunnerArgs};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;
use crate::engine::plan::StageIndex;
use crate::engine::plan::select::Selection;
use crate::engine::run::options::RunOptions;
use crate::engine::run::status::{self, StageStatus};

/// Predictions below this many seconds are not shown.
const SHOWN_FROM: f64 = 60.0;

/// Predictions above this many seconds must be confirmed.
const CONFIRMED_FROM: f64 = 24.0 * 3600.0;

/// Returns the chosen stages that would run.
pub(crate) fn due(selection: &Selection, statuses: &[StageStatus]) -> Vec<StageIndex> {
    let is_due = |stage: &StageIndex| {
        selection.forced.contains(stage) || !matches!(statuses[*stage], StageStatus::Cached(_))
    };
    selection.allowed.iter().copied().filter(is_due).collect()
}

/// What is known when a run may start.
pub(crate) struct Checked {
    /// Where every stage stands.
    pub(crate) statuses: Vec<StageStatus>,
    /// How long it may take.
    pub(crate) prediction: Prediction,
}

/// Checks whether a run should start.
pub(crate) fn check(
    common: &Common,
    args: &RunnerArgs,
    workspace: &Workspace,
    selection: &Selection,
    options: &RunOptions,
) -> Result<Checked, CommandError> {
    // The run itself reports damaged entries.
    let (statuses, _) = status::of_plan(&workspace.plan, &workspace.cache, &workspace.backend)?;
    let due = due(selection, &statuses);
    let missing = MissingFiles::of(workspace, &statuses, &due);
    let (unavailable, downloads) = missing.partition(common.offline);
    if !unavailable.is_empty() {
        let error = unavailable.error(common.offline);
        if !args.keep_going {
            return Err(error);
        }
        terminal::warning(&error);
    }
    if !downloads.is_empty() {
        let amount = downloads.amount();
        terminal::note(&format!("to download: {amount}; `pcae-run plan` lists them"));
    }
    let device_jobs = options.device_jobs * options.devices.len();
    let parallelism = Parallelism { jobs: options.jobs, device_jobs };
    let threads = options.cores / options.jobs.min(device_jobs).max(1);
    let mut rates = Rates::new(workspace, common.device.first(), threads.max(1));
    let Workspace { plan, cache, .. } = workspace;
    let mut prediction = Prediction::of(plan, cache, &due, parallelism, &mut rates)?;
    let matters = prediction.wall[1] >= SHOWN_FROM;
    if matters && prediction.counted > 0 && rates.basis() == Basis::Rough {
        rates.measure();
        prediction = Prediction::of(plan, cache, &due, parallelism, &mut rates)?;
    }
    if let Some(note) = workspace.scale_note(common) {
        let full = if matters { workspace.full_scale(common)? } else { None };
        let time = match &full {
            Some(full) => {
                let all: Vec<StageIndex> = (0..full.stages().len()).collect();
                let time = Prediction::of(full, cache, &all, parallelism, &mut rates)?.time();
                let name = full.scale().unwrap_or_default();
                format!("; `--scale {name}` would take {time} here")
            }
            None => String::new(),
        };
        terminal::note(&format!("{note}{time}"));
    }
    if common.json {
        terminal::json(&json!({ "event": "predicted", "prediction": prediction }));
    } else if prediction.middle() >= SHOWN_FROM {
        let (time, basis) = (prediction.time(), prediction.basis());
        terminal::note(&format!(
            "predicted: {time} on {} with -j {} ({basis})",
            common.device, options.jobs
        ));
    }
    if prediction.middle() >= CONFIRMED_FROM && !args.yes {
        confirm(common, &prediction)?;
    }
    Ok(Checked { statuses, prediction })
}

/// Asks whether a run of more than a day is meant.
fn confirm(common: &Common, prediction: &Prediction) -> Result<(), CommandError> {
    let gpu = if common.device.is_processor() {
        "use a GPU (`--device NAME`, see `pcae-run doctor`), "
    } else {
        ""
    };
    let advice = format!(
        "to make it shorter, run a smaller pipeline or a part of this one (`--until STAGE`), \
         {gpu}or use a machine with more cores and a larger `-j`"
    );
    if common.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let time = prediction.time();
        let error = CommandError::usage(format!("this run is predicted to take {time}"));
        return Err(error.hint("pass `--yes` to start it anyway").hint(advice));
    }
    terminal::note(&advice);
    let _ = write!(io::stderr(), "This run may take more than a day. Start it? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().read_line(&mut answer);
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandError::usage("not started")),
    }
}
