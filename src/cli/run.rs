//! `pcae-run FILE`: runs a pipeline and shows its tables.

use std::mem;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use super::args::{Common, RunArgs};
use super::execute::{Runner, code};
use super::failure::Failure;
use super::postmortem;
use super::publish::{self, Published};
use super::report;
use super::session::Session;
use super::terminal::{self, Tone, paint};
use crate::engine::events::Event;
use crate::engine::run::RunReport;

/// Runs a pipeline.
pub(super) fn run(common: &Common, args: &RunArgs) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let session = Session::open(common, args.file.as_deref())?;
    let selection = args.choice().select(&session.plan)?;
    let runner = Runner::new(common, &args.manner, &session.backend)?;
    let mut report = runner.run(&session, &selection)?;
    report.seconds = began.elapsed().as_secs_f64();
    let published = publish_all(&session, &report, &common.reports);
    summarize(common, args, &session, &report, published.as_ref().ok());
    let code = published.map(|_| ExitCode::from(code(&report)));
    // The program ends here, and gives all memory back at once.
    let Session { plan, .. } = session;
    mem::forget((plan, report));
    code
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
    let file = args.file.as_deref().unwrap_or_else(|| session.source.path());
    let retry =
        |stage: &str| format!("retry only it: {}", postmortem::retry_command(common, file, stage));
    postmortem::explain(session, report, retry);
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
