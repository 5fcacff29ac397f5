//! `pcae-run status`: which stages are cached, which run just now, and which failed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::args::Common;
use crate::cli::error::{CommandError, Finding};
use crate::cli::output::state::State;
use crate::cli::output::terminal::{self, paint};
use crate::cli::workspace::{Workspace, hold};
use crate::engine::cache::{Cache, FailedRun, RunPlace, RunningStage};
use crate::engine::digest::StageKey;
use crate::engine::executor::slurm::{
    Batch, Controller, JobState, NoAnswer, SlurmCommands, TaskStatus,
};
use crate::engine::run::status::StageStatus;
use crate::engine::stage::StageSet;
use crate::engine::stage::lifecycle::Progress;
use crate::engine::system::clock;

/// What is known of one stage.
#[derive(Serialize)]
struct Line<'a> {
    stage: &'a str,
    kind: &'static str,
    state: State,
    key: Option<StageKey>,
    /// The rest, for people.
    detail: String,
    bytes: Option<u64>,
    seconds: Option<f64>,
    finished: Option<u64>,
    since: Option<u64>,
    run: Option<RunPlace>,
    progress: Option<Progress>,
    job: Option<TaskStatus>,
}

impl Line<'_> {
    fn set_cached(&mut self, bytes: u64, seconds: f64, finished: u64) {
        let (size, time) = (terminal::size(bytes), terminal::duration(seconds));
        self.detail = format!("{size}, took {time}");
        self.bytes = Some(bytes);
        (self.seconds, self.finished) = (Some(seconds), Some(finished));
    }

    fn set_failed(&mut self, run: FailedRun) {
        let time = terminal::duration(run.seconds);
        let (age, stage) = (terminal::age(run.finished), self.stage);
        self.state = State::Failed;
        self.detail = format!("{age}, after {time}; see `pcae-run log {stage}`");
        (self.seconds, self.finished) = (Some(run.seconds), Some(run.finished));
    }

    fn set_running(&mut self, running: &RunningStage) {
        let mut parts = Vec::new();
        parts.extend(running.progress.as_ref().map(Progress::words));
        if let Some(since) = running.since {
            let seconds = clock::now().saturating_sub(since);
            parts.push(format!("for {}", terminal::whole_duration(seconds as f64)));
        }
        if let Some(RunPlace { host, process }) = &running.place {
            parts.push(format!("by process {process} on {host}"));
        }
        self.state = State::Running;
        self.detail = parts.join(", ");
        (self.since, self.run) = (running.since, running.place.clone());
        self.progress.clone_from(&running.progress);
    }

    fn set_in_queue(&mut self, task: &TaskStatus) {
        self.state = if task.state == JobState::Running { State::Running } else { State::Queued };
        let mut parts = vec![format!("Slurm job {}", task.id.0)];
        match &self.state {
            State::Running => {
                parts.push(format!("on {}", task.node));
                parts.extend(self.progress.as_ref().map(Progress::words));
            }
            _ => parts.extend(Some(task.reason.clone()).filter(|reason| !reason.is_empty())),
        }
        if !task.expected.is_empty() {
            let word = if self.state == State::Running { "until" } else { "starts" };
            parts.push(format!("{word} {}", task.expected.replace('T', " ")));
        }
        self.detail = parts.join(", ");
        self.job = Some(task.clone());
    }

    fn print(&self) {
        let key = self.key.map_or_else(|| "-       ".to_owned(), |key| key.short());
        let state = paint(self.state.tone(), &format!("{:<7}", self.state));
        terminal::line(format!("{state} {key} {}  {}", self.stage, self.detail).trim_end());
    }
}

/// Shows every stage; with `check`, one that is not cached makes the exit code 3.
pub(super) fn status(
    common: &Common,
    check: bool,
    file: Option<&Path>,
) -> Result<ExitCode, CommandError> {
    let workspace = Workspace::open(common, file)?;
    let _in_use = hold(&workspace.cache)?;
    let lines = lines(&workspace, &workspace.statuses()?)?;
    let mut counts = BTreeMap::<State, usize>::new();
    for line in &lines {
        *counts.entry(line.state).or_default() += 1;
        if common.json { terminal::json(line) } else { line.print() }
    }
    if !common.json {
        let stages = terminal::count(lines.len(), "stage");
        let counts: Vec<_> =
            counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        terminal::note(&format!("{stages}: {}", counts.join(", ")));
    }
    let is_stale = counts.keys().any(|state| *state != State::Cached);
    Ok(if check && is_stale { Finding::Stale.into() } else { ExitCode::SUCCESS })
}

fn lines<'a>(
    workspace: &'a Workspace,
    statuses: &[StageStatus],
) -> Result<Vec<Line<'a>>, CommandError> {
    let failed = workspace.cache.failed_runs(workspace.plan.name())?;
    let running = workspace.cache.running_stages();
    let in_queue = in_queue(&workspace.cache);
    let mut lines = Vec::with_capacity(statuses.len());
    for (planned, status) in workspace.plan.stages().iter().zip(statuses) {
        let (state, key, detail) = match status {
            StageStatus::Cached(result) => (State::Cached, Some(result.key), String::new()),
            StageStatus::Stale { record, why } => (State::Stale, Some(record.key()), why.clone()),
            StageStatus::Waiting { on } => (State::Waiting, None, workspace.waits_for(on)),
        };
        let mut line = Line {
            stage: &planned.name,
            kind: planned.stage.as_stage().kind().name,
            state,
            key,
            detail,
            bytes: None,
            seconds: None,
            finished: None,
            since: None,
            run: None,
            progress: None,
            job: None,
        };
        let task = key.and_then(|key| in_queue.get(&key)).filter(|_| state != State::Cached);
        if let Some(task) = task {
            let progress = key.filter(|_| task.state == JobState::Running);
            line.progress = progress.and_then(|key| workspace.cache.progress(&key));
            line.set_in_queue(task);
        } else if let Some(running) = key.and_then(|key| running.get(&key)) {
            line.set_running(running);
        } else if let StageStatus::Cached(result) = status {
            let run = workspace.cache.entry(&result.key)?.run;
            line.set_cached(result.artifact.bytes(), run.seconds, run.finished);
        } else if let Some(run) = key.and_then(|key| failed.get(&key)) {
            line.set_failed(*run);
        }
        lines.push(line);
    }
    Ok(lines)
}

/// Returns the tasks in the queue of a cluster that compute stages, by key.
fn in_queue(cache: &Cache) -> BTreeMap<StageKey, TaskStatus> {
    let batches = Batch::all(&cache.jobs());
    if batches.is_empty() {
        return BTreeMap::new();
    }
    let queue = match SlurmCommands::default().queue() {
        Ok(queue) => queue,
        Err(NoAnswer(message)) => {
            terminal::note(&format!("Slurm does not answer: {message}"));
            return BTreeMap::new();
        }
    };
    let live: BTreeMap<_, _> = queue
        .into_iter()
        .filter(|task| !matches!(task.state, JobState::Ended(_)))
        .map(|task| (task.id.clone(), task))
        .collect();
    let mut found = BTreeMap::new();
    for (id, stages) in batches.iter().flat_map(Batch::numbered_tasks) {
        let Some(task) = live.get(&id) else {
            continue;
        };
        let has_result = |key: &StageKey| matches!(cache.find(key), Ok(Some(_)));
        let mut open = stages.iter().filter(|stage| !has_result(&stage.key));
        let Some(first) = open.next() else {
            continue;
        };
        found.insert(first.key, task.clone());
        for stage in open {
            let reason = match task.state {
                JobState::Running => format!("after {}", first.stage),
                _ => task.reason.clone(),
            };
            let (state, expected) = (JobState::Pending, String::new());
            found.insert(stage.key, TaskStatus { state, reason, expected, ..task.clone() });
        }
    }
    found
}
