//! `pcae-run plan`: what would run, why, how long and how large.

use std::path::Path;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::missing::Missing;
use super::outlook::due;
use super::prediction::{Lanes, Prediction};
use super::rates::Rates;
use super::session::{Session, device_jobs};
use super::terminal::{self, Tone, paint};
use crate::engine::assess::Standing;
use crate::engine::host;
use crate::engine::select::Choice;
use crate::engine::stage::StageSet;

/// Shows the plan.
pub(super) fn plan(common: &Common, file: Option<&Path>, choice: &Choice) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let selection = choice.select(&session.plan)?;
    let mut standings = session.standings()?;
    for &stage in &selection.forced {
        if let Standing::Cached(result) = &standings[stage] {
            let record = Box::new(session.cache.entry(&result.key)?.record);
            standings[stage] = Standing::Stale { record, why: "forced".to_owned() };
        }
    }
    let chosen = |stage: &usize| selection.allowed.contains(stage);
    let (mut cached, mut run, mut waiting) = (0, 0, 0);
    let mut lines = Vec::new();
    for stage in (0..standings.len()).filter(chosen) {
        let (planned, standing) = (&session.plan.stages()[stage], &standings[stage]);
        let (word, reason) = match standing {
            Standing::Cached(_) => {
                cached += 1;
                continue;
            }
            Standing::Stale { why, .. } => {
                run += 1;
                (paint(Tone::Busy, "run  "), why.clone())
            }
            Standing::Waiting { on } => {
                waiting += 1;
                (paint(Tone::Faint, "after"), after(&session, on))
            }
        };
        lines.push(format!("  {word}  {}  {}", planned.name, paint(Tone::Faint, &reason)));
    }
    let due = due(&selection, &standings);
    let lanes = Lanes {
        jobs: common.jobs.unwrap_or_else(host::cores),
        device_jobs: device_jobs(common.device),
    };
    let threads = (host::cores() / lanes.jobs.min(lanes.device_jobs)).max(1);
    // Only a real run measures: a plan is to be there at once.
    let mut rates = Rates::new(&session, common.device, threads);
    let prediction = Prediction::of(&session, &due, lanes, &mut rates)?;
    let missing = Missing::of(&session, &standings, &due);
    if common.json {
        for stage in (0..standings.len()).filter(chosen) {
            print_json(&session, stage, &standings[stage]);
        }
        terminal::json(&json!({ "prediction": prediction }));
        return Ok(());
    }
    let total = terminal::count(selection.allowed.len(), "stage");
    terminal::line(&format!("{total}: {cached} cached, {run} run, {waiting} follow their inputs"));
    if !lines.is_empty() {
        terminal::line(&lines.join("\n"));
    }
    prediction.print();
    let (lost, fetched) = missing.sort(common.offline);
    if !lost.is_empty() {
        terminal::note(&lost.complaint(common.offline));
    }
    if !fetched.is_empty() {
        terminal::note(&format!("to be fetched: {}\n{}", fetched.amount(), fetched.list()));
    }
    Ok(())
}

fn after(session: &Session, on: &[usize]) -> String {
    let name = |stage: &usize| session.plan.stages()[*stage].name.as_str();
    match on {
        [only] => format!("after {}", name(only)),
        [first, rest @ ..] => format!("after {} and {} more", name(first), rest.len()),
        [] => String::new(),
    }
}

fn print_json(session: &Session, stage: usize, standing: &Standing) {
    let planned = &session.plan.stages()[stage];
    let (state, key, why) = match standing {
        Standing::Cached(result) => ("cached", Some(result.key), None),
        Standing::Stale { record, why } => ("run", Some(record.key()), Some(why.clone())),
        Standing::Waiting { on } => ("after", None, Some(after(session, on))),
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
