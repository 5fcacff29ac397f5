//! The files of a bundle.

use std::path::{Component, Path};

use super::selected::{SelectedResults, is_table};
use super::{PIPELINE, REPORT};
use crate::cli::commands::report::{self, Page, Shown};
use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::engine::bundle::{BundleError, Extent, Packer, entry_name, object_name};
use crate::engine::digest::files_in;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::StageSet;
use crate::engine::stage::artifact::{Artifact, ArtifactError};
use crate::report::bundle::{self, BundleFacts};
use crate::report::folder::{MANIFEST, NUMBERS, name_in_folder};
use crate::report::{Table, latex_macros};

/// Outside files and folders up to this size go into the bundle.
const LARGEST_OUTSIDE: u64 = 64 << 20;

const PROGRAM: [(&str, &str); 3] = [
    ("program/Cargo.lock", include_str!("../../../../Cargo.lock")),
    ("program/LICENSE-MIT", include_str!("../../../../LICENSE-MIT")),
    ("program/LICENSE-APACHE", include_str!("../../../../LICENSE-APACHE")),
];

/// Adds everything but the texts; returns what stages read from outside that is not in the bundle.
pub(super) fn add(
    packer: &mut Packer,
    workspace: &Workspace,
    results: &SelectedResults,
) -> Result<Vec<String>, CommandError> {
    add_results(packer, workspace, results)?;
    add_report(packer, workspace, results)?;
    for (name, text) in PROGRAM {
        packer.add(name, text);
    }
    add_pipeline(packer, workspace)
}

/// Adds what is for reviewers and catalogs.
pub(super) fn add_texts(packer: &mut Packer, facts: &BundleFacts) -> Result<(), CommandError> {
    packer.add("README.md", bundle::readme(facts).map_err(CommandError::failed)?);
    packer.add("CLAIMS.md", bundle::claims(facts).map_err(CommandError::failed)?);
    packer.add("LICENSES.md", bundle::licenses(facts).map_err(CommandError::failed)?);
    let described = packer.files().filter(|file| !file.name.starts_with("cache/"));
    let described: Vec<_> = described.map(|file| (file.name.clone(), file.bytes)).collect();
    packer.add("ro-crate-metadata.json", bundle::metadata(facts, &described));
    Ok(())
}

fn add_results(
    packer: &mut Packer,
    workspace: &Workspace,
    results: &SelectedResults,
) -> Result<(), CommandError> {
    for entry in results.entries.values() {
        let text = serde_json::to_vec_pretty(entry).map_err(CommandError::failed)?;
        packer.add(entry_name(&entry.key), text);
        let reader = workspace.cache.reader(&entry.artifact);
        for file in &entry.artifact.files {
            let path = reader.path(&file.name).map_err(CommandError::cache)?;
            packer.add_stored(object_name(&file.digest), file, path);
        }
    }
    Ok(())
}

fn add_report(
    packer: &mut Packer,
    workspace: &Workspace,
    results: &SelectedResults,
) -> Result<(), CommandError> {
    for (&stage, entry) in &results.entries {
        let planned = &workspace.plan.stages()[stage];
        let is_shown = results.extent == Extent::Everything || is_table(planned);
        if !is_shown || !planned.stage.as_stage().is_report() {
            continue;
        }
        let reader = workspace.cache.reader(&entry.artifact);
        for file in &entry.artifact.files {
            if let Some(name) = name_in_folder(&planned.name, &file.name) {
                let path = reader.path(&file.name).map_err(CommandError::cache)?;
                packer.add_stored(format!("{REPORT}{name}"), file, path);
            }
        }
    }
    let pages = match results.extent {
        Extent::Everything => {
            report::pages(workspace, &results.statuses, None, Shown::ResultsAlone)?
        }
        Extent::Tables => vec![numbers(workspace, &results.statuses)?],
    };
    let manifest = report::manifest_of(workspace, &results.statuses, &pages)?;
    for (name, text) in pages.into_iter().chain([(MANIFEST, manifest)]) {
        packer.add(format!("{REPORT}{name}"), text);
    }
    Ok(())
}

/// Makes the one page that shows nothing but tables.
pub(in crate::cli::commands) fn numbers(
    workspace: &Workspace,
    statuses: &[StageStatus],
) -> Result<Page, CommandError> {
    let tables = tables(workspace, statuses).map_err(CommandError::cache)?;
    Ok((NUMBERS, latex_macros::render(&tables)))
}

/// Returns all tables that have results, in the order of the file.
pub(in crate::cli::commands) fn tables(
    workspace: &Workspace,
    statuses: &[StageStatus],
) -> Result<Vec<(String, Table)>, ArtifactError> {
    let mut stages: Vec<_> = workspace.plan.stages().iter().zip(statuses).collect();
    stages.sort_by_key(|(planned, _)| planned.line);
    let results = stages.into_iter().filter_map(|(planned, status)| match status {
        StageStatus::Cached(result) if result.artifact.kind == "table" => Some((planned, result)),
        _ => None,
    });
    results
        .filter(|(planned, _)| planned.stage.as_stage().is_report())
        .map(|(planned, result)| {
            let table = Table::read(&workspace.cache.reader(&result.artifact))?;
            Ok((planned.name.clone(), table))
        })
        .collect()
}

/// Adds the pipeline file and what lies beside it.
fn add_pipeline(packer: &mut Packer, workspace: &Workspace) -> Result<Vec<String>, CommandError> {
    let folder = workspace.source.folder();
    let name = workspace.source.path().file_name().unwrap_or_default().to_string_lossy();
    packer.add_file(format!("{PIPELINE}{name}"), workspace.source.path()).map_err(unreadable)?;
    for note in workspace.plan.note_files() {
        let Some(name) = name_below(Path::new(note)) else {
            let error = CommandError::usage(format!("the notes `{note}` lie elsewhere"));
            return Err(error.hint("put them into the folder of the pipeline file, or below it"));
        };
        packer.add_file(format!("{PIPELINE}{name}"), &folder.join(note)).map_err(unreadable)?;
    }
    let mut left_out = Vec::new();
    for path in workspace.plan.stages().iter().flat_map(|planned| planned.files.values()) {
        let below = path.strip_prefix(folder).ok().and_then(name_below);
        let Some(name) = below.filter(|_| is_small(path)) else {
            let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !left_out.contains(&shown) {
                left_out.push(shown);
            }
            continue;
        };
        if path.is_dir() {
            for (inner, path) in files_in(path).map_err(CommandError::failed)? {
                packer.add_file(format!("{PIPELINE}{name}/{inner}"), &path).map_err(unreadable)?;
            }
        } else {
            packer.add_file(format!("{PIPELINE}{name}"), path).map_err(unreadable)?;
        }
    }
    Ok(left_out)
}

fn unreadable(error: BundleError) -> CommandError {
    CommandError::failed(error)
}

/// Returns a relative path that leads nowhere else, with `/` between its parts.
fn name_below(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Returns whether a file, or a folder with all in it, is small enough.
fn is_small(path: &Path) -> bool {
    let size = |path: &Path| path.metadata().map_or(u64::MAX, |about| about.len());
    if !path.is_dir() {
        return size(path) <= LARGEST_OUTSIDE;
    }
    files_in(path).is_ok_and(|files| {
        let sizes = files.iter().map(|(_, path)| size(path));
        sizes.fold(0, u64::saturating_add) <= LARGEST_OUTSIDE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_the_pipeline_has_a_name_in_the_bundle() {
        let name = |path: &str| name_below(Path::new(path));
        assert_eq!(name("./data/x.npy").as_deref(), Some("data/x.npy"));
        assert_eq!(name("../x"), None);
        assert_eq!(name("/x"), None);
        assert_eq!(name(""), None);
    }
}
