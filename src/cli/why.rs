//! `pcae-run why`: the components in which a key differs from the closest earlier one.

use std::path::Path;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::Session;
use super::terminal;
use crate::engine::assess::Standing;
use crate::engine::cache::Entry;
use crate::engine::clock;
use crate::engine::key::KeyRecord;

/// How many earlier results of the kind are compared.
const LOOKED_AT: usize = 1000;

/// Explains a stage.
pub(super) fn why(common: &Common, stage: &str, file: Option<&Path>) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let index = session.stage(stage)?;
    let planned = &session.plan.stages()[index];
    let _in_use = session.cache.hold().ok();
    let (state, record) = match session.standings()?.swap_remove(index) {
        Standing::Cached(result) => ("hit", session.cache.entry(&result.key)?.record),
        Standing::Stale { record, .. } => ("miss", *record),
        Standing::Waiting { on } => {
            let names: Vec<_> =
                on.iter().map(|&input| session.plan.stages()[input].name.as_str()).collect();
            if common.json {
                terminal::json(&json!({"stage": planned.name, "state": "after", "inputs": names}));
            } else {
                let names = names.join(", ");
                terminal::line(&format!(
                    "{}: its key depends on {names}, which would run",
                    planned.name
                ));
                terminal::line(&format!(
                    "ask `pcae-run why {}`",
                    on.first().map_or("", |&input| { session.plan.stages()[input].name.as_str() })
                ));
            }
            return Ok(());
        }
    };
    let closest = session.cache.closest(&planned.name, &record, LOOKED_AT)?;
    if common.json {
        print_json(&planned.name, state, &record, closest.as_ref());
    } else {
        print(&planned.name, planned.line, state, &record, closest.as_ref());
    }
    Ok(())
}

fn print(stage: &str, line: usize, state: &str, record: &KeyRecord, closest: Option<&Entry>) {
    let key = record.key().short();
    let state = if state == "hit" { "hit: cached" } else { "miss: would run" };
    terminal::line(&format!("{stage} {key} (line {line})  {state}"));
    let Some(earlier) = closest else {
        terminal::line("no other result of this kind has been kept");
        return;
    };
    let differences = record.differences(&earlier.record);
    terminal::line(&format!(
        "closest other key {} ({}, {}, took {}); {} of {} components differ",
        earlier.key.short(),
        earlier.run.stage,
        age(earlier.run.finished),
        terminal::duration(earlier.run.seconds),
        differences.len(),
        record.components().len().max(earlier.record.components().len()),
    ));
    for difference in differences {
        terminal::line(&format!("  {}", difference.line()));
    }
}

fn print_json(stage: &str, state: &str, record: &KeyRecord, closest: Option<&Entry>) {
    terminal::json(&json!({
        "stage": stage,
        "state": state,
        "key": record.key(),
        "closest": closest.map(|entry| entry.key),
        "differences": closest.map(|entry| record.differences(&entry.record)),
    }));
}

/// Returns how long ago something ended.
fn age(finished: u64) -> String {
    let seconds = clock::now().saturating_sub(finished);
    match seconds {
        0..120 => "just now".to_owned(),
        120..7200 => format!("{} minutes ago", seconds / 60),
        7200..172_800 => format!("{} hours ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
