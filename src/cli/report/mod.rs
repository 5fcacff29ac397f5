//! `pcae-run report`: a pipeline's report page and its manifest, made from the cache alone.

mod check;
mod gather;
mod manifest;
mod paper;
mod watch;

use std::path::Path;
use std::process::{Command, Stdio};

use super::args::Common;
use super::failure::Failure;
use super::publish;
use super::session::Session;
use super::terminal;
use crate::engine::assess::Standing;
use crate::engine::run::RunReport;
use crate::report::{document, numbers, page};

pub(super) use check::check;

/// The page.
const PAGE: &str = "index.html";
/// The keys and digests of everything that the page shows.
const MANIFEST: &str = "manifest.json";
/// The same as a document for LaTeX.
const DOCUMENT: &str = "report.tex";
/// Every number as a macro for LaTeX.
const NUMBERS: &str = "numbers.tex";

/// Writes the report of a pipeline; on demand opens it and keeps it up to date.
pub(super) fn report(
    common: &Common,
    open: bool,
    watch: bool,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let folder = common.reports.join(session.plan.name());
    let refresh = watch.then_some(watch::SECONDS);
    publish_results(&session, &common.reports)?;
    write(&session, &folder, refresh)?;
    let page = folder.join(PAGE);
    terminal::line(&page.display().to_string());
    if open {
        show(&page)?;
    }
    if watch { watch::watch(common, session, &folder) } else { Ok(()) }
}

/// Returns whether a folder has a report.
pub(super) fn is_there(folder: &Path) -> bool {
    folder.join(PAGE).is_file() && folder.join(MANIFEST).is_file()
}

/// Writes page and manifest; returns which of them changed.
pub(super) fn write(
    session: &Session,
    folder: &Path,
    refresh: Option<u32>,
) -> Result<Vec<String>, Failure> {
    let _in_use = session.cache.hold().ok();
    let standings = session.standings()?;
    let dossier = gather::gather(session, &standings)?;
    let page = page::render(&dossier, refresh).map_err(Failure::stage)?;
    let manifest = manifest::Manifest::of(session, &standings)?.text();
    let mut written = Vec::new();
    let document = paper::document(&dossier);
    let numbers = numbers::numbers(&document.tables);
    let document = document::report(&document);
    for (name, text) in
        [(PAGE, page), (MANIFEST, manifest), (DOCUMENT, document), (NUMBERS, numbers)]
    {
        let path = folder.join(name);
        let changed = publish::replace(text.as_bytes(), &path);
        if changed.map_err(|cause| publish::at(&path, &cause))? {
            written.push(name.to_owned());
        }
    }
    Ok(written)
}

/// Puts the tables and figures that the cache holds into the reports folder.
fn publish_results(session: &Session, root: &Path) -> Result<(), Failure> {
    let cached = session.standings()?.into_iter().enumerate();
    let results = cached.filter_map(|(stage, standing)| match standing {
        Standing::Cached(result) => Some((stage, result)),
        _ => None,
    });
    let found = RunReport { results: results.collect(), ..RunReport::default() };
    publish::publish(session, &found, root).map(drop)
}

/// Opens a file in the browser.
fn show(page: &Path) -> Result<(), Failure> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|cause| {
        Failure::usage(format!(
            "can't start `{program}`: {cause}; open {} yourself",
            page.display()
        ))
    })
}
