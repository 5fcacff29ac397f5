//! `pcae-run report`: a pipeline's report page and its manifest, made from the cache alone.

pub(super) mod check;
mod facts;
pub(super) mod kept;
mod latex;
pub(super) mod manifest;
pub(super) mod publish;
mod settings_in_words;
mod watch;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, hold};
use crate::engine::digest::ContentDigest;
use crate::engine::run::options::RunReport;
use crate::engine::run::status::StageStatus;
use crate::report::folder::{APPENDIX, DOCUMENT, MANIFEST, NUMBERS, PAGE};
use crate::report::{document, latex_macros, page};

pub(super) use check::check;
pub(super) use facts::{LEVEL, figure_titles};

/// Writes the report of a pipeline; on demand opens it and keeps it up to date.
pub(super) fn report(
    common: &Common,
    open: bool,
    watch: bool,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    let folder = common.reports.join(workspace.plan.name());
    let refresh = watch.then_some(watch::SECONDS);
    publish_results(&workspace, &common.reports)?;
    write(&workspace, &folder, refresh)?;
    let page = folder.join(PAGE);
    if common.json {
        terminal::json(&json!({ "file": page }));
    } else {
        terminal::line(&page.display().to_string());
    }
    if open {
        show(&page)?;
    }
    if watch { watch::watch(common, workspace, &folder) } else { Ok(()) }
}

/// Returns whether a folder has a report.
pub(super) fn exists(folder: &Path) -> bool {
    folder.join(PAGE).is_file() && folder.join(MANIFEST).is_file()
}

/// Writes page and manifest; returns which of them changed.
pub(super) fn write(
    workspace: &Workspace,
    folder: &Path,
    refresh: Option<u32>,
) -> Result<Vec<String>, CommandError> {
    let _in_use = hold(&workspace.cache)?;
    let statuses = workspace.statuses()?;
    let pages = pages(workspace, &statuses, refresh, Shown::Everything)?;
    let manifest = manifest_of(workspace, &statuses, &pages)?;
    let mut written = Vec::new();
    for (name, text) in pages.into_iter().chain([(MANIFEST, manifest)]) {
        let path = folder.join(name);
        let changed = publish::replace(text.as_bytes(), &path);
        if changed.map_err(|cause| publish::at(&path, &cause))? {
            written.push(name.to_owned());
        }
    }
    Ok(written)
}

/// What of a cache its report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Also logs, and how each result differs from others.
    Everything,
    /// Results and how long they took: what the report of a copy of them shows as well.
    ResultsAlone,
}

/// A file that the report itself makes, and its text.
pub(super) type Page = (&'static str, String);

/// Makes the pages of a report.
pub(super) fn pages(
    workspace: &Workspace,
    statuses: &[StageStatus],
    refresh: Option<u32>,
    shown: Shown,
) -> Result<Vec<Page>, CommandError> {
    let content = facts::collect(workspace, statuses, shown)?;
    let page = page::render(&content, refresh).map_err(CommandError::failed)?;
    let document = latex::document(&content);
    let numbers = latex_macros::render(&document.tables);
    let appendix = document::appendix(&document).map_err(CommandError::failed)?;
    let document = document::report(&document).map_err(CommandError::failed)?;
    Ok(vec![(PAGE, page), (DOCUMENT, document), (APPENDIX, appendix), (NUMBERS, numbers)])
}

/// Makes the manifest of a report with these pages.
pub(super) fn manifest_of(
    workspace: &Workspace,
    statuses: &[StageStatus],
    pages: &[Page],
) -> Result<String, CommandError> {
    let mut manifest = manifest::Manifest::of(workspace, statuses)?;
    let digests = pages
        .iter()
        .map(|(name, text)| ((*name).to_owned(), ContentDigest::of_bytes(text.as_bytes())));
    manifest.pages.extend(digests);
    Ok(manifest.text())
}

/// Puts the tables and figures that the cache holds into the reports folder.
fn publish_results(workspace: &Workspace, root: &Path) -> Result<(), CommandError> {
    let cached = workspace.statuses()?.into_iter().enumerate();
    let results = cached.filter_map(|(stage, status)| match status {
        StageStatus::Cached(result) => Some((stage, result)),
        _ => None,
    });
    let found = RunReport { results: results.collect(), ..RunReport::default() };
    publish::publish(workspace, &found, root).map(drop)
}

/// Opens a file in the browser.
fn show(page: &Path) -> Result<(), CommandError> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|cause| {
        let error = CommandError::usage(format!("can't start `{program}`: {cause}"));
        error.hint(format!("open {} yourself", page.display()))
    })
}
