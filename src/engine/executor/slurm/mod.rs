//! Runs stages as jobs of a Slurm cluster.
//!
//! What a stage came to is told by a result file that the node writes (result.rs); Slurm's own state only
//! explains why there is none. Jobs go on without their runner: what was submitted stands in the cache
//! (batch.rs), and a later runner waits for it instead of submitting it again. Should two jobs compute the
//! same key all the same, the claim on the key makes one of them wait for the other.

mod attempts;
mod batch;
mod commands;
mod controller;
mod efficiency;
mod packing;
mod request;
mod result;
mod state;
mod tasks;
mod worker;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use self::attempts::{Attempts, Retry};
use self::packing::packed;
use self::tasks::{Phase, Task, TaskNumber, Tasks};
use super::{Executor, Submission, Urgency};
use crate::engine::cache::{Cache, Lookup, Reuse};
use crate::engine::digest::StageKey;
use crate::engine::job::{JobEvent, JobOutcome};
use crate::engine::plan::StageIndex;
use crate::engine::site::quantity::MINUTE;
use crate::engine::site::{Resources, Site};
use crate::engine::stage::Needs;
use crate::engine::system::{clock, host};

pub use batch::{Batch, BatchStage};
pub use commands::SlurmCommands;
pub use controller::{Controller, NoAnswer, SubmitError, TaskId, TaskStatus};
pub use efficiency::{Efficiency, Usage};
pub use request::{Demand, Request, placed};
pub use result::{Asked, StageResult};
pub use state::{End, JobState};
pub use tasks::last_words;
pub use worker::Worker;

/// Tasks of one array: sites allow at least about as many.
const LARGEST_ARRAY: usize = 500;
/// Calls of sbatch that may follow each other at once.
const BURST: f64 = 10.0;
/// The longest pause after an sbatch that was told to come later.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Stages whose progress is read at once.
const MOST_READ: usize = 50;

/// A stage that the scheduler waits for.
struct Wanted {
    submission: Submission,
    resources: Resources,
    attempts: Attempts,
    /// Since when its result is known but its files are not seen.
    unseen: Option<Instant>,
    progress: Option<u64>,
    /// What it said last besides how far it is.
    told: Option<String>,
}

/// What stages must have in common to be submitted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    resources: Resources,
    partition: Option<String>,
    excluded: Vec<String>,
}

/// What an executor needs to know.
pub struct SlurmOptions {
    /// The pipeline's name.
    pub pipeline: String,
    /// Whether the device that models run on is one that has to be asked for.
    pub on_gpu: bool,
    /// Predicted seconds of stages.
    pub predicted: BTreeMap<StageIndex, f64>,
    /// How a node calls this program for a task of a batch; the batch follows.
    pub command: Vec<String>,
    /// Set when jobs should go on without this run, rather than be cancelled when it stops.
    pub leave: Arc<AtomicBool>,
}

/// Runs stages as Slurm jobs.
pub struct Slurm<'a, C> {
    site: &'a Site,
    cache: &'a Cache,
    controller: C,
    options: SlurmOptions,
    wanted: BTreeMap<StageIndex, Wanted>,
    /// Stages that are not submitted yet.
    backlog: BTreeSet<StageIndex>,
    tasks: Tasks,
    events: VecDeque<(StageIndex, JobEvent)>,
    /// The next number of a batch.
    number: usize,
    largest_array: usize,
    /// How many calls of sbatch may be made now, when that was counted, and the pause after one that failed.
    allowed: f64,
    counted: Instant,
    pause: Duration,
    not_before: Instant,
    polled: Option<Instant>,
    scanned: Option<Instant>,
    read: Instant,
    /// Since when the controller has not answered.
    silent_since: Option<Instant>,
    has_recovered: bool,
    is_stopping: bool,
    /// Tasks that were told to end.
    cancelled: BTreeSet<TaskId>,
    told: BTreeSet<String>,
    efficiency: Efficiency,
}

impl<'a, C: Controller> Slurm<'a, C> {
    /// Prepares to submit stages of one run.
    pub fn new(site: &'a Site, cache: &'a Cache, controller: C, options: SlurmOptions) -> Self {
        let now = Instant::now();
        Self {
            site,
            cache,
            controller,
            options,
            wanted: BTreeMap::new(),
            backlog: BTreeSet::new(),
            tasks: Tasks::new(cache.jobs()),
            events: VecDeque::new(),
            number: 0,
            largest_array: LARGEST_ARRAY,
            allowed: BURST,
            counted: now,
            pause: Duration::from_secs(1),
            not_before: now,
            polled: None,
            scanned: None,
            read: now,
            silent_since: None,
            has_recovered: false,
            is_stopping: false,
            cancelled: BTreeSet::new(),
            told: BTreeSet::new(),
            efficiency: Efficiency::default(),
        }
    }

    /// Returns what stages asked for and what they used.
    pub fn efficiency(&self) -> &Efficiency {
        &self.efficiency
    }

    /// Takes note of jobs of runs that are gone, though nothing is wanted of them, so that what is left of
    /// them is removed.
    pub fn finish(&mut self) {
        self.recover();
    }

    /// Returns the controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    fn event(&mut self, stage: StageIndex, event: JobEvent) {
        self.events.push_back((stage, event));
    }

    /// Tells something about all jobs, once until it is forgotten.
    fn tell(&mut self, topic: &str, message: String) {
        let stage = self.wanted.keys().next().copied();
        if let Some(stage) = stage.filter(|_| self.told.insert(topic.to_owned())) {
            self.event(stage, JobEvent::Note(message));
        }
    }

    /// Finds the jobs of runners that are gone, or still there, before anything is submitted.
    fn recover(&mut self) {
        if std::mem::replace(&mut self.has_recovered, true) {
            return;
        }
        let cache = self.cache;
        for batch in Batch::all(&cache.jobs()) {
            // Another cluster, or another user's queue, says nothing about it here.
            if !batch.is_of(&self.site.name) {
                continue;
            }
            let is_orphan = !cache.is_living(&batch.run);
            self.tasks.insert_found(batch, is_orphan);
        }
        if !self.tasks.is_empty() {
            self.poll();
        }
    }

    /// Has a stage done by a job that is there already, if one is.
    fn join(&mut self, stage: StageIndex, key: &StageKey) -> bool {
        // One that is to be computed anew needs a job that knows.
        let is_forced = |wanted: &Wanted| wanted.submission.job.reuse != Reuse::Allowed;
        if self.wanted.get(&stage).is_some_and(is_forced) {
            return false;
        }
        let Some(task) = self.tasks.join(stage, key) else {
            return false;
        };
        let job = self.tasks.name(task);
        let message = format!("already submitted as Slurm job {job}: waiting for it");
        self.event(stage, JobEvent::Note(message));
        true
    }

    /// Submits what is in the backlog, as far as there is room.
    fn flush(&mut self) {
        let now = Instant::now();
        if self.backlog.is_empty() || self.is_stopping || now < self.not_before {
            return;
        }
        let per_second = self.site.submissions_per_minute as f64 / 60.0;
        let gained = (now - self.counted).as_secs_f64() * per_second;
        self.allowed = (self.allowed + gained).min(BURST);
        self.counted = now;
        let mut room = self.site.queue.saturating_sub(self.tasks.in_queue());
        if room == 0 || self.allowed < 1.0 {
            return;
        }
        for (group, stages) in self.groups() {
            let target = self.site.pack.min(group.resources.time / 2);
            let predicted = |stage: &StageIndex| self.options.predicted.get(stage).copied();
            let stages: Vec<_> = stages.iter().map(|stage| (*stage, predicted(stage))).collect();
            let mut packs = packed(&stages, target);
            packs.truncate(room);
            for tasks in packs.chunks(self.largest_array) {
                if self.allowed < 1.0 || Instant::now() < self.not_before {
                    return;
                }
                self.allowed -= 1.0;
                room -= tasks.len().min(room);
                self.submit_batch(&group, tasks);
            }
        }
    }

    /// Returns the backlog by what stages ask for; what fits nowhere fails.
    fn groups(&mut self) -> Vec<(Group, Vec<StageIndex>)> {
        let mut groups: BTreeMap<Group, Vec<StageIndex>> = BTreeMap::new();
        for stage in self.backlog.clone() {
            let Some(wanted) = self.wanted.get(&stage) else {
                continue;
            };
            match placed(self.site, &wanted.resources) {
                Ok((resources, partition)) => {
                    let partition = partition.map(|partition| partition.name.clone());
                    let excluded = wanted.attempts.excluded().to_vec();
                    let group = Group { resources, partition, excluded };
                    groups.entry(group).or_default().push(stage);
                }
                Err(error) => self.fail(stage, error.to_string(), true),
            }
        }
        groups.into_iter().collect()
    }

    fn submit_batch(&mut self, group: &Group, tasks: &[Vec<StageIndex>]) {
        let number = self.number;
        self.number += 1;
        let batch = match self.write_batch(group, tasks, number) {
            Ok(batch) => batch,
            Err(cause) => {
                let message = format!("can't write the job: {cause}");
                for &stage in tasks.iter().flatten() {
                    self.fail(stage, message.clone(), true);
                }
                return;
            }
        };
        let partition = group.partition.as_ref();
        let partition = partition
            .and_then(|name| self.site.partitions.iter().find(|partition| partition.name == *name));
        let demand = Demand {
            site: self.site,
            resources: &group.resources,
            partition,
            excluded: &group.excluded,
        };
        let mut command = self.options.command.clone();
        command.push(batch.path(&self.cache.jobs()).display().to_string());
        let log = self.log_folder().join(format!("{}-%t.log", batch.name));
        let request = demand.request(&batch.name, tasks.len(), &command, &log);
        let answer = self.controller.submit(&request);
        self.submitted(batch, tasks, answer);
    }

    /// Takes note of what came of a call of sbatch.
    fn submitted(
        &mut self,
        mut batch: Batch,
        tasks: &[Vec<StageIndex>],
        answer: Result<String, SubmitError>,
    ) {
        let folder = self.cache.jobs();
        match answer {
            Ok(job) => {
                batch.job = Some(job);
                // If this fails, a later runner finds the job by its name.
                let _ = batch.write(&folder);
                self.pause = Duration::from_secs(1);
                self.told.remove("later");
            }
            Err(SubmitError::Unknown(message)) => {
                self.tell(
                    "unknown",
                    format!("Slurm did not confirm a job, looking for it: {message}"),
                );
            }
            Err(SubmitError::Later(message)) => {
                batch.remove(&folder);
                self.not_before = Instant::now() + self.pause;
                self.pause = (2 * self.pause).min(LONGEST_PAUSE);
                self.tell(
                    "later",
                    format!("Slurm takes no more jobs just now, trying again: {message}"),
                );
                return;
            }
            Err(SubmitError::Refused(message)) => {
                batch.remove(&folder);
                if tasks.len() > 1 {
                    // One bad request must not take others with it, and some sites allow no arrays.
                    self.largest_array = 1;
                    return;
                }
                let message = format!("Slurm refused its job: {message}");
                for &stage in tasks.iter().flatten() {
                    self.fail(stage, message.clone(), true);
                }
                return;
            }
        }
        for stage in tasks.iter().flatten() {
            self.backlog.remove(stage);
        }
        self.tasks.insert_own(batch, tasks);
    }

    fn write_batch(
        &self,
        group: &Group,
        tasks: &[Vec<StageIndex>],
        number: usize,
    ) -> std::io::Result<Batch> {
        let run = tasks.iter().flatten().find_map(|stage| self.wanted.get(stage));
        let run = run.map(|wanted| wanted.submission.run.clone()).unwrap_or_default();
        let mut records = Vec::with_capacity(tasks.len());
        for stages in tasks {
            let mut record = Vec::with_capacity(stages.len());
            for wanted in stages.iter().filter_map(|stage| self.wanted.get(stage)) {
                let Submission { job, job_path, log_path, timeout, kind, .. } = &wanted.submission;
                job.write(job_path)?;
                record.push(BatchStage {
                    stage: job.stage.clone(),
                    kind: kind.clone(),
                    key: job.key,
                    job: job_path.clone(),
                    log: log_path.clone(),
                    timeout: timeout.map(|timeout| timeout.as_secs()),
                });
            }
            records.push(record);
        }
        let batch = Batch {
            name: format!("pcae-{run}-{number}"),
            run,
            number,
            pipeline: self.options.pipeline.clone(),
            site: self.site.name.clone(),
            user: host::user(),
            job: None,
            tasks: records,
            threads: group.resources.cpus,
            scratch: self.site.scratch.clone(),
            made: clock::now(),
            time: group.resources.time.as_secs(),
            memory: group.resources.memory,
        };
        std::fs::create_dir_all(self.log_folder())?;
        batch.write(&self.cache.jobs())?;
        Ok(batch)
    }

    fn log_folder(&self) -> PathBuf {
        self.cache.root().join("logs").join("slurm")
    }

    /// Takes the results that nodes have written.
    fn collect(&mut self) {
        for (stage, task) in self.tasks.with_results() {
            let Some(result) = self.tasks.result(stage) else {
                continue;
            };
            self.take(stage, task, result);
        }
        if self.read.elapsed() >= Duration::from_secs(2) {
            self.read = Instant::now();
            self.read_progress();
        }
    }

    fn take(&mut self, stage: StageIndex, task: TaskNumber, result: StageResult) {
        let Some(wanted) = self.wanted.get_mut(&stage) else {
            return;
        };
        let key = wanted.submission.job.key;
        match result.outcome {
            JobOutcome::Executed(_) | JobOutcome::Cached(_) => {
                let is_new = matches!(result.outcome, JobOutcome::Executed(_))
                    && !self.tasks.is_of_living_run(task);
                let _ = self.cache.refresh(&key);
                if let Ok(Lookup::Hit(found)) = self.cache.lookup(&key) {
                    if is_new {
                        self.note_usage(stage, &result, &key);
                    }
                    let outcome = if is_new { JobOutcome::Executed } else { JobOutcome::Cached };
                    self.deliver(stage, outcome(found));
                    return;
                }
                // A network file system may show a file on one machine long before another.
                let since = *wanted.unseen.get_or_insert_with(Instant::now);
                if since.elapsed() >= self.site.grace {
                    let message = format!(
                        "its result (Slurm job {} on {}) is not seen here after {} s: is the cache \
                         folder shared with the nodes?",
                        result.job.as_deref().unwrap_or("?"),
                        result.node,
                        self.site.grace.as_secs()
                    );
                    self.fail(stage, message, false);
                }
            }
            JobOutcome::Stopped if self.is_stopping => self.deliver(stage, JobOutcome::Stopped),
            JobOutcome::Stopped if result.asked == Some(Asked::TimeLimit) => {
                self.tasks.set_cut(task);
                self.retry(stage, Retry::TimeLimit);
            }
            // Why it had to end, Slurm tells; where it does not, the job is lost.
            JobOutcome::Stopped | JobOutcome::Left => self.tasks.set_stopped(task),
            JobOutcome::Killed(message) => self.retry(stage, Retry::Memory(message)),
            JobOutcome::NoDevice(message) => {
                let node = self.tasks.task(task).node.clone();
                self.retry(stage, Retry::NoDevice { node, message });
            }
            outcome @ (JobOutcome::Busy(_) | JobOutcome::Failed { .. }) => {
                self.deliver(stage, outcome);
            }
        }
    }

    fn note_usage(&mut self, stage: StageIndex, result: &StageResult, key: &StageKey) {
        let Some(wanted) = self.wanted.get(&stage) else {
            return;
        };
        let peak = self.cache.entry(key).ok().and_then(|entry| entry.run.peak_memory);
        self.efficiency.add(Usage {
            kind: wanted.submission.kind.clone(),
            asked: wanted.resources,
            seconds: result.ended.saturating_sub(result.began),
            peak_memory: peak,
        });
    }

    fn read_progress(&mut self) {
        for (stage, path) in self.tasks.running().into_iter().take(MOST_READ) {
            let text = std::fs::read(path).ok();
            let progress: Option<crate::engine::stage::lifecycle::Progress> =
                text.and_then(|text| serde_json::from_slice(&text).ok());
            let Some((mut progress, wanted)) = progress.zip(self.wanted.get_mut(&stage)) else {
                continue;
            };
            if progress.message.is_some() && progress.message == wanted.told {
                progress.message = None;
            } else if progress.message.is_some() {
                wanted.told.clone_from(&progress.message);
            }
            let is_new = wanted.progress.replace(progress.done) != Some(progress.done);
            if is_new || progress.message.is_some() {
                self.event(stage, JobEvent::Progress(progress));
            }
        }
    }

    /// Asks Slurm about all jobs at once.
    fn poll(&mut self) {
        self.polled = Some(Instant::now());
        let found = match self.controller.queue() {
            Ok(found) => found,
            Err(NoAnswer(message)) => {
                self.silent_since.get_or_insert_with(Instant::now);
                let message = format!("Slurm does not answer, jobs go on meanwhile: {message}");
                self.tell("silent", message);
                return;
            }
        };
        if self.silent_since.take().is_some() && self.told.remove("silent") {
            self.tell("answers", "Slurm answers again".to_owned());
            self.told.remove("answers");
        }
        let missing = self.tasks.update(&found);
        if self.is_stopping {
            self.cancel_own();
        }
        if !missing.is_empty()
            && let Ok(found) = self.controller.accounting(&missing)
        {
            self.tasks.update_ended(&found);
        }
        let changes = self.tasks.changes();
        for (task, phase) in changes {
            self.changed(task, &phase);
        }
    }

    fn changed(&mut self, task: TaskNumber, phase: &Phase) {
        let job = self.tasks.name(task);
        for stage in self.tasks.stages(task) {
            match phase {
                Phase::Pending(reason) => {
                    if JobState::is_stuck(reason) {
                        let message = format!(
                            "Slurm job {job} will not start by itself ({reason}): see `scontrol show \
                             job {job}`"
                        );
                        self.event(stage, JobEvent::Note(message));
                    }
                    let (job, reason) = (job.clone(), reason.clone());
                    self.event(stage, JobEvent::Queued { job, reason });
                }
                // The others of the task begin one after the other.
                Phase::Running if self.tasks.first_running(task) == Some(stage) => {
                    self.event(stage, JobEvent::Started);
                }
                Phase::Unknown(word) => {
                    self.tell(word, format!("Slurm says `{word}` of job {job}: taken for running"));
                }
                Phase::Running | Phase::Submitted | Phase::Ended { .. } => {}
            }
        }
    }

    /// Decides about stages whose job has ended without a result for them.
    fn settle(&mut self) {
        for task in self.tasks.ended_for(self.site.grace, self.is_stopping) {
            let end = self.tasks.end(task);
            let mut is_first = true;
            for stage in self.tasks.stages(task) {
                if self.wanted.get(&stage).is_some_and(|wanted| wanted.unseen.is_some()) {
                    continue;
                }
                self.explain(stage, task, end, is_first);
                is_first = false;
            }
        }
    }

    /// Decides about one of them; only the first had begun.
    fn explain(&mut self, stage: StageIndex, task: TaskNumber, end: Option<End>, is_first: bool) {
        let Some(wanted) = self.wanted.get(&stage) else {
            return;
        };
        let job = &wanted.submission.job;
        if job.reuse == Reuse::Allowed
            && let Ok(Lookup::Hit(found)) = self.cache.lookup(&job.key)
        {
            self.deliver(stage, JobOutcome::Cached(found));
            return;
        }
        if self.is_stopping {
            self.deliver(stage, JobOutcome::Stopped);
            return;
        }
        let Task { node, .. } = self.tasks.task(task);
        let (job, node) = (self.tasks.name(task), node.clone());
        let retry = match end {
            _ if !is_first || self.tasks.is_cut(task) => Retry::Unstarted,
            Some(End::Timeout) => Retry::TimeLimit,
            Some(End::Preempted) => Retry::Preempted,
            Some(End::NodeFailed) => Retry::NodeFailed(node),
            Some(End::OutOfMemory) => {
                Retry::Memory(format!("Slurm job {job} ran out of memory on {node}"))
            }
            Some(End::Cancelled) => {
                self.fail(stage, format!("its Slurm job {job} was cancelled"), true);
                return;
            }
            Some(End::Deadline) => {
                let message = format!("its Slurm job {job} could not end before its deadline");
                self.fail(stage, message, true);
                return;
            }
            Some(End::Failed) => {
                // Without cgroups, Slurm has no state for it.
                let Some(words) = self.tasks.memory_words(task, &self.log_folder()) else {
                    let why = self.tasks.last_words(task, &self.log_folder());
                    self.fail(stage, format!("its Slurm job {job} failed on {node}: {why}"), false);
                    return;
                };
                Retry::Memory(format!("Slurm job {job} on {node}: {words}"))
            }
            Some(End::Completed) | None => {
                Retry::Lost(format!("Slurm job {job} is gone and left no result"))
            }
        };
        self.retry(stage, retry);
    }

    /// Submits a stage again, if it may be.
    fn retry(&mut self, stage: StageIndex, retry: Retry) {
        if self.is_stopping {
            self.deliver(stage, JobOutcome::Stopped);
            return;
        }
        let Some(wanted) = self.wanted.get_mut(&stage) else {
            return;
        };
        // What it has done since it was forced is not to be done again.
        if wanted.submission.job.reuse == Reuse::Refused && retry != Retry::Unstarted {
            wanted.submission.job.reuse = Reuse::StateOnly;
        }
        let done = self.tasks.progress(stage);
        match wanted.attempts.again(&retry, &mut wanted.resources, self.site, done) {
            Ok(note) => {
                wanted.unseen = None;
                self.tasks.leave(stage);
                self.backlog.insert(stage);
                if let Some(note) = note {
                    self.event(stage, JobEvent::Note(note));
                }
            }
            Err(message) => self.fail(stage, message, false),
        }
    }

    fn fail(&mut self, stage: StageIndex, message: String, permanent: bool) {
        self.deliver(stage, JobOutcome::Failed { message, permanent });
    }

    /// Tells the scheduler how a stage ended; nothing more is expected of it.
    fn deliver(&mut self, stage: StageIndex, outcome: JobOutcome) {
        if self.wanted.remove(&stage).is_some() {
            self.backlog.remove(&stage);
            let task = self.tasks.task_of(stage);
            self.tasks.leave(stage);
            self.event(stage, JobEvent::Ended(outcome));
            if let Some(next) = task.and_then(|task| self.tasks.first_running(task)) {
                self.event(next, JobEvent::Started);
            }
        }
    }

    fn step(&mut self) {
        let poll = if self.is_stopping {
            self.site.poll.min(Duration::from_secs(1))
        } else {
            self.site.poll
        };
        let scan = (poll / 10).clamp(Duration::from_millis(1), Duration::from_secs(1));
        let is_due = |last: Option<Instant>, every| last.is_none_or(|last| last.elapsed() >= every);
        self.flush();
        if is_due(self.scanned, scan) {
            self.scanned = Some(Instant::now());
            self.collect();
        }
        if !self.tasks.is_empty() && is_due(self.polled, poll) {
            self.poll();
        }
        self.settle();
    }
}

impl<C: Controller> Executor for Slurm<'_, C> {
    fn submit(&mut self, mut submission: Submission) {
        self.recover();
        let Submission { stage, ref kind, needs, ref job, timeout, .. } = submission;
        let mut resources = {
            let needs_gpu = needs == Needs::Device && self.options.on_gpu;
            self.site.resources(kind, &job.stage, needs_gpu)
        };
        if let Some(timeout) = timeout {
            // The pipeline's limit ends the stage; the job need not be longer.
            // Longer than the stage may take, whatever comes before it, so that it is its own limit that ends
            // it; Slurm may send the warning a minute early.
            let longest = timeout + 2 * self.site.warn_before + 5 * MINUTE;
            resources.time = resources.time.min(longest);
        }
        submission.threads = resources.cpus;
        let key = job.key;
        let (attempts, unseen) = (Attempts::default(), None);
        let wanted = Wanted { submission, resources, attempts, unseen, progress: None, told: None };
        self.wanted.insert(stage, wanted);
        if !self.join(stage, &key) {
            self.backlog.insert(stage);
        }
    }

    fn next(&mut self, patience: Duration) -> Option<(StageIndex, JobEvent)> {
        const PAUSE: Duration = Duration::from_millis(5);
        let until = Instant::now() + patience;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            self.step();
            if self.events.is_empty() {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                thread::sleep(left.min(PAUSE));
            }
        }
    }

    fn stop(&mut self, urgency: Urgency) {
        let waits = urgency == Urgency::Soon && !self.options.leave.load(Ordering::Relaxed);
        self.is_stopping = true;
        self.cancel_own();
        for stage in std::mem::take(&mut self.backlog) {
            self.deliver(stage, JobOutcome::Stopped);
        }
        if !waits {
            for stage in self.wanted.keys().copied().collect::<Vec<_>>() {
                self.deliver_left(stage);
            }
        }
    }

    fn drain(&mut self) {
        for stage in std::mem::take(&mut self.backlog) {
            self.deliver(stage, JobOutcome::Stopped);
        }
    }

    fn is_remote(&self) -> bool {
        true
    }
}

impl<C: Controller> Slurm<'_, C> {
    /// Cancels the jobs of this run that were not cancelled yet, unless they are to go on.
    fn cancel_own(&mut self) {
        if self.options.leave.load(Ordering::Relaxed) {
            return;
        }
        let mut tasks = self.tasks.own_in_queue();
        tasks.retain(|task| !self.cancelled.contains(task));
        if tasks.is_empty() {
            return;
        }
        match self.controller.cancel(&tasks) {
            Ok(()) => self.cancelled.extend(tasks),
            Err(NoAnswer(message)) => {
                self.tell("cancel", format!("jobs could not be cancelled: {message}"));
            }
        }
    }

    /// Waits for a stage no longer. If its job goes on, a later run takes whatever comes of it.
    fn deliver_left(&mut self, stage: StageIndex) {
        if self.wanted.remove(&stage).is_some() {
            self.tasks.forget(stage);
            let goes_on = self.options.leave.load(Ordering::Relaxed);
            let outcome = if goes_on { JobOutcome::Left } else { JobOutcome::Stopped };
            self.event(stage, JobEvent::Ended(outcome));
        }
    }
}

impl<C> Drop for Slurm<'_, C> {
    /// Removes what is left of jobs that are over and whose runner is gone.
    fn drop(&mut self) {
        let has_result = |key: &StageKey| matches!(self.cache.lookup(key), Ok(Lookup::Hit(_)));
        self.tasks.remove_ended(has_result);
    }
}
