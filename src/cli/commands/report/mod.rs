//! `pcae-run report`: a pipeline's report page and its manifest, made from the cache alone.

mod check;
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
    let content = facts::collect(workspace, &statuses)?;
    let page = page::render(&content, refresh).map_err(CommandError::failed)?;
    let mut written = Vec::new();
    let document = latex::document(&content);
    let numbers = latex_macros::render(&document.tables);
    let appendix = document::appendix(&document).map_err(CommandError::failed)?;
    let document = document::report(&document).map_err(CommandError::failed)?;
    let pages = [(PAGE, page), (DOCUMENT, document), (APPENDIX, appendix), (NUMBERS, numbers)];
    let mut manifest = manifest::Manifest::of(workspace, &statuses)?;
    let digests = pages
        .iter()
        .map(|(name, text)| ((*name).to_owned(), ContentDigest::of_bytes(text.as_bytes())));
    manifest.pages.extend(digests);
    for (name, text) in pages.into_iter().chain([(MANIFEST, manifest.text())]) {
        let path = folder.join(name);
        let changed = publish::replace(text.as_bytes(), &path);
        if changed.map_err(|cause| publish::at(&path, &cause))? {
            written.push(name.to_owned());
        }
    }
    Ok(written)
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
