//! Puts tables and figures into the reports folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::engine::run::options::RunReport;
use crate::engine::stage::StageSet;
use crate::engine::stage::artifact::{Artifact, ArtifactError};
use crate::report::folder::{FORMATS, name_in_folder};
use crate::report::{Conclusion, Table};

/// What was put there.
pub(crate) struct Published {
    /// The pipeline's report folder.
    pub folder: PathBuf,
    /// Files that are new or changed.
    pub written: Vec<String>,
    /// What the results amount to, by stage.
    pub conclusions: Vec<(String, Conclusion)>,
    /// Tables, in the order of their stages.
    pub tables: Vec<Table>,
    /// Reports of an earlier run whose stages have no result now.
    pub stale: Vec<String>,
}

/// Brings the reports folder up to date with the results of a run.
pub(crate) fn publish(
    workspace: &Workspace,
    report: &RunReport,
    root: &Path,
) -> Result<Published, CommandError> {
    let folder = root.join(workspace.plan.name());
    let mut published = Published {
        folder,
        written: Vec::new(),
        conclusions: Vec::new(),
        tables: Vec::new(),
        stale: Vec::new(),
    };
    for (&stage, result) in &report.results {
        let planned = &workspace.plan.stages()[stage];
        if !planned.stage.as_stage().is_report() {
            continue;
        }
        let reader = workspace.cache.reader(&result.artifact);
        let unreadable =
            |error: ArtifactError| CommandError::cache(format!("{}: {error}", planned.name));
        match result.artifact.kind.as_str() {
            "table" => published.tables.push(Table::read(&reader).map_err(unreadable)?),
            "conclusion" => {
                let conclusion = Conclusion::read(&reader).map_err(unreadable)?;
                published.conclusions.push((planned.name.clone(), conclusion));
            }
            _ => {}
        }
        for (name, path) in reader.files() {
            if let Some(file) = name_in_folder(&planned.name, name) {
                let target = published.folder.join(&file);
                let stored = result.artifact.files.iter().find(|stored| stored.name == *name);
                // The cache remembers digests of files that are surely unchanged.
                let present = workspace.cache.digest_of_file(&target).ok();
                if present.is_some() && present == stored.map(|stored| stored.digest) {
                    continue;
                }
                if update(path, &target).map_err(|cause| at(&target, &cause))? {
                    published.written.push(file);
                }
            }
        }
    }
    for (stage, planned) in workspace.plan.stages().iter().enumerate() {
        if planned.stage.as_stage().is_report() && !report.results.contains_key(&stage) {
            let file = |format: &&str| published.folder.join(format!("{}.{format}", planned.name));
            if FORMATS.iter().any(|format| file(format).exists()) {
                published.stale.push(planned.name.clone());
            }
        }
    }
    Ok(published)
}

/// Says at which file writing failed.
pub(in crate::cli::commands) fn at(path: &Path, cause: &io::Error) -> CommandError {
    CommandError::failed(format!("{}: {cause}", path.display()))
}

/// Copies a file unless the target has the same bytes; returns whether it did.
fn update(from: &Path, to: &Path) -> io::Result<bool> {
    replace(&fs::read(from)?, to)
}

/// Writes a file unless it has these bytes; returns whether it did.
pub(in crate::cli::commands) fn replace(bytes: &[u8], to: &Path) -> io::Result<bool> {
    if fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(false);
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // Other runs may publish the same files at the same time.
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let temporary = to.with_file_name(format!(".{name}.{}", std::process::id()));
    fs::write(&temporary, bytes)?;
    fs::rename(temporary, to)?;
    Ok(true)
}
