//! `pcae-run why`: the components in which a key differs from the closest other one.

use std::path::Path;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::state::State;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, hold};
use crate::engine::cache::Entry;
use crate::engine::key::KeyRecord;
use crate::engine::run::status::StageStatus;

/// At most this many earlier results of the kind are compared.
const COMPARED: usize = 1000;

/// Explains a stage.
pub(super) fn why(common: &Common, stage: &str, file: Option<&Path>) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    let index = workspace.stage(stage)?;
    let planned = &workspace.plan.stages()[index];
    let _in_use = hold(&workspace.cache)?;
    let (state, record) = match workspace.statuses()?.swap_remove(index) {
        StageStatus::Cached(result) => (State::Cached, workspace.cache.entry(&result.key)?.record),
        StageStatus::Stale { record, .. } => (State::Stale, *record),
        StageStatus::Waiting { on } => {
            let names: Vec<_> =
                on.iter().map(|&input| workspace.plan.stages()[input].name.as_str()).collect();
            if common.json {
                let state = State::Waiting;
                terminal::json(&json!({"stage": planned.name, "state": state, "inputs": names}));
            } else {
                let (first, names) = (names.first().copied().unwrap_or_default(), names.join(", "));
                terminal::line(&format!(
                    "{}: its key depends on {names}, which would run first",
                    planned.name
                ));
                terminal::line(&format!("see `pcae-run why {first}`"));
            }
            return Ok(());
        }
    };
    let closest = workspace.cache.closest(&planned.name, &record, COMPARED)?;
    if common.json {
        print_json(&planned.name, state, &record, closest.as_ref());
    } else {
        print(&planned.name, planned.line, state, &record, closest.as_ref());
    }
    Ok(())
}

fn print(stage: &str, line: usize, state: State, record: &KeyRecord, closest: Option<&Entry>) {
    let key = record.key().short();
    let state = if state == State::Cached { "hit: cached" } else { "miss: would run" };
    terminal::line(&format!("{stage} {key} (line {line})  {state}"));
    let Some(earlier) = closest else {
        terminal::line("the cache has no other result of this kind");
        return;
    };
    let differences = record.differences(&earlier.record);
    terminal::line(&format!(
        "closest other key {} ({}, {}, took {}); {} of {} components {}",
        earlier.key.short(),
        earlier.run.stage,
        terminal::age(earlier.run.finished),
        terminal::duration(earlier.run.seconds),
        differences.len(),
        record.components().len().max(earlier.record.components().len()),
        if differences.len() == 1 { "differs" } else { "differ" },
    ));
    for difference in differences {
        terminal::line(&format!("  {}", difference.line()));
    }
}

fn print_json(stage: &str, state: State, record: &KeyRecord, closest: Option<&Entry>) {
    terminal::json(&json!({
        "stage": stage,
        "state": state,
        "key": record.key(),
        "closest": closest.map(|entry| entry.key),
        "differences": closest.map(|entry| record.differences(&entry.record)),
    }));
}
