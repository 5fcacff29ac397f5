//! `pcae-run export`: a stage's files, copied out of the cache.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;
use crate::engine::system::file_type;

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
    workspace.cache.check_input(&result.artifact)?;
    for (name, from) in workspace.cache.reader(&result.artifact).files() {
        let to = folder.join(name);
        copy_below(folder, name, from)
            .map_err(|cause| CommandError::failed(format!("{}: {cause}", to.display())))?;
        if common.json {
            terminal::json(&json!({"file": to, "from": from}));
        } else {
            terminal::line(&to.display().to_string());
        }
    }
    Ok(())
}

/// Copies a file into a folder under a plain relative name; no link in the folder leads out of it.
pub(super) fn copy_below(folder: &Path, name: &str, from: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut parent = folder.to_owned();
    let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        parent.push(part);
        match fs::symlink_metadata(&parent) {
            Ok(about) if about.is_dir() => {}
            Ok(about) => {
                let (path, kind) = (parent.display(), file_type::name(about.file_type()));
                return Err(io::Error::other(format!("{path} is {kind}, not a folder")));
            }
            Err(_) => fs::create_dir(&parent)?,
        }
    }
    // Renamed into place, so that a link of that name is replaced and not followed.
    let temporary = parent.join(format!(".{}.tmp", std::process::id()));
    let mut source = File::open(from)?;
    let mut target = File::options().write(true).create_new(true).open(&temporary)?;
    let copied = io::copy(&mut source, &mut target).map(drop);
    let renamed = copied.and_then(|()| fs::rename(&temporary, parent.join(file)));
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed
}
