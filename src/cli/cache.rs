//! `pcae-run cache`: what the cache holds, whether it is sound, and its index made anew.

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::open_cache;
use super::terminal;
use crate::engine::cache::Cache;

/// Shows what the cache holds.
pub(super) fn stats(common: &Common) -> Result<(), Failure> {
    let cache = open_cache(common)?;
    let (entries, bytes) = cache.size()?;
    let kinds = cache.size_by_kind()?;
    let trajectories = cache.trajectories()?;
    let state_bytes: u64 = trajectories.iter().map(|trajectory| trajectory.bytes).sum();
    if common.json {
        let kinds: Vec<_> = kinds
            .iter()
            .map(|(kind, entries, bytes, seconds)| {
                json!({"kind": kind, "entries": entries, "bytes": bytes, "seconds": seconds})
            })
            .collect();
        terminal::json(&json!({
            "entries": entries, "bytes": bytes, "kinds": kinds,
            "trajectories": trajectories.len(), "trajectory_bytes": state_bytes,
        }));
        return Ok(());
    }
    for (kind, entries, bytes, seconds) in kinds {
        terminal::line(&format!(
            "{kind:<12} {entries:>6}  {:>9}  made in {}",
            terminal::size(bytes),
            terminal::duration(seconds)
        ));
    }
    terminal::line(&format!("{:<12} {entries:>6}  {:>9}", "all", terminal::size(bytes)));
    if !trajectories.is_empty() {
        terminal::line(&format!(
            "{:<12} {:>6}  {:>9}  to go on from, besides",
            "saved states",
            trajectories.len(),
            terminal::size(state_bytes)
        ));
    }
    Ok(())
}

/// Checks every file of every entry.
pub(super) fn verify(common: &Common) -> Result<(), Failure> {
    let cache = open_cache(common)?;
    let damaged = cache.verify()?;
    let (entries, _) = cache.size()?;
    if common.json {
        terminal::json(&json!({"entries": entries, "damaged": damaged}));
    }
    if damaged.is_empty() {
        if !common.json {
            terminal::line(&format!("{entries} entries, all sound"));
        }
        return Ok(());
    }
    for (key, damage) in &damaged {
        terminal::note(&format!("{key}: {damage}"));
    }
    Err(Failure::integrity(format!(
        "{} of {entries} entries are damaged; a run with `--verify` makes them again",
        damaged.len()
    )))
}

/// Makes the index anew.
pub(super) fn rebuild(common: &Common) -> Result<(), Failure> {
    let entries = Cache::rebuild(&common.cache)?;
    if common.json {
        terminal::json(&json!({"entries": entries}));
    } else {
        terminal::line(&format!("the index has {entries} entries again"));
    }
    Ok(())
}
