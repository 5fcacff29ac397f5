//! `pcae-run gc`: lists results that no pipeline uses any more, and deletes them on request.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, open_known_cache, reached_by};
use crate::engine::cache::{Cache, GcRoots};
use crate::engine::digest::StageKey;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::StageSet;

/// Lists, and with `delete` removes, what no pipeline uses.
pub(super) fn gc(
    common: &Common,
    files: &[PathBuf],
    delete: bool,
    free: Option<u64>,
) -> Result<(), CommandError> {
    let cache = open_known_cache(common)?;
    // Nothing may come into use between the listing and the deletion.
    let alone = if delete { Some(cache.hold_alone()?) } else { None };
    let roots = gc_roots(common, &cache, &pipelines(&cache, files)?)?;
    let collection = cache.collectable(&roots, free.map(|megabytes| megabytes * 1_000_000))?;
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
                "{} {}/{}  {}, {} to recompute",
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
            terminal::line(&format!("{key} saved state  {bytes}"));
        }
    }
    let found = format!(
        "{}, {}, {}, {}",
        terminal::count(collection.candidates.len(), "result"),
        terminal::count(collection.strays.len(), "unreferenced file"),
        terminal::count(collection.abandoned.len(), "abandoned file"),
        terminal::count(collection.trajectories.len(), "saved state"),
    );
    if collection.unusable > 0 {
        let manifests = terminal::count(collection.unusable, "manifest");
        terminal::note(&format!(
            "note: {manifests} can't be read, so no file is deleted; see `pcae-run cache verify`"
        ));
    }
    if common.json {
        terminal::json(&json!({
            "results": collection.candidates.len(),
            "unreferenced_files": collection.strays.len(),
            "abandoned_files": collection.abandoned.len(),
            "saved_states": collection.trajectories.len(),
            "bytes": results + states,
            "deleted": alone.is_some(),
        }));
    }
    if let Some(alone) = alone {
        let freed = cache.collect(&collection, &alone)?;
        terminal::note(&format!("deleted {found}: {} freed", terminal::size(freed)));
    } else {
        terminal::note(&format!(
            "to delete: {found} ({}); pass `--delete` to delete them",
            terminal::size(results + states)
        ));
    }
    Ok(())
}

fn pipelines(cache: &Cache, given: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let (known, gone): (Vec<_>, Vec<_>) =
        cache.pipelines()?.into_iter().partition(|path| path.is_file());
    for path in gone {
        let path = path.display();
        terminal::note(&format!("note: {path} no longer exists; its results are not kept"));
    }
    if known.is_empty() {
        let error = CommandError::usage("no pipeline has been run with this cache yet");
        return Err(error.hint("pass the pipeline files whose results to keep"));
    }
    Ok(known)
}

/// Returns the keys and trajectories that the pipelines reach, or could reach again.
///
/// A stage whose key can't be worked out now, because something above it would run first, keeps
/// every result that a stage of its name ever had: the run above it may well come out as before.
/// Results of other devices and other environment variables stay, too, and so does what runs of the
/// same file with other data folders have reached.
fn gc_roots(common: &Common, cache: &Cache, files: &[PathBuf]) -> Result<GcRoots, CommandError> {
    let entries = cache.entries()?;
    let mut by_record = BTreeMap::<StageKey, Vec<StageKey>>::new();
    let mut by_stage = BTreeMap::<(&str, &str), Vec<StageKey>>::new();
    for entry in &entries {
        by_record.entry(entry.record.without_environment()).or_default().push(entry.key);
        by_stage.entry((&entry.run.pipeline, &entry.run.stage)).or_default().push(entry.key);
    }
    let mut roots = GcRoots::default();
    for file in files {
        let workspace = Workspace::open(common, Some(file))?;
        let reached = reached_by(common, &workspace);
        roots.keys.extend(cache.reached(&reached.pipeline, &reached.text)?);
        for (planned, status) in workspace.plan.stages().iter().zip(workspace.statuses()?) {
            let record = match status {
                StageStatus::Cached(result) => Some(workspace.cache.entry(&result.key)?.record),
                StageStatus::Stale { record, .. } => Some(*record),
                StageStatus::Waiting { .. } => None,
            };
            let of_stage = if let Some(record) = &record {
                roots.keys.insert(record.key());
                let horizon = planned.stage.as_stage().horizon();
                roots.trajectories.extend(record.trajectory(horizon));
                by_record.get(&record.without_environment())
            } else {
                by_stage.get(&(workspace.plan.name(), planned.name.as_str()))
            };
            roots.keys.extend(of_stage.into_iter().flatten());
        }
    }
    Ok(roots)
}
