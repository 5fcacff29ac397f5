//! `pcae-run gc`: lists what no pipeline reaches any more, and deletes it only when told to.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::{Session, open_cache};
use super::terminal;
use crate::engine::assess::Standing;
use crate::engine::cache::{Cache, Entry};
use crate::engine::digest::StageKey;
use crate::engine::key::KeyRecord;

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
    let keep = reached(common, &cache, &pipelines(&cache, files)?)?;
    let collection = cache.collectable(&keep, free.map(|megabytes| megabytes * 1_000_000))?;
    let bytes: u64 = collection.candidates.iter().map(|candidate| candidate.bytes).sum();
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
    let found = format!(
        "{}, {}, {}",
        terminal::count(collection.candidates.len(), "result"),
        terminal::count(collection.strays.len(), "stray file"),
        terminal::count(collection.abandoned.len(), "leftover"),
    );
    if let Some(alone) = alone {
        let freed = cache.collect(&collection, &alone)?;
        terminal::note(&format!("deleted {found}: {} freed", terminal::size(freed)));
    } else {
        terminal::note(&format!(
            "{found} could go ({}); `--delete` removes them",
            terminal::size(bytes)
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

/// Returns the keys that the pipelines reach, or could reach again.
///
/// A stage whose key can't be worked out now, because something above it would run first, keeps
/// every result that a stage of its name ever had: the run above it may well come out as before.
/// Results of other devices and other environment variables stay, too.
fn reached(
    common: &Common,
    cache: &Cache,
    files: &[PathBuf],
) -> Result<BTreeSet<StageKey>, Failure> {
    let entries = cache.entries()?;
    let mut keep = BTreeSet::new();
    for file in files {
        let session = Session::open(common, Some(file))?;
        for (planned, standing) in session.plan.stages().iter().zip(session.standings()?) {
            let record = match standing {
                Standing::Cached(entry) => Some(entry.record),
                Standing::Stale { record, .. } => Some(*record),
                Standing::Waiting { .. } => None,
            };
            keep.extend(record.as_ref().map(KeyRecord::key));
            let of_stage = |entry: &&Entry| match &record {
                Some(record) => record.is_alike(&entry.record),
                None => {
                    entry.run.pipeline == session.plan.name() && entry.run.stage == planned.name
                }
            };
            keep.extend(entries.iter().filter(of_stage).map(|entry| entry.key));
        }
    }
    Ok(keep)
}
