//! The tasks of all jobs that are waited for, and what is known of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::batch::{Batch, BatchStage};
use super::controller::{TaskId, TaskStatus};
use super::result::StageResult;
use super::state::{End, JobState};
use crate::engine::digest::StageKey;
use crate::engine::plan::StageIndex;
use crate::engine::stage::lifecycle::Progress;
use crate::engine::system::clock;

/// The number of a task among those that a run knows.
pub(super) type TaskNumber = usize;

/// What is known of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Submitted, and not seen in the queue yet.
    Submitted,
    /// In the queue, and why it waits.
    Pending(String),
    /// It runs.
    Running,
    /// In a state that this program does not know.
    Unknown(String),
    /// It is over; how it ended, if anyone knows.
    Ended {
        /// How.
        end: Option<End>,
        /// When that was seen.
        at: Instant,
    },
}

/// One task of a job.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Task {
    batch: usize,
    /// Its number in the batch.
    number: usize,
    phase: Phase,
    /// Since when Slurm has not listed it.
    missing: Option<Instant>,
    /// The node it ran on.
    pub(super) node: String,
    /// Whether it may have run, so that it may have left a result.
    may_have_run: bool,
    /// Whether other tasks of its job were listed when it was not.
    are_others_listed: bool,
    /// Whether a stage was asked to stop before its time limit, so that those after it did not begin.
    is_cut: bool,
    /// Whether its phase has been told.
    is_told: bool,
}

/// A job with its tasks.
#[derive(Debug)]
struct Known {
    batch: Batch,
    /// Whether this run submitted it.
    is_own: bool,
    /// Whether the run that submitted it is gone.
    is_orphan: bool,
}

/// Where a stage is computed.
#[derive(Clone, Copy, Debug)]
struct Place {
    task: TaskNumber,
    position: usize,
}

/// All tasks.
#[derive(Debug)]
pub(super) struct Tasks {
    folder: PathBuf,
    batches: Vec<Option<Known>>,
    known: BTreeMap<TaskNumber, Task>,
    next: TaskNumber,
    /// Where stages of this run are computed.
    places: BTreeMap<StageIndex, Place>,
    /// What stages are waited for at a task, in the order it runs them.
    waiting: BTreeMap<TaskNumber, BTreeMap<usize, StageIndex>>,
    /// Keys that are computed by jobs of other runs.
    found: BTreeMap<StageKey, Place>,
    by_id: BTreeMap<TaskId, TaskNumber>,
    by_result: BTreeMap<PathBuf, StageIndex>,
    /// When Slurm has answered last.
    answered: Instant,
}

impl Tasks {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            batches: Vec::new(),
            known: BTreeMap::new(),
            next: 0,
            places: BTreeMap::new(),
            waiting: BTreeMap::new(),
            found: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_result: BTreeMap::new(),
            answered: Instant::now(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns how many tasks are pending or running.
    pub(super) fn in_queue(&self) -> usize {
        let is_there = |task: &&Task| {
            // What a run that is gone has submitted may be forgotten by Slurm long since.
            !matches!(task.phase, Phase::Ended { .. }) && task.missing.is_none()
        };
        self.known.values().filter(is_there).count()
    }

    /// Returns the tasks of this run that are pending or running, as Slurm names them.
    pub(super) fn own_in_queue(&self) -> Vec<TaskId> {
        let is_live = |task: &&Task| !matches!(task.phase, Phase::Ended { .. });
        let is_waited_for = |(number, task): &(&TaskNumber, &Task)| {
            self.waiting.contains_key(number) && self.is_ours(task.batch)
        };
        let tasks = self.known.iter().filter(is_waited_for).map(|(_, task)| task);
        tasks.filter(is_live).filter_map(|task| self.id(task)).collect()
    }

    /// Adds a job that this run has submitted.
    pub(super) fn insert_own(&mut self, batch: Batch, stages: &[Vec<StageIndex>]) {
        let first = self.insert(Known { batch, is_own: true, is_orphan: false });
        for (number, stages) in stages.iter().enumerate() {
            for (position, &stage) in stages.iter().enumerate() {
                self.wait(stage, Place { task: first + number, position });
            }
        }
    }

    /// Adds a job that another run has submitted.
    pub(super) fn insert_found(&mut self, batch: Batch, is_orphan: bool) {
        let keys: Vec<Vec<StageKey>> = batch
            .tasks
            .iter()
            .map(|stages| stages.iter().map(|stage| stage.key).collect())
            .collect();
        let first = self.insert(Known { batch, is_own: false, is_orphan });
        for (number, keys) in keys.iter().enumerate() {
            for (position, key) in keys.iter().enumerate() {
                self.found.insert(*key, Place { task: first + number, position });
            }
        }
    }

    fn insert(&mut self, known: Known) -> TaskNumber {
        let (batch, first) = (self.batches.len(), self.next);
        for number in 0..known.batch.tasks.len() {
            let task = Task {
                batch,
                number,
                phase: Phase::Submitted,
                missing: None,
                node: String::new(),
                may_have_run: true,
                are_others_listed: false,
                is_cut: false,
                is_told: true,
            };
            self.known.insert(self.next, task);
            self.next += 1;
        }
        self.batches.push(Some(known));
        self.learn_ids(batch);
        first
    }

    /// Has a stage done by a job of another run, unless that is over without a result.
    pub(super) fn join(&mut self, stage: StageIndex, key: &StageKey) -> Option<TaskNumber> {
        let place = *self.found.get(key)?;
        let task = self.known.get(&place.task)?;
        let (batch, record) = self.record(place)?;
        match StageResult::read(&batch.result_path(record)) {
            Some(result) if result.is_final() => {}
            // Stopped or failed before: what a new run is there for.
            Some(_) => {
                if self.is_orphan(task.batch) {
                    let _ = fs::remove_file(batch.result_path(record));
                }
                return None;
            }
            None if matches!(task.phase, Phase::Ended { .. }) => return None,
            None => {}
        }
        self.wait(stage, place);
        Some(place.task)
    }

    fn wait(&mut self, stage: StageIndex, place: Place) {
        self.places.insert(stage, place);
        self.waiting.entry(place.task).or_default().insert(place.position, stage);
        if let Some((batch, record)) = self.record(place) {
            self.by_result.insert(batch.result_path(record), stage);
        }
    }

    fn record(&self, place: Place) -> Option<(&Batch, &BatchStage)> {
        let task = self.known.get(&place.task)?;
        let known = self.batches.get(task.batch)?.as_ref()?;
        let record = known.batch.tasks.get(task.number)?.get(place.position)?;
        Some((&known.batch, record))
    }

    /// Stops waiting for a stage at its job, and removes what is left of it there.
    pub(super) fn leave(&mut self, stage: StageIndex) {
        let Some(place) = self.places.get(&stage).copied() else {
            return;
        };
        let Some(batch) = self.known.get(&place.task).map(|task| task.batch) else {
            self.forget(stage);
            return;
        };
        if let Some((known, record)) = self.record(place) {
            let (path, key) = (known.result_path(record), record.key);
            // A run that lives reads the results of its jobs itself.
            if self.is_ours(batch) {
                let _ = fs::remove_file(path);
            }
            self.found.remove(&key);
        }
        self.forget(stage);
        if !self.waiting.contains_key(&place.task) && self.is_own(batch) {
            self.known.remove(&place.task);
            if !self.known.values().any(|task| task.batch == batch) {
                self.remove_batch(batch);
            }
        }
    }

    /// Stops waiting for a stage, and leaves everything as it is.
    pub(super) fn forget(&mut self, stage: StageIndex) {
        let Some(place) = self.places.remove(&stage) else {
            return;
        };
        if let Some(path) = self.record(place).map(|(batch, record)| batch.result_path(record)) {
            self.by_result.remove(&path);
        }
        if let Some(stages) = self.waiting.get_mut(&place.task) {
            stages.remove(&place.position);
            if stages.is_empty() {
                self.waiting.remove(&place.task);
            }
        }
    }

    fn is_orphan(&self, batch: usize) -> bool {
        self.batches.get(batch).and_then(Option::as_ref).is_some_and(|known| known.is_orphan)
    }

    /// Returns whether a job is this run's, or nobody's any more.
    fn is_ours(&self, batch: usize) -> bool {
        self.is_own(batch) || self.is_orphan(batch)
    }

    fn is_own(&self, batch: usize) -> bool {
        self.batches.get(batch).and_then(Option::as_ref).is_some_and(|known| known.is_own)
    }

    /// Removes the record of a job whose stages have all been settled; their jobs are the scheduler's.
    fn remove_batch(&mut self, batch: usize) {
        if let Some(known) = self.batches.get_mut(batch).and_then(Option::take) {
            let _ = fs::remove_file(known.batch.path(&self.folder));
        }
    }

    /// Removes the records of jobs that are over and whose runners are gone. A job that Slurm does not
    /// list may be listed later: it is over if all its keys have results, or if it was made long ago.
    pub(super) fn remove_ended(&self, has_result: impl Fn(&StageKey) -> bool) {
        const LONG: u64 = 3600;
        for (number, known) in self.batches.iter().enumerate() {
            let Some(Known { batch, is_own, is_orphan }) = known else {
                continue;
            };
            let tasks = || self.known.values().filter(|task| task.batch == number);
            let is_ended = |task: &Task| matches!(task.phase, Phase::Ended { .. });
            let is_unlisted = |task: &Task| is_ended(task) || task.missing.is_some();
            let stages = || batch.tasks.iter().flatten();
            let is_over = tasks().all(is_ended)
                || tasks().all(is_unlisted)
                    && (clock::now() > batch.made + LONG
                        || stages().all(|stage| has_result(&stage.key)));
            if is_over && (*is_own || *is_orphan) {
                batch.remove(&self.folder);
            }
        }
    }

    /// Returns whether a task was submitted by another run that lives.
    pub(super) fn is_of_living_run(&self, number: TaskNumber) -> bool {
        let known = self.known.get(&number).and_then(|task| self.batches.get(task.batch)?.as_ref());
        known.is_some_and(|known| !known.is_own && !known.is_orphan)
    }

    /// Returns the stages whose results nodes have written, with their tasks.
    pub(super) fn with_results(&self) -> Vec<(StageIndex, TaskNumber)> {
        let Ok(items) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let stages = items.flatten().filter_map(|item| self.by_result.get(&item.path()).copied());
        let with_task = |stage| Some((stage, self.places.get(&stage)?.task));
        stages.filter_map(with_task).collect()
    }

    /// Returns the result of a stage.
    pub(super) fn result(&self, stage: StageIndex) -> Option<StageResult> {
        let (batch, record) = self.record(*self.places.get(&stage)?)?;
        StageResult::read(&batch.result_path(record))
    }

    /// Returns how far a stage said it was.
    pub(super) fn progress(&self, stage: StageIndex) -> Option<u64> {
        let (_, record) = self.record(*self.places.get(&stage)?)?;
        let text = fs::read(record.job.with_extension("progress")).ok()?;
        serde_json::from_slice::<Progress>(&text).ok().map(|progress| progress.done)
    }

    /// Returns the task that computes a stage.
    pub(super) fn task_of(&self, stage: StageIndex) -> Option<TaskNumber> {
        Some(self.places.get(&stage)?.task)
    }

    /// Returns the first of the stages that are waited for at a task, if the task runs.
    pub(super) fn first_running(&self, number: TaskNumber) -> Option<StageIndex> {
        let runs = self.known.get(&number).is_some_and(|task| task.phase == Phase::Running);
        self.waiting.get(&number).filter(|_| runs)?.values().next().copied()
    }

    /// Returns the stages that may run just now, with where they tell how far they are.
    pub(super) fn running(&self) -> Vec<(StageIndex, PathBuf)> {
        let is_running = |number: &TaskNumber| {
            self.known.get(number).is_some_and(|task| task.phase == Phase::Running)
        };
        let tasks = self.waiting.iter().filter(|(number, _)| is_running(number));
        let first = tasks.filter_map(|(_, stages)| stages.values().next().copied());
        let path = |stage: StageIndex| {
            let (_, record) = self.record(*self.places.get(&stage)?)?;
            Some((stage, record.job.with_extension("progress")))
        };
        first.filter_map(path).collect()
    }

    /// Returns what Slurm calls a task.
    fn id(&self, task: &Task) -> Option<TaskId> {
        let batch = &self.batches.get(task.batch)?.as_ref()?.batch;
        Some(TaskId::of(batch.job.as_ref()?, task.number, batch.tasks.len()))
    }

    /// Returns the name of a task for people.
    pub(super) fn name(&self, number: TaskNumber) -> String {
        let id = self.known.get(&number).and_then(|task| self.id(task));
        id.map_or_else(|| "that is not confirmed".to_owned(), |id| id.0)
    }

    pub(super) fn task(&self, number: TaskNumber) -> &Task {
        &self.known[&number]
    }

    /// Returns the stages that are waited for at a task, in the order it runs them.
    pub(super) fn stages(&self, number: TaskNumber) -> Vec<StageIndex> {
        self.waiting.get(&number).map(|all| all.values().copied().collect()).unwrap_or_default()
    }

    fn learn_ids(&mut self, batch: usize) {
        for (&number, task) in &self.known {
            if task.batch == batch
                && let Some(id) = self.id(task)
            {
                self.by_id.insert(id, number);
            }
        }
    }

    /// Finds the numbers of jobs whose submission was not confirmed, by their names.
    fn confirm(&mut self, found: &[TaskStatus]) {
        for at in 0..self.batches.len() {
            let Some(known) = self.batches[at].as_mut().filter(|known| known.batch.job.is_none())
            else {
                continue;
            };
            let status = found.iter().find(|status| status.name == known.batch.name);
            if let Some(number) = status.and_then(|status| status.id.0.split('_').next()) {
                known.batch.job = Some(number.to_owned());
                let _ = known.batch.write(&self.folder);
                self.learn_ids(at);
            }
        }
    }

    /// Takes note of what the queue says; returns the tasks that it does not list.
    pub(super) fn update(&mut self, found: &[TaskStatus]) -> Vec<TaskId> {
        self.confirm(found);
        let (mut listed, mut batches) = (BTreeSet::new(), BTreeSet::new());
        for status in found {
            if let Some(number) = self.number_of(status) {
                listed.insert(number);
                batches.extend(self.known.get(&number).map(|task| task.batch));
                self.set(number, status);
            }
        }
        let mut missing = Vec::new();
        let ids: BTreeMap<TaskNumber, Option<TaskId>> =
            self.known.iter().map(|(&number, task)| (number, self.id(task))).collect();
        for (number, task) in &mut self.known {
            if listed.contains(number) || matches!(task.phase, Phase::Ended { .. }) {
                continue;
            }
            task.missing.get_or_insert_with(Instant::now);
            task.are_others_listed = batches.contains(&task.batch);
            if self.waiting.contains_key(number) {
                missing.extend(ids[number].clone());
            }
        }
        self.answered = Instant::now();
        missing
    }

    /// Takes note of what the accounting says of tasks that are not in the queue: only of those that it
    /// says are over, since it lags behind.
    pub(super) fn update_ended(&mut self, found: &[TaskStatus]) {
        for status in found.iter().filter(|status| matches!(status.state, JobState::Ended(_))) {
            if let Some(number) = self.number_of(status) {
                self.set(number, status);
            }
        }
    }

    /// Returns the task that is spoken of; numbers of jobs begin anew when a cluster is set up again.
    fn number_of(&self, status: &TaskStatus) -> Option<TaskNumber> {
        let number = *self.by_id.get(&status.id)?;
        let batch = self.batches.get(self.known.get(&number)?.batch)?.as_ref()?;
        (batch.batch.name == status.name).then_some(number)
    }

    fn set(&mut self, number: TaskNumber, status: &TaskStatus) {
        let Some(task) = self.known.get_mut(&number) else {
            return;
        };
        task.missing = None;
        if !status.node.is_empty() {
            task.node.clone_from(&status.node);
        }
        let phase = match &status.state {
            JobState::Pending => Phase::Pending(status.reason.clone()),
            JobState::Running => Phase::Running,
            JobState::Unknown(word) => Phase::Unknown(word.clone()),
            JobState::Ended(end) => match task.phase {
                Phase::Ended { at, .. } => Phase::Ended { end: Some(*end), at },
                _ => Phase::Ended { end: Some(*end), at: Instant::now() },
            },
        };
        if phase != task.phase {
            task.may_have_run = match (&phase, &task.phase) {
                // From one answer to the next it can have run and ended, unless someone cancelled it.
                (Phase::Pending(_), _)
                | (Phase::Ended { end: Some(End::Cancelled), .. }, Phase::Pending(_)) => false,
                _ => true,
            };
            task.phase = phase;
            task.is_told = false;
        }
    }

    /// Returns the tasks whose phase has changed since this was asked last.
    pub(super) fn changes(&mut self) -> Vec<(TaskNumber, Phase)> {
        let mut changed = Vec::new();
        for (&number, task) in &mut self.known {
            if !std::mem::replace(&mut task.is_told, true) {
                changed.push((number, task.phase.clone()));
            }
        }
        changed
    }

    /// Notes that a task was asked to stop before its time limit.
    pub(super) fn set_cut(&mut self, number: TaskNumber) {
        if let Some(task) = self.known.get_mut(&number) {
            task.is_cut = true;
        }
    }

    /// Returns whether a task was asked to stop before its time limit.
    pub(super) fn is_cut(&self, number: TaskNumber) -> bool {
        self.known.get(&number).is_some_and(|task| task.is_cut)
    }

    /// Takes a task for ended whose stage has said that it stopped.
    pub(super) fn set_stopped(&mut self, number: TaskNumber) {
        if let Some(task) = self.known.get_mut(&number) {
            task.missing.get_or_insert_with(Instant::now);
        }
    }

    /// Returns the tasks that are waited for and that have been over, or gone, for so long.
    pub(super) fn ended_for(&mut self, grace: Duration, is_stopping: bool) -> Vec<TaskNumber> {
        let mut ended = Vec::new();
        for &number in self.waiting.keys() {
            let Some(task) = self.known.get_mut(&number) else {
                continue;
            };
            let waited = matches!(task.phase, Phase::Pending(_));
            // Counted up to the last answer: while Slurm is silent, nothing is known.
            if let Some(missing) = task.missing
                && (self.answered.saturating_duration_since(missing) >= grace
                    || is_stopping && waited)
                && !matches!(task.phase, Phase::Ended { .. })
            {
                // A task of an array that is cancelled while it waits is not listed any more, the others are.
                let is_cancelled = waited && task.are_others_listed;
                let end = is_cancelled.then_some(End::Cancelled);
                task.phase = Phase::Ended { end, at: missing };
            }
            if let Phase::Ended { at, .. } = task.phase
                && (at.elapsed() >= grace || !task.may_have_run)
            {
                ended.push(number);
            }
        }
        ended
    }

    /// Returns how a task ended, if anyone knows.
    pub(super) fn end(&self, number: TaskNumber) -> Option<End> {
        match self.known.get(&number)?.phase {
            Phase::Ended { end, .. } => end,
            _ => None,
        }
    }

    /// Returns the last line that a task printed.
    pub(super) fn last_words(&self, number: TaskNumber, logs: &Path) -> String {
        last_words(&logs.join(self.log_name(number).unwrap_or_default()))
    }

    /// Returns the line by which a node says that a task took more memory than it may.
    pub(super) fn memory_words(&self, number: TaskNumber, logs: &Path) -> Option<String> {
        const WORDS: [&str; 3] = ["memory limit", "oom-kill", "out of memory"];
        let text = fs::read(logs.join(self.log_name(number)?)).ok()?;
        let text = String::from_utf8_lossy(&text);
        let says = |line: &&str| WORDS.iter().any(|words| line.to_lowercase().contains(words));
        text.lines().rev().find(says).map(|line| line.trim().to_owned())
    }

    fn log_name(&self, number: TaskNumber) -> Option<String> {
        let task = self.known.get(&number)?;
        let batch = &self.batches.get(task.batch)?.as_ref()?.batch;
        Some(format!("{}-{}.log", batch.name, task.number))
    }
}

/// Returns the last line that a job printed.
pub fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it printed nothing, so it may not have been launched").to_owned()
}
