//! Where a user's own files for shells and `man` are put.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;

/// Returns a path in the user's folder for data.
pub(super) fn data(path: &str) -> Result<PathBuf, CommandError> {
    folder("XDG_DATA_HOME", ".local/share").map(|folder| folder.join(path))
}

/// Returns a path in the user's folder for configuration.
pub(super) fn config(path: &str) -> Result<PathBuf, CommandError> {
    folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join(path))
}

fn folder(variable: &str, below_home: &str) -> Result<PathBuf, CommandError> {
    let given = env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let found = given.or_else(|| env::home_dir().map(|home| home.join(below_home)));
    found.ok_or_else(|| CommandError::usage("there is no home folder to install into"))
}

/// Writes a file, with the folders that it is in, and prints where it is.
pub(super) fn write(common: &Common, path: &Path, content: &[u8]) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, content))
        .map_err(|cause| CommandError::failed(format!("{}: {cause}", path.display())))?;
    if common.json {
        terminal::json(&json!({ "file": path }));
    } else {
        terminal::line(&path.display().to_string());
    }
    Ok(())
}
