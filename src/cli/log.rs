//! `pcae-run log`: what a stage printed when it ran last.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::{Session, open_cache};
use super::terminal;
use crate::engine::assess::Standing;

/// Prints a log, by stage name or by the first digits of its key.
pub(super) fn log(common: &Common, stage: &str, file: Option<&Path>) -> Result<(), Failure> {
    let path = match by_key(common, stage)? {
        Some(path) => path,
        None => by_name(common, stage, file)?,
    };
    let text = fs::read(&path).map_err(|_| {
        Failure::usage(format!("`{stage}` has no log here: it has not been run on this cache"))
    })?;
    let text = String::from_utf8_lossy(&text);
    if common.json {
        terminal::json(&json!({"file": path, "text": text}));
    } else {
        terminal::line(text.trim_end());
    }
    Ok(())
}

fn by_key(common: &Common, text: &str) -> Result<Option<PathBuf>, Failure> {
    if text.len() < 8 || !text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let folder = open_cache(common)?.root().join("logs");
    let found = fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
    let starts = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(text))
    };
    Ok(found.into_iter().find(starts))
}

fn by_name(common: &Common, stage: &str, file: Option<&Path>) -> Result<PathBuf, Failure> {
    let session = Session::open(common, file)?;
    let index = session.stage(stage)?;
    let key = match &session.standings()?[index] {
        Standing::Cached(result) => result.key,
        Standing::Stale { record, .. } => record.key(),
        Standing::Waiting { .. } => {
            return Err(Failure::usage(format!(
                "`{stage}` waits for its inputs: it has no log yet"
            )));
        }
    };
    Ok(session.cache.log_path(&key))
}
