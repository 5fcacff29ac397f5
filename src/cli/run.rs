//! `pcae-run FILE`: runs a pipeline and shows its tables.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::{Common, OnError, RunArgs};
use super::failure::{BUSY, Failure, INTERRUPTED, STAGE_FAILED};
use super::outlook;
use super::progress::Display;
use super::publish::{self, Published};
use super::report;
use super::session::{Session, cores, device_jobs};
use super::terminal::{self, Tone, paint};
use crate::device::{self, DeviceName};
use crate::engine::events::Event;
use crate::engine::executor::Local;
use crate::engine::run::{self, Manner, RunReport};
use crate::engine::schedule::Scheduler;
use crate::engine::supervise::this_program;

/// Runs a pipeline.
pub(super) fn run(common: &Common, args: &RunArgs) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let session = Session::open(common, args.file.as_deref())?;
    device::probe(common.device).map_err(Failure::usage)?;
    let selection = args.choice().select(&session.plan)?;
    let manner = manner(common, args, &session.backend);
    outlook::before_run(common, args, &session, &selection, &manner)?;
    let _in_use = session.cache.hold()?;
    let path = std::path::absolute(session.source.path());
    session.cache.remember_pipeline(&path.unwrap_or_else(|_| session.source.path().to_owned()))?;

    let mut executor =
        Local::new(this_program().map_err(Failure::stage)?, child_arguments(common, args));
    let interrupts = count_interrupts()?;
    let mut display = Display::new(common.json, selection.allowed.len());
    let mut emit = |event: Event| display.show(&event);
    let scheduler = Scheduler::new(&session.plan, &session.cache, &manner, &selection, &mut emit);
    let mut report = scheduler.run(&mut executor, &|| interrupts.load(Ordering::Relaxed))?;
    report.seconds = began.elapsed().as_secs_f64();
    display.finish();
    let published = publish_all(&session, &report, &common.reports);
    summarize(common, args, &session, &report, published.as_ref().ok());
    published.map(|_| ExitCode::from(code(&report)))
}

/// Brings tables, figures and the page that shows them up to date.
fn publish_all(session: &Session, run: &RunReport, root: &Path) -> Result<Published, Failure> {
    let mut published = publish::publish(session, run, root)?;
    // A run that has nothing to do doesn't even look at what the page would tell.
    let idle = run.executed.is_empty() && run.failed.is_empty() && published.written.is_empty();
    if !idle || !report::is_there(&published.folder) {
        published.written.extend(report::write(session, &published.folder, None)?);
    }
    Ok(published)
}

fn manner(common: &Common, args: &RunArgs, backend: &str) -> Manner {
    let cores = cores();
    Manner {
        jobs: common.jobs.unwrap_or(cores),
        device_jobs: args.device_jobs.unwrap_or_else(|| device_jobs(common.device)),
        cores,
        device: common.device.to_string(),
        backend: backend.to_owned(),
        offline: common.offline,
        on_error: match args.on_error {
            _ if args.keep_going => run::OnError::Continue,
            OnError::Finish => run::OnError::Finish,
            OnError::Stop => run::OnError::Stop,
            OnError::Continue => run::OnError::Continue,
        },
        timeout: args.timeout.map(Duration::from_secs),
        retries: args.retries,
    }
}

fn child_arguments(common: &Common, args: &RunArgs) -> Vec<String> {
    let cache = std::path::absolute(&common.cache).unwrap_or_else(|_| common.cache.clone());
    let mut arguments =
        vec!["--cache".to_owned(), cache.to_string_lossy().into_owned(), "stage".to_owned()];
    if common.verify {
        arguments.push("--verify".to_owned());
    }
    if let Some(seconds) = args.lock_timeout {
        arguments.extend(["--lock-timeout".to_owned(), seconds.to_string()]);
    }
    arguments
}

/// Counts Ctrl-C and termination requests instead of dying of them.
fn count_interrupts() -> Result<Arc<AtomicUsize>, Failure> {
    let count = Arc::new(AtomicUsize::new(0));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::stage)?;
    let counter = Arc::clone(&count);
    thread::spawn(move || {
        for _ in signals.forever() {
            if counter.fetch_add(1, Ordering::Relaxed) == 0 {
                terminal::note("stopping: running stages save their state (again: at once)");
            }
        }
    });
    Ok(count)
}

fn code(report: &RunReport) -> u8 {
    if report.interrupted {
        INTERRUPTED
    } else if report.failed.is_empty() {
        0
    } else if report.busy == report.failed.len() {
        BUSY
    } else {
        STAGE_FAILED
    }
}

fn summarize(
    common: &Common,
    args: &RunArgs,
    session: &Session,
    report: &RunReport,
    published: Option<&Published>,
) {
    if common.json {
        terminal::json(&Event::Summary {
            executed: report.executed.len(),
            cached: report.cached,
            failed: report.failed.len(),
            skipped: report.skipped,
            seconds: report.seconds,
            interrupted: report.interrupted,
        });
        return;
    }
    for table in published.iter().flat_map(|published| &published.tables) {
        terminal::line(table);
    }
    for (stage, message) in &report.failed {
        explain_failure(common, args, session, report, stage, message);
    }
    if let Some(published) = published {
        let folder = published.folder.display();
        if !published.written.is_empty() {
            terminal::note(&format!("wrote {folder}: {}", published.written.join(", ")));
        }
        if !published.stale.is_empty() {
            let names = published.stale.join(", ");
            terminal::note(&format!("still from an earlier run in {folder}: {names}"));
        }
    }
    terminal::note(&last_line(report));
}

fn last_line(report: &RunReport) -> String {
    let time = terminal::duration(report.seconds);
    let executed = report.executed.len();
    if report.interrupted {
        return format!(
            "interrupted after {time}: {executed} executed, {} stopped; the same command goes on",
            report.stopped.len()
        );
    }
    if executed == 0 && report.failed.is_empty() {
        let all = terminal::count(report.cached, "stage");
        return format!("nothing to do: {all} cached, 0 executed ({time})");
    }
    let mut parts = vec![format!("{executed} executed"), format!("{} cached", report.cached)];
    if !report.failed.is_empty() {
        parts.push(paint(Tone::Bad, &format!("{} failed", report.failed.len())));
    }
    if report.skipped > 0 {
        parts.push(format!("{} not started", report.skipped));
    }
    format!("done: {} in {time}", parts.join(", "))
}

fn explain_failure(
    common: &Common,
    args: &RunArgs,
    session: &Session,
    report: &RunReport,
    stage: &str,
    message: &str,
) {
    const LINES: usize = 10;
    terminal::note(&format!("{} {stage}: {message}", paint(Tone::Bad, "failed:")));
    // A stage that never started has no log, and trying it alone again would not help.
    let Some(key) = report.keys.get(stage) else {
        return;
    };
    let path = session.cache.log_path(key);
    let tail = tail(&path, LINES);
    if !tail.is_empty() {
        terminal::note(&format!("  the end of its log ({}):", path.display()));
        for line in &tail {
            terminal::note(&format!("    {line}"));
        }
    }
    let file = args.file.as_deref().unwrap_or_else(|| session.source.path());
    let retry = retry_command(common, file, stage);
    terminal::note(&format!("  retry only it: {retry}"));
}

/// Returns the command that runs one stage again as it ran now.
fn retry_command(common: &Common, file: &Path, stage: &str) -> String {
    let quoted = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:=,".contains(c);
        if text.chars().all(plain) { text.to_owned() } else { format!("'{text}'") }
    };
    let path = |path: &Path| quoted(&path.to_string_lossy());
    let mut command = format!("pcae-run {} --only {}", path(file), quoted(stage));
    if common.cache != Path::new("cache") {
        command = format!("{command} --cache {}", path(&common.cache));
    }
    if let Some(data) = &common.data {
        command = format!("{command} --data {}", path(data));
    }
    if common.offline {
        command = format!("{command} --offline");
    }
    if common.device != DeviceName::default() {
        command = format!("{command} --device {}", common.device);
    }
    command
}

/// Returns the last lines of a file.
pub(super) fn tail(path: &Path, lines: usize) -> Vec<String> {
    const READ: u64 = 16 << 10;
    let mut text = Vec::new();
    let read = fs::File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
        file.read_to_end(&mut text)
    });
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text);
    let all: Vec<_> = text.lines().map(str::to_owned).collect();
    all[all.len().saturating_sub(lines)..].to_vec()
}
