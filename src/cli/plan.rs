//! `pcae-run plan`: what would run, why, how long and how large.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::Session;
use super::terminal::{self, Tone, paint};
use crate::engine::assess::Standing;
use crate::engine::cache::History;
use crate::engine::stage::StageSet;

/// Below this many earlier runs of a kind nothing is predicted.
const FEWEST_RUNS: usize = 3;

/// Shows the plan.
pub(super) fn plan(common: &Common, file: Option<&Path>) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let standings = session.standings()?;
    if common.json {
        print_json(&session, &standings);
        return Ok(());
    }
    let (mut cached, mut run, mut waiting) = (0, 0, 0);
    let mut kinds = BTreeMap::<&str, usize>::new();
    let mut lines = Vec::new();
    for (planned, standing) in session.plan.stages().iter().zip(&standings) {
        let kind = planned.stage.as_stage().kind().name;
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
        *kinds.entry(kind).or_default() += 1;
        lines.push(format!("  {word}  {}  {}", planned.name, paint(Tone::Faint, &reason)));
    }
    let total = terminal::count(session.plan.stages().len(), "stage");
    terminal::line(&format!("{total}: {cached} cached, {run} run, {waiting} follow their inputs"));
    for line in &lines {
        terminal::line(line);
    }
    predict(&session, &kinds)
}

fn after(session: &Session, on: &[usize]) -> String {
    let name = |stage: &usize| session.plan.stages()[*stage].name.as_str();
    match on {
        [only] => format!("after {}", name(only)),
        [first, rest @ ..] => format!("after {} and {} more", name(first), rest.len()),
        [] => String::new(),
    }
}

/// Predicts time and disk from what earlier runs of each kind took.
fn predict(session: &Session, kinds: &BTreeMap<&str, usize>) -> Result<(), Failure> {
    let (mut low, mut high, mut bytes, mut runs) = (0.0, 0.0, 0.0, 0);
    let mut unknown = Vec::new();
    for (kind, &count) in kinds {
        let history = session.cache.history(kind)?;
        if history.seconds.len() < FEWEST_RUNS {
            unknown.push(format!("{kind} ({count})"));
            continue;
        }
        runs += history.seconds.len();
        let times = count as f64;
        low += times * quantile(&history.seconds, 0.1);
        high += times * quantile(&history.seconds, 0.9);
        bytes += times * mean_bytes(&history);
    }
    if runs > 0 {
        terminal::line(&format!(
            "compute time {} to {}, disk +{} (history: {})",
            terminal::duration(low),
            terminal::duration(high),
            terminal::size(bytes as u64),
            terminal::count(runs, "run"),
        ));
    }
    if !unknown.is_empty() {
        terminal::line(&format!("no history: {}", unknown.join(", ")));
    }
    Ok(())
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[at]
}

fn mean_bytes(history: &History) -> f64 {
    history.bytes.iter().sum::<u64>() as f64 / history.bytes.len().max(1) as f64
}

fn print_json(session: &Session, standings: &[Standing]) {
    for (planned, standing) in session.plan.stages().iter().zip(standings) {
        let (state, key, why) = match standing {
            Standing::Cached(entry) => ("cached", Some(entry.key), None),
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
}
