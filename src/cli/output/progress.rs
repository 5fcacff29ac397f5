//! The progress of a run: bars on a terminal, plain lines elsewhere, JSON on request.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal::{self, Tone, paint};
use crate::engine::digest::StageKey;
use crate::engine::run::events::Event;
use crate::engine::stage::lifecycle::{Outcome, Progress};

/// What a stage counts in the overall bar if nothing is predicted of it, and at least, in seconds.
const LEAST_SECONDS: f64 = 0.1;
const UNKNOWN_SECONDS: f64 = 1.0;

/// Before this share of the predicted work is done, the time left is not told.
const TOLD_FROM: f64 = 0.05;

/// Plain progress lines of one stage are at least this far apart.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Steps of the overall bar.
const BAR_LENGTH: u64 = 1000;

enum Mode {
    Json,
    Plain,
    Bars { all: MultiProgress, overall: ProgressBar },
}

struct Running {
    bar: Option<ProgressBar>,
    first: Option<(u64, Instant)>,
    printed: Instant,
    /// Whether it waited for another run.
    waited: bool,
    /// The share that is done.
    share: f64,
}

/// The predicted work of a run, in seconds of each stage, and how much of it is done.
struct Work {
    stages: BTreeMap<String, f64>,
    all: f64,
    done: f64,
    /// Told less often than it changes.
    told: String,
    began: Instant,
}

impl Work {
    fn new(predicted: BTreeMap<String, f64>) -> Self {
        let weight = |seconds: f64| match seconds {
            0.0 => UNKNOWN_SECONDS,
            _ => seconds.max(LEAST_SECONDS),
        };
        let stages: BTreeMap<_, _> =
            predicted.into_iter().map(|(stage, seconds)| (stage, weight(seconds))).collect();
        let all = stages.values().sum();
        Self { stages, all, done: 0.0, told: String::new(), began: Instant::now() }
    }

    fn end(&mut self, stage: &str) {
        self.done += self.stages.remove(stage).unwrap_or(0.0);
    }

    /// Returns the share that is done, from 0 to 1.
    fn share(&self, running: &BTreeMap<String, Running>) -> f64 {
        let parts = running.iter().map(|(stage, running)| {
            self.stages.get(stage).map_or(0.0, |seconds| seconds * running.share)
        });
        ((self.done + parts.sum::<f64>()) / self.all.max(LEAST_SECONDS)).min(1.0)
    }
}

/// The view of a run.
pub(crate) struct Display {
    mode: Mode,
    total: usize,
    settled: usize,
    /// Results from the remote cache.
    fetched: usize,
    running: BTreeMap<String, Running>,
    work: Work,
}

impl Display {
    /// Chooses the view by where standard error goes; the bar grows with the predicted seconds of stages.
    pub(crate) fn new(json: bool, total: usize, predicted: BTreeMap<String, f64>) -> Self {
        let mode = if json {
            Mode::Json
        } else if io::stderr().is_terminal() {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let style = overall_template(terminal::columns());
            let overall = all.add(ProgressBar::new(BAR_LENGTH).with_style(bar_style(&style)));
            overall.enable_steady_tick(Duration::from_secs(1));
            Mode::Bars { all, overall }
        } else {
            Mode::Plain
        };
        let (running, work) = (BTreeMap::new(), Work::new(predicted));
        let mut display = Self { mode, total, settled: 0, fetched: 0, running, work };
        display.show_overall();
        display
    }

    fn show_overall(&mut self) {
        let Mode::Bars { overall, .. } = &self.mode else {
            return;
        };
        let share = self.work.share(&self.running);
        overall.set_position((share * BAR_LENGTH as f64) as u64);
        let left = time_left(share, self.work.began.elapsed());
        let left = left.map_or_else(String::new, |left| format!(", ~{left} left"));
        let told = format!("{} of {} stages{left}", self.settled, self.total);
        if told != self.work.told {
            overall.set_message(told.clone());
            self.work.told = told;
        }
    }

    /// Shows an event.
    pub(crate) fn show(&mut self, event: &Event) {
        if matches!(self.mode, Mode::Json) {
            terminal::json(event);
            return;
        }
        match event {
            Event::StageStarted { stage, key, why } => {
                let bar = self.add_bar(stage);
                let printed = Instant::now();
                let running = Running { bar, first: None, printed, waited: false, share: 0.0 };
                self.running.insert(stage.clone(), running);
                let word = paint(Tone::Busy, "run ");
                self.print(&format!(
                    "{word} {} {stage}  {}",
                    key.short(),
                    faint(&format!("({why})"))
                ));
            }
            Event::StageFetched { stage, key, bytes } => self.fetched(stage, key, *bytes),
            Event::StageQueued { stage, job, reason } => {
                let reason = if reason.is_empty() { "waits" } else { reason };
                let word = paint(Tone::Faint, "wait");
                self.print(&format!(
                    "{word} {stage}  {}",
                    faint(&format!("(Slurm job {job}: {reason})"))
                ));
            }
            Event::StageWaits { stage } => {
                if let Some(running) = self.running.get_mut(stage) {
                    running.waited = true;
                }
                let word = paint(Tone::Faint, "wait");
                self.print(&format!("{word} {stage}  {}", faint("(another run is computing it)")));
            }
            Event::StageProgress { stage, progress } => self.progress(stage, progress),
            Event::StageEnded { stage, outcome, seconds, message, .. } => {
                self.ended(stage, outcome, *seconds, message.as_deref());
            }
            Event::Note { message } => self.print(&format!("note: {message}")),
            Event::Started { .. } | Event::Report { .. } | Event::Summary { .. } => {}
        }
    }

    /// Shows results that come from the remote cache, before it is known what is left to run.
    pub(crate) fn fetching(json: bool) -> Self {
        let mut display = Self::new(json, 0, BTreeMap::new());
        if let Mode::Bars { overall, .. } = &display.mode {
            overall.set_style(bar_style("  {msg}"));
            overall.set_message("asking the remote cache");
        }
        display.work.told.clear();
        display
    }

    fn fetched(&mut self, stage: &str, key: &StageKey, bytes: u64) {
        self.fetched += 1;
        let word = paint(Tone::Good, "take");
        let size = faint(&format!("({} from the remote cache)", terminal::size(bytes)));
        if let Mode::Bars { overall, .. } = &self.mode
            && self.total == 0
        {
            let results = terminal::count(self.fetched, "result");
            overall.set_message(format!("{results} from the remote cache"));
        } else {
            self.print(&format!("{word} {} {stage}  {size}", key.short()));
        }
    }

    /// Takes the bars away.
    pub(crate) fn finish(&mut self) {
        if let Mode::Bars { all, overall } = &self.mode {
            overall.finish_and_clear();
            let _ = all.clear();
        }
    }

    fn add_bar(&self, stage: &str) -> Option<ProgressBar> {
        let Mode::Bars { all, overall } = &self.mode else {
            return None;
        };
        let bar = ProgressBar::new(0).with_style(bar_style(&stage_template(terminal::columns())));
        let bar = all.insert_before(overall, bar);
        bar.set_prefix(terminal::shown(stage, terminal::style()));
        bar.tick();
        Some(bar)
    }

    fn progress(&mut self, stage: &str, progress: &Progress) {
        if let Some(message) = &progress.message {
            self.print(&format!("...  {stage}  {message}"));
        }
        let Some(running) = self.running.get_mut(stage) else {
            return;
        };
        running.share = progress.share();
        let (from, since) = *running.first.get_or_insert((progress.done, Instant::now()));
        let message = describe(progress, from, since.elapsed());
        if let Some(bar) = &running.bar {
            bar.set_length(progress.total);
            bar.set_position(progress.done);
            bar.set_message(terminal::shown(&message, terminal::style()));
        } else if running.printed.elapsed() >= PLAIN_INTERVAL {
            running.printed = Instant::now();
            let line = format!("...  {stage}  {message}");
            self.print(&line);
        }
        self.show_overall();
    }

    fn ended(&mut self, stage: &str, outcome: &Outcome, seconds: f64, message: Option<&str>) {
        self.settled += 1;
        self.work.end(stage);
        let running = self.running.remove(stage);
        self.show_overall();
        if let Some(bar) = running.as_ref().and_then(|running| running.bar.as_ref()) {
            bar.finish_and_clear();
        }
        let waited = running.map(|running| running.waited);
        let mut message = message.map_or_else(String::new, |message| format!("  {message}"));
        let word = match (outcome, waited) {
            // Another run, or a stage of the same key, was first.
            (Outcome::Cached, Some(waited)) => {
                let source = if waited { "the other run" } else { "the cache" };
                message.push_str(&faint(&format!("  (reused from {source})")));
                paint(Tone::Good, "done")
            }
            // Counted, not listed: a rerun of hundreds of stages stays one line.
            (Outcome::Cached | Outcome::Skipped, _) => return,
            (Outcome::Executed, _) => paint(Tone::Good, "done"),
            (Outcome::Failed, _) => paint(Tone::Bad, "fail"),
            (Outcome::Stopped, _) => paint(Tone::Busy, "stop"),
        };
        let place = faint(&format!("[{}/{}]", self.settled, self.total));
        let time = terminal::duration(seconds);
        self.print(&format!("{word} {place} {stage}  {time}{message}"));
    }

    fn print(&self, line: &str) {
        match &self.mode {
            Mode::Bars { all, .. } => {
                let _ = all.println(terminal::shown(line, terminal::style()));
            }
            Mode::Json | Mode::Plain => terminal::note(line),
        }
    }
}

/// Returns how long the rest takes in words, if what is done took so long.
fn time_left(share: f64, elapsed: Duration) -> Option<String> {
    const LEAST: Duration = Duration::from_secs(5);
    let is_known = (TOLD_FROM..1.0).contains(&share) && elapsed >= LEAST;
    is_known.then(|| terminal::whole_duration(elapsed.as_secs_f64() * (1.0 - share) / share))
}

/// Returns how wide a bar is on a terminal of so many columns.
const fn bar_width(columns: usize) -> usize {
    if columns < 100 { 10 } else { 24 }
}

/// Returns what the overall bar looks like: one line, whatever the terminal is.
fn overall_template(columns: usize) -> String {
    let bar = bar_width(columns);
    let elapsed = if columns < 76 { "{wide_msg}" } else { "{msg}, {elapsed} elapsed" };
    format!("  {{bar:{bar}}} {{percent}} %  {elapsed}")
}

/// Returns what the bar of a stage looks like; what does not fit into its line is cut off.
fn stage_template(columns: usize) -> String {
    format!("  {{prefix}} {{bar:{}}} {{wide_msg}}", bar_width(columns))
}

fn bar_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn faint(text: &str) -> String {
    paint(Tone::Faint, text)
}

/// Returns `epoch 61/100  ~3 min left  loss 0.0183`, or for bytes
/// `14 MB of 1.4 GB  2.0 MB/s  ~12 min left  celeba.zip`: what comes last may be cut off.
fn describe(progress: &Progress, from: u64, elapsed: Duration) -> String {
    let bytes = progress.unit == "byte";
    let mut parts = vec![if bytes {
        let (done, total) = (terminal::size(progress.done), terminal::size(progress.total));
        format!("{done} of {total}")
    } else {
        progress.counted()
    }];
    let done = progress.done.saturating_sub(from);
    if bytes && done > 0 {
        let pace = done as f64 / elapsed.as_secs_f64().max(1e-3);
        parts.push(format!("{}/s", terminal::size(pace as u64)));
    }
    if done > 0 && progress.done < progress.total {
        let left = elapsed.as_secs_f64() / done as f64 * (progress.total - progress.done) as f64;
        parts.push(format!("~{} left", terminal::whole_duration(left)));
    }
    if !progress.note.is_empty() {
        parts.push(progress.note.clone());
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overall_share_is_one_of_predicted_time_and_not_of_stages() {
        let predicted = [("long", 97.0), ("short", 2.0), ("unknown", 0.0)];
        let predicted = predicted.map(|(stage, seconds)| (stage.to_owned(), seconds));
        let mut work = Work::new(predicted.into());
        let mut running = BTreeMap::new();
        let share = |work: &Work, running: &_| (100.0 * work.share(running)).round() as u32;
        work.end("short");
        work.end("unknown");
        work.end("cached");
        assert_eq!(share(&work, &running), 3, "two of three stages are 3 % of the time");
        let (bar, printed) = (None, Instant::now());
        let half = Running { bar, first: None, printed, waited: false, share: 0.5 };
        running.insert("long".to_owned(), half);
        assert_eq!(share(&work, &running), 52);
        running.clear();
        work.end("long");
        assert_eq!(share(&work, &running), 100);
        assert_eq!(time_left(0.25, Duration::from_mins(1)).unwrap(), "3 min 0 s");
        assert_eq!(time_left(0.01, Duration::from_mins(1)), None);
    }

    #[test]
    fn bars_are_short_on_narrow_terminals_and_the_time_is_left_out_first() {
        assert_eq!(overall_template(120), "  {bar:24} {percent} %  {msg}, {elapsed} elapsed");
        assert_eq!(overall_template(80), "  {bar:10} {percent} %  {msg}, {elapsed} elapsed");
        assert_eq!(overall_template(50), "  {bar:10} {percent} %  {wide_msg}");
        assert_eq!(stage_template(50), "  {prefix} {bar:10} {wide_msg}");
    }

    #[test]
    fn time_left_follows_the_pace_since_the_first_report() {
        let progress = Progress {
            done: 60,
            total: 100,
            unit: "epoch".into(),
            note: "loss 0.0183".into(),
            message: None,
        };
        let text = describe(&progress, 20, Duration::from_secs(200));
        assert_eq!(text, "epoch 60/100  ~3 min 20 s left  loss 0.0183");
        let start = describe(&progress, 60, Duration::from_secs(1));
        assert_eq!(start, "epoch 60/100  loss 0.0183");
        let download =
            Progress { done: 30_000_000, total: 90_000_000, unit: "byte".into(), ..progress };
        let text = describe(&download, 10_000_000, Duration::from_secs(10));
        assert_eq!(text, "30.0 MB of 90.0 MB  2.0 MB/s  ~30 s left  loss 0.0183");
    }
}
