//! `pcae-run cache`: what the cache holds, whether it is intact, and how its index is rebuilt.

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{hold, open_known_cache, require_cache};
use crate::engine::cache::{Cache, Verification};

/// Shows what the cache holds.
pub(super) fn stats(common: &Common) -> Result<(), CommandError> {
    let cache = open_known_cache(common)?;
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
            "{kind:<12} {entries:>6}  {:>9}  computed in {}",
            terminal::size(bytes),
            terminal::duration(seconds)
        ));
    }
    terminal::line(&format!("{:<12} {entries:>6}  {:>9}", "all", terminal::size(bytes)));
    if !trajectories.is_empty() {
        terminal::line(&format!(
            "{:<12} {:>6}  {:>9}  to resume from",
            "saved states",
            trajectories.len(),
            terminal::size(state_bytes)
        ));
    }
    Ok(())
}

/// Verifies every file of every result.
pub(super) fn verify(common: &Common) -> Result<(), CommandError> {
    let cache = open_known_cache(common)?;
    let _in_use = hold(&cache)?;
    let found = cache.verify()?;
    let Verification { results, damaged, deviating } = &found;
    if common.json {
        terminal::json(&json!({"entries": results, "damaged": damaged, "index": deviating}));
    }
    if found.is_sound() {
        if !common.json {
            terminal::line(&format!("{}, all intact", terminal::count(*results, "result")));
        }
        return Ok(());
    }
    for (key, damage) in damaged.iter().chain(deviating) {
        terminal::note(&format!("{key}: {damage}"));
    }
    let message = match (damaged.len(), deviating.len()) {
        (0, 1) => "1 row of the index is wrong".to_owned(),
        (0, rows) => format!("{rows} rows of the index are wrong"),
        (1, _) => format!("1 of {results} results is damaged"),
        (many, _) => format!("{many} of {results} results are damaged"),
    };
    let mut error = CommandError::cache(message);
    if !damaged.is_empty() {
        error = error.hint("run with `--verify` to compute them again");
    }
    if !deviating.is_empty() {
        error = error.hint("`pcae-run cache rebuild` makes the index anew");
    }
    Err(error)
}

/// Rebuilds the index.
pub(super) fn rebuild(common: &Common) -> Result<(), CommandError> {
    require_cache(common)?;
    let entries = Cache::rebuild(&common.cache)?;
    if common.json {
        terminal::json(&json!({"entries": entries}));
    } else {
        let results = terminal::count(entries, "result");
        terminal::line(&format!("rebuilt the index: {results}"));
    }
    Ok(())
}
