//! What a person is told, and asked, before a run starts: files that are missing, and how long it
//! may take.

use std::io::{self, IsTerminal, Write};

use super::args::{Common, MannerArgs};
use super::failure::Failure;
use super::missing::Missing;
use super::prediction::{Lanes, Prediction};
use super::rates::{Basis, Rates};
use super::session::Session;
use super::terminal;
use crate::engine::assess::{self, Standing};
use crate::engine::plan::StageIndex;
use crate::engine::run::Manner;
use crate::engine::select::Selection;

/// Seconds below which nothing is said.
const WORTH_TELLING: f64 = 60.0;

/// Seconds above which the user is asked.
const WORTH_ASKING: f64 = 24.0 * 3600.0;

/// Returns the chosen stages that would run.
pub(super) fn due(selection: &Selection, standings: &[Standing]) -> Vec<StageIndex> {
    let is_due = |stage: &StageIndex| {
        selection.forced.contains(stage) || !matches!(standings[*stage], Standing::Cached(_))
    };
    selection.allowed.iter().copied().filter(is_due).collect()
}

/// Tells what lies ahead, and returns where every stage stands; an error if the run should not start.
pub(super) fn before_run(
    common: &Common,
    args: &MannerArgs,
    session: &Session,
    selection: &Selection,
    manner: &Manner,
) -> Result<Vec<Standing>, Failure> {
    // Damaged entries are told by the run itself.
    let (standings, _) = assess::assess(&session.plan, &session.cache, &session.backend)?;
    let due = due(selection, &standings);
    let (lost, fetched) = Missing::of(session, &standings, &due).sort(common.offline);
    if !lost.is_empty() {
        let complaint = lost.complaint(common.offline);
        if !args.keep_going {
            return Err(Failure::stage(complaint));
        }
        terminal::note(&complaint);
    }
    if !fetched.is_empty() {
        let amount = fetched.amount();
        terminal::note(&format!("to be fetched: {amount}; `pcae-run plan` lists them"));
    }
    let lanes = Lanes { jobs: manner.jobs, device_jobs: manner.device_jobs };
    let threads = manner.cores / lanes.jobs.min(lanes.device_jobs).max(1);
    let mut rates = Rates::new(session, common.device, threads.max(1));
    let mut prediction = Prediction::of(session, &due, lanes, &mut rates)?;
    let matters = prediction.wall[1] >= WORTH_TELLING;
    if matters && prediction.counted > 0 && rates.basis() == Basis::Rough {
        rates.measure();
        prediction = Prediction::of(session, &due, lanes, &mut rates)?;
    }
    if prediction.middle() >= WORTH_TELLING {
        let (time, grounds) = (prediction.time(), prediction.grounds());
        terminal::note(&format!(
            "predicted: {time} on {} with -j {} ({grounds})",
            common.device, manner.jobs
        ));
    }
    if prediction.middle() >= WORTH_ASKING && !args.yes {
        agree(common, &prediction)?;
    }
    Ok(standings)
}

/// Asks whether a run of more than a day is meant.
fn agree(common: &Common, prediction: &Prediction) -> Result<(), Failure> {
    let processor = if common.device.is_processor() {
        "a GPU (`--device NAME`, see `pcae-run doctor`), "
    } else {
        ""
    };
    let advice = format!(
        "What takes less: a smaller pipeline or only a part of this one (`--until STAGE`), \
         {processor}a machine with more cores and a larger `-j`, such as a node of a cluster."
    );
    if common.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(format!(
            "this run is predicted to take {}; start it with `--yes` if that is meant\n{advice}",
            prediction.time()
        )));
    }
    terminal::note(&advice);
    let _ = write!(io::stderr(), "This takes more than a day: go on? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().read_line(&mut answer);
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::usage("not started")),
    }
}
