//! `pcae-run plan`: what would run, why, how long and how large.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::{Session, cores};
use super::terminal::{self, Tone, paint};
use crate::engine::assess::Standing;
use crate::engine::select::Choice;
use crate::engine::stage::StageSet;

/// Below this many earlier runs of a kind nothing is predicted.
const FEWEST_RUNS: usize = 3;

/// Shows the plan.
pub(super) fn plan(common: &Common, file: Option<&Path>, choice: &Choice) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let selection = choice.select(&session.plan)?;
    let mut standings = session.standings()?;
    for &stage in &selection.forced {
        if let Standing::Cached(entry) = &standings[stage] {
            let record = Box::new(entry.record.clone());
            standings[stage] = Standing::Stale { record, why: "forced".to_owned() };
        }
    }
    let chosen = |stage: &usize| selection.allowed.contains(stage);
    let (mut cached, mut run, mut waiting) = (0, 0, 0);
    let mut kinds = BTreeMap::<&str, usize>::new();
    let mut lines = Vec::new();
    for stage in (0..standings.len()).filter(chosen) {
        let (planned, standing) = (&session.plan.stages()[stage], &standings[stage]);
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
    let prediction = Prediction::of(&session, &kinds)?;
    if common.json {
        for stage in (0..standings.len()).filter(chosen) {
            print_json(&session, stage, &standings[stage]);
        }
        terminal::json(&json!({ "prediction": prediction }));
        return Ok(());
    }
    let total = terminal::count(selection.allowed.len(), "stage");
    terminal::line(&format!("{total}: {cached} cached, {run} run, {waiting} follow their inputs"));
    for line in &lines {
        terminal::line(line);
    }
    prediction.print(common.jobs.unwrap_or_else(cores));
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

/// What running the stages may take, from what earlier runs of their kinds took.
#[derive(Debug, Default, Serialize)]
struct Prediction {
    /// Compute seconds: from the quicker tenth to the slower tenth of earlier runs.
    seconds: [f64; 2],
    /// Bytes on disk, likewise.
    bytes: [f64; 2],
    /// How many earlier runs this rests on.
    runs: usize,
    /// Kinds with too few earlier runs, and how many stages of each are due.
    unknown: BTreeMap<String, usize>,
}

impl Prediction {
    fn of(session: &Session, kinds: &BTreeMap<&str, usize>) -> Result<Self, Failure> {
        let mut sum = Self::default();
        for (kind, &count) in kinds {
            let history = session.cache.history(kind)?;
            if history.seconds.len() < FEWEST_RUNS {
                sum.unknown.insert((*kind).to_owned(), count);
                continue;
            }
            sum.runs += history.seconds.len();
            let bytes: Vec<_> = history.bytes.iter().map(|&bytes| bytes as f64).collect();
            for (at, share) in [0.1, 0.9].into_iter().enumerate() {
                sum.seconds[at] += count as f64 * quantile(&history.seconds, share);
                sum.bytes[at] += count as f64 * quantile(&bytes, share);
            }
        }
        Ok(sum)
    }

    fn print(&self, jobs: usize) {
        let range = |values: [f64; 2], show: fn(f64) -> String| {
            let [low, high] = values.map(show);
            if low == high { low } else { format!("{low} to {high}") }
        };
        if self.runs > 0 {
            terminal::line(&format!(
                "compute time {}, with -j {jobs} at best {}; disk {} (history: {})",
                range(self.seconds, terminal::duration),
                terminal::duration(self.seconds[0] / jobs as f64),
                range(self.bytes, |bytes| terminal::size(bytes as u64)),
                terminal::count(self.runs, "run"),
            ));
        }
        if !self.unknown.is_empty() {
            let kinds: Vec<_> =
                self.unknown.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            terminal::line(&format!(
                "no history (fewer than {FEWEST_RUNS} runs): {}",
                kinds.join(", ")
            ));
        }
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[at]
}

fn print_json(session: &Session, stage: usize, standing: &Standing) {
    let planned = &session.plan.stages()[stage];
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
