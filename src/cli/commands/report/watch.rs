//! `pcae-run report --watch`: the page, written again whenever the cache or the pipeline changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;

/// How often the cache is checked for changes, and the page reloads itself.
pub(super) const SECONDS: u32 = 2;

/// How long Ctrl-C may go unnoticed.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps a report up to date until Ctrl-C; then the page no longer reloads itself.
pub(super) fn watch(
    common: &Common,
    mut workspace: Workspace,
    folder: &Path,
) -> Result<(), CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&stop)).map_err(CommandError::failed)?;
    }
    terminal::note("watching for changes; press Ctrl-C to stop");
    let file = workspace.source.path().to_owned();
    let mut last = stamps(common, &file);
    while waited(&stop) {
        let now = stamps(common, &file);
        if now == last {
            continue;
        }
        last = now;
        // A file that is just being edited may be wrong for a while.
        match Workspace::open(common, Some(&file)) {
            Ok(opened) => workspace = opened,
            Err(error) => terminal::error(&error),
        }
        super::write(&workspace, folder, Some(SECONDS))?;
    }
    super::publish_results(&workspace, &common.reports)?;
    super::write(&workspace, folder, None).map(drop)
}

/// Waits until the next check; returns whether there is one.
fn waited(stop: &AtomicBool) -> bool {
    let pauses = u64::from(SECONDS) * 1000 / PAUSE.as_millis() as u64;
    for _ in 0..pauses {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(PAUSE);
    }
    !stop.load(Ordering::Relaxed)
}

/// Returns when anything last changed that the page shows: results, runs, jobs, logs.
fn stamps(common: &Common, file: &Path) -> Vec<Option<(SystemTime, u64)>> {
    let parts = ["index.sqlite", "index.sqlite-wal", "jobs", "logs"];
    let parts = parts.map(|part| common.cache.join(part));
    let stamp = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    parts.iter().chain([&file.to_owned()]).map(stamp).collect()
}
