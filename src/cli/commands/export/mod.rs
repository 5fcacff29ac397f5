//! `pcae-run export`: a stage's files, copied out of the cache, or its model for PyTorch.

mod place;
mod pytorch;

use std::path::Path;

use serde_json::json;

pub(super) use self::place::copy_below;
use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;

/// What is exported of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Its files as they are.
    Files,
    /// The model in them, as plain PyTorch rebuilds it.
    Pytorch,
}

/// Writes what a stage has into a folder and prints the paths.
pub(super) fn export(
    common: &Common,
    stage: &str,
    folder: &Path,
    content: Content,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    let statuses = workspace.statuses()?;
    let result = workspace.result(stage, &statuses)?;
    if content == Content::Pytorch {
        return pytorch::export(common, &workspace, workspace.stage(stage)?, result, folder);
    }
    workspace.cache.check_input(&result.artifact)?;
    for (name, from) in workspace.cache.reader(&result.artifact).files() {
        let to = folder.join(name);
        copy_below(folder, name, from)
            .map_err(|cause| CommandError::failed(format!("{}: {cause}", to.display())))?;
        show(common, &to, Some(from));
    }
    Ok(())
}

/// Prints a file that was written, and which one it is a copy of, if any.
fn show(common: &Common, to: &Path, from: Option<&Path>) {
    if common.json {
        terminal::json(&json!({"file": to, "from": from}));
    } else {
        terminal::line(&to.display().to_string());
    }
}
