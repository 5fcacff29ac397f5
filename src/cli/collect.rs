//! `pcae-run gc`: lists what no pipeline reaches any more, and deletes it only when told to.

use std::path::PathBuf;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::{Session, open_cache};
use super::terminal;
use crate::engine::assess::Standing;
use crate::engine::cache::{Cache, Entry, Reached};
use crate::engine::stage::StageSet;

/// Lists, and with `delete` removes, what is not reached.
pub(super) fn collect(
    common: &Common,
    files: &[PathBuf],
    delete: bool,
    free: Option<u64>,
) -> Result<(), Failure> {
    let cache = open_cache(common)?;
    // Nothing may come into use between the listing and the deletion.
    let alone = if delete { Some(cache.hold_alone()?) } else { None };
    let reached = reached(common, &cache, &pipelines(&cache, files)?)?;
    let collection = cache.collectable(&reached, free.map(|megabytes| megabytes * 1_000_000))?;
    let results: u64 = collection.candidates.iter().map(|candidate| candidate.bytes).sum();
    let states: u64 = collection.trajectories.iter().map(|trajectory| trajectory.bytes).sum();
    for candidate in &collection.candidates {
        let run = &candidate.entry.run;
        if common.json {
            terminal::json(&json!({
                "key": candidate.entry.key, "stage": run.stage, "bytes": candidate.bytes,
                "seconds": run.seconds,
            }));
        } else {
            terminal::line(&format!(
                "{} {}/{}  {}, {} to make again",
                candidate.entry.key.short(),
                run.pipeline,
                run.stage,
                terminal::size(candidate.bytes),
                terminal::duration(run.seconds)
            ));
        }
    }
    for trajectory in &collection.trajectories {
        if common.json {
            terminal::json(&json!({"trajectory": trajectory.key, "bytes": trajectory.bytes}));
        } else {
            let (key, bytes) = (trajectory.key.short(), terminal::size(trajectory.bytes));
            terminal::line(&format!("{key} saved state to go on from  {bytes}"));
        }
    }
    let found = format!(
        "{}, {}, {}, {}",
        terminal::count(collection.candidates.len(), "result"),
        terminal::count(collection.strays.len(), "stray file"),
        terminal::count(collection.abandoned.len(), "leftover"),
        terminal::count(collection.trajectories.len(), "saved state"),
    );
    if let Some(alone) = alone {
        let freed = cache.collect(&collection, &alone)?;
        terminal::note(&format!("deleted {found}: {} freed", terminal::size(freed)));
    } else {
        terminal::note(&format!(
            "{found} could go ({}); `--delete` removes them",
            terminal::size(results + states)
        ));
    }
    Ok(())
}

fn pipelines(cache: &Cache, given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let (known, gone): (Vec<_>, Vec<_>) =
        cache.pipelines()?.into_iter().partition(|path| path.is_file());
    for path in gone {
        let path = path.display();
        terminal::note(&format!("note: {path} is gone, so nothing is kept for its sake"));
    }
    if known.is_empty() {
        return Err(Failure::usage("name the pipeline files whose results stay"));
    }
    Ok(known)
}

/// Returns the keys and trajectories that the pipelines reach, or could reach again.
///
/// A stage whose key can't be worked out now, because something above it would run first, keeps
/// every result that a stage of its name ever had: the run above it may well come out as before.
/// Results of other devices and other environment variables stay, too.
fn reached(common: &Common, cache: &Cache, files: &[PathBuf]) -> Result<Reached, Failure> {
    let entries = cache.entries()?;
    let mut reached = Reached::default();
    for file in files {
        let session = Session::open(common, Some(file))?;
        for (planned, standing) in session.plan.stages().iter().zip(session.standings()?) {
            let record = match standing {
                Standing::Cached(result) => Some(session.cache.entry(&result.key)?.record),
                Standing::Stale { record, .. } => Some(*record),
                Standing::Waiting { .. } => None,
            };
            if let Some(record) = &record {
                reached.keys.insert(record.key());
                let horizon = planned.stage.as_stage().horizon();
                reached.trajectories.extend(record.trajectory(horizon));
            }
            let of_stage = |entry: &&Entry| match &record {
                Some(record) => record.is_alike(&entry.record),
                None => {
                    entry.run.pipeline == session.plan.name() && entry.run.stage == planned.name
                }
            };
            reached.keys.extend(entries.iter().filter(of_stage).map(|entry| entry.key));
        }
    }
    Ok(reached)
}
