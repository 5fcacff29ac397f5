//! `pcae-run export`: a stage's files, copied out of the cache.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::Session;
use super::terminal;

/// Copies a stage's files into a folder and prints their paths.
pub(super) fn export(
    common: &Common,
    stage: &str,
    folder: &Path,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let standings = session.standings()?;
    let result = session.result(stage, &standings)?;
    for (name, from) in session.cache.reader(&result.artifact).files() {
        let to = folder.join(name);
        let copied = to
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::read(from))
            .and_then(|bytes| fs::write(&to, bytes));
        copied.map_err(|cause| Failure::stage(format!("{}: {cause}", to.display())))?;
        if common.json {
            terminal::json(&json!({"file": to, "from": from}));
        } else {
            terminal::line(&to.display().to_string());
        }
    }
    Ok(())
}
