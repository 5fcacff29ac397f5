//! `pcae-run report --watch`: the page again whenever the cache or the pipeline file changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::cli::args::Common;
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::terminal;

/// How often the cache is looked at, and the page reloads itself.
pub(super) const SECONDS: u32 = 2;

/// How long Ctrl-C may go unnoticed.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps a report up to date until Ctrl-C; then the page no longer reloads itself.
pub(super) fn watch(common: &Common, mut session: Session, folder: &Path) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&stop)).map_err(Failure::stage)?;
    }
    terminal::note("watching: Ctrl-C ends it");
    let file = session.source.path().to_owned();
    let mut seen = stamps(common, &file);
    while waited(&stop) {
        let now = stamps(common, &file);
        if now == seen {
            continue;
        }
        seen = now;
        // A file that is just being edited may be wrong for a while.
        match Session::open(common, Some(&file)) {
            Ok(opened) => session = opened,
            Err(failure) => terminal::failure(&failure),
        }
        super::write(&session, folder, Some(SECONDS))?;
    }
    super::publish_results(&session, &common.reports)?;
    super::write(&session, folder, None).map(drop)
}

/// Waits for the next look; returns whether there is one.
fn waited(stop: &AtomicBool) -> bool {
    let looks = u64::from(SECONDS) * 1000 / PAUSE.as_millis() as u64;
    for _ in 0..looks {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(PAUSE);
    }
    !stop.load(Ordering::Relaxed)
}

/// Returns when anything last changed that the page shows: results, runs, orders, logs.
fn stamps(common: &Common, file: &Path) -> Vec<Option<(SystemTime, u64)>> {
    let parts = ["index.sqlite", "index.sqlite-wal", "jobs", "logs"];
    let parts = parts.map(|part| common.cache.join(part));
    let stamp = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    parts.iter().chain([&file.to_owned()]).map(stamp).collect()
}
