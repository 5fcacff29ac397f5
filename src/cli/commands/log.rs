//! `pcae-run log`: what a stage printed when it last ran.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, open_cache};
use crate::engine::run::status::StageStatus;
use crate::engine::system::regular_file;

/// Prints a log, by stage name or by the first digits of its key.
pub(super) fn log(common: &Common, stage: &str, file: Option<&Path>) -> Result<(), CommandError> {
    let path = match by_key(common, stage)? {
        Some(path) => path,
        None => by_name(common, stage, file)?,
    };
    let text = regular_file::read(&path).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => {
            let message = format!("`{stage}` has no log: it has not been run with this cache");
            CommandError::usage(message)
        }
        _ => CommandError::failed(format!("{}: {cause}", path.display())),
    })?;
    let text = String::from_utf8_lossy(&text);
    if common.json {
        terminal::json(&json!({"file": path, "text": text}));
    } else {
        terminal::line(text.trim_end());
    }
    Ok(())
}

fn by_key(common: &Common, text: &str) -> Result<Option<PathBuf>, CommandError> {
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

fn by_name(common: &Common, stage: &str, file: Option<&Path>) -> Result<PathBuf, CommandError> {
    let workspace = Workspace::open(common, file)?;
    let index = workspace.stage(stage)?;
    let key = match &workspace.statuses()?[index] {
        StageStatus::Cached(result) => result.key,
        StageStatus::Stale { record, .. } => record.key(),
        StageStatus::Waiting { .. } => {
            return Err(CommandError::usage(format!(
                "`{stage}` has no log yet: its inputs have not been computed"
            )));
        }
    };
    Ok(workspace.cache.log_path(&key))
}
