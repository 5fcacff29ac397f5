//! `pcae-run gc`: lists what no pipeline reaches any more, and deletes it only when told to.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::{Session, open_cache};
use super::terminal;
use crate::engine::assess::Standing;
use crate::engine::cache::Cache;
use crate::engine::digest::StageKey;

/// Lists, and with `delete` removes, what is not reached.
pub(super) fn collect(
    common: &Common,
    files: &[PathBuf],
    delete: bool,
    free: Option<u64>,
) -> Result<(), Failure> {
    let cache = open_cache(common)?;
    let keep = reached(common, &pipelines(&cache, files)?)?;
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
        terminal::count(collection.abandoned.len(), "abandoned folder"),
    );
    if delete {
        let freed = cache.collect(&collection)?;
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
    let known: Vec<_> = cache.pipelines()?.into_iter().filter(|path| path.is_file()).collect();
    if known.is_empty() {
        return Err(Failure::usage("name the pipeline files whose results stay"));
    }
    Ok(known)
}

/// Returns the keys of every stage of every pipeline that has one now.
fn reached(common: &Common, files: &[PathBuf]) -> Result<BTreeSet<StageKey>, Failure> {
    let mut keep = BTreeSet::new();
    for file in files {
        let session = Session::open(common, Some(file))?;
        for standing in session.standings()? {
            match standing {
                Standing::Cached(entry) => keep.insert(entry.key),
                Standing::Stale { record, .. } => keep.insert(record.key()),
                Standing::Waiting { .. } => false,
            };
        }
    }
    Ok(keep)
}
