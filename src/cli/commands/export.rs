//! `pcae-run export`: a stage's files, copied out of the cache.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;

/// Copies a stage's files into a folder and prints their paths.
pub(super) fn export(
    common: &Common,
    stage: &str,
    folder: &Path,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    let statuses = workspace.statuses()?;
    let result = workspace.result(stage, &statuses)?;
    for (name, from) in workspace.cache.reader(&result.artifact).files() {
        let to = folder.join(name);
        let copied = to
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::read(from))
            .and_then(|bytes| fs::write(&to, bytes));
        copied.map_err(|cause| CommandError::failed(format!("{}: {cause}", to.display())))?;
        if common.json {
            terminal::json(&json!({"file": to, "from": from}));
        } else {
            terminal::line(&to.display().to_string());
        }
    }
    Ok(())
}
