//! Runs a plan: each stage once, after its inputs, as many side by side as allowed.
//!
//! A stage's key is built when its inputs are there, so an input that came out unchanged stops the
//! rerun of everything behind it. Stages of one trajectory run one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use super::contents::CurrentContents;
use super::devices::Devices;
use super::events::Event;
use super::options::{OnError, RunOptions, RunReport, run_id};
use super::prior_hits::PriorHits;
use super::sharing::{Lookup as SharedLookup, Shared, Sharing};
use super::startable::{Ready, ReadyStages};
use super::status::{StageStatus, damaged_note};
use super::why::Causes;
use crate::engine::cache::{Cache, CacheError, Lookup, PastRun, Reuse, RunningRun, StoredResult};
use crate::engine::digest::{StageKey, TrajectoryKey};
use crate::engine::executor::{Executor, Submission, Urgency};
use crate::engine::job::{Job, JobEvent, JobInput, JobOutcome};
use crate::engine::key::{KeyRecord, builder};
use crate::engine::plan::select::Selection;
use crate::engine::plan::{Plan, StageIndex};
use crate::engine::stage::context::DownloadPolicy;
use crate::engine::stage::lifecycle::Outcome;
use crate::engine::stage::{Needs, StageSet};

/// A stage that runs.
struct Running {
    key: StageKey,
    trajectory: Option<TrajectoryKey>,
    since: Instant,
    /// The compute device that it has, if it needs one.
    device: Option<usize>,
}

/// Everything a run needs to know.
pub struct Scheduler<'a, S> {
    plan: &'a Plan<S>,
    cache: &'a Cache,
    options: &'a RunOptions,
    selection: &'a Selection,
    /// The stages that may run and everything above them.
    universe: BTreeSet<StageIndex>,
    settled: Vec<bool>,
    /// How many inputs of each stage have not settled.
    unsettled_inputs: Vec<usize>,
    /// Stages whose inputs have settled and that have not been looked up since.
    due: BTreeSet<StageIndex>,
    ready: ReadyStages,
    /// Whether a stage became ready or room was made since stages were last started.
    may_start: bool,
    running: BTreeMap<StageIndex, Running>,
    devices: Devices,
    /// Stages that wait in the queue of a cluster, and why they were not taken from the cache.
    queued: BTreeMap<StageIndex, String>,
    prior_hits: PriorHits,
    /// The remote cache, if there is one.
    sharing: Option<&'a mut Sharing>,
    /// Failed tries of stages that may try again, with the last message.
    tries: BTreeMap<StageIndex, (u32, String)>,
    draining: bool,
    run_id: String,
    /// Held from the first job on.
    run_lock: Option<RunningRun>,
    report: RunReport,
    emit: &'a mut dyn FnMut(Event),
}

impl<'a, S: StageSet> Scheduler<'a, S> {
    /// Prepares a run of stages with these statuses; the cache must be held since they were found.
    pub fn new(
        plan: &'a Plan<S>,
        cache: &'a Cache,
        options: &'a RunOptions,
        selection: &'a Selection,
        statuses: Vec<StageStatus>,
        emit: &'a mut dyn FnMut(Event),
    ) -> Self {
        let universe = universe(plan, selection);
        let mut unsettled_inputs = vec![0; plan.stages().len()];
        for &stage in &universe {
            for &reader in &plan.stages()[stage].readers {
                unsettled_inputs[reader] += 1;
            }
        }
        let due = universe.iter().copied().filter(|&stage| unsettled_inputs[stage] == 0).collect();
        Self {
            plan,
            cache,
            options,
            selection,
            universe,
            settled: vec![false; plan.stages().len()],
            unsettled_inputs,
            due,
            ready: ReadyStages::default(),
            may_start: false,
            running: BTreeMap::new(),
            devices: Devices::new(options),
            queued: BTreeMap::new(),
            prior_hits: PriorHits::of(statuses),
            sharing: None,
            tries: BTreeMap::new(),
            draining: false,
            run_id: run_id(),
            run_lock: None,
            report: RunReport::default(),
            emit,
        }
    }

    /// Takes results from a remote cache, too.
    #[must_use]
    pub fn sharing(mut self, sharing: Option<&'a mut Sharing>) -> Self {
        self.sharing = sharing;
        self
    }

    /// Runs to the end; `interrupts` tells how often the user asked to stop.
    pub fn run(
        mut self,
        executor: &mut dyn Executor,
        interrupts: &dyn Fn() -> usize,
    ) -> Result<RunReport, CacheError> {
        const PATIENCE: Duration = Duration::from_millis(100);
        const ASKING_PATIENCE: Duration = Duration::from_millis(5);
        let stages = self.selection.allowed.len();
        (self.emit)(Event::Started { pipeline: self.plan.name().to_owned(), stages });
        let mut heeded = 0;
        loop {
            let asked = interrupts();
            if asked > heeded {
                heeded = asked;
                self.draining = true;
                self.report.interrupted = true;
                executor.stop(if asked > 1 { Urgency::Now } else { Urgency::Soon });
            }
            while let Some(stage) = self.due.pop_first() {
                self.look_up(stage)?;
            }
            let submitted = if self.may_start { self.start(executor) } else { 0 };
            let is_asking =
                !self.draining && self.sharing.as_ref().is_some_and(|sharing| sharing.is_waiting());
            if is_asking {
                let patience = if self.running.is_empty() { PATIENCE } else { Duration::ZERO };
                self.take_answer(patience);
            }
            if self.running.is_empty() {
                // What was submitted and does not run could not start.
                if submitted == 0 && !is_asking {
                    break;
                }
                continue;
            }
            let patience = if is_asking { ASKING_PATIENCE } else { PATIENCE };
            let Some((stage, event)) = executor.next(patience) else {
                continue;
            };
            let name = || self.plan.stages()[stage].name.clone();
            match event {
                JobEvent::Started => self.started(stage),
                JobEvent::Queued { job, reason } => {
                    (self.emit)(Event::StageQueued { stage: name(), job, reason });
                }
                JobEvent::Note(note) => {
                    (self.emit)(Event::Note { message: format!("{}: {note}", name()) });
                }
                JobEvent::Waiting => (self.emit)(Event::StageWaits { stage: name() }),
                JobEvent::Progress(progress) => {
                    (self.emit)(Event::StageProgress { stage: name(), progress });
                }
                JobEvent::Ended(outcome) => self.ended(stage, outcome, executor),
            }
        }
        let open = self.selection.allowed.iter().copied().filter(|&stage| !self.settled[stage]);
        for stage in open.collect::<Vec<_>>() {
            if let Some((_, message)) = self.tries.remove(&stage) {
                self.fail(stage, None, 0.0, message);
            } else {
                self.end(stage, None, Outcome::Skipped, 0.0, None);
                self.report.skipped += 1;
            }
        }
        Ok(self.report)
    }

    /// Builds the key of a stage whose inputs have settled, and takes a hit.
    fn look_up(&mut self, stage: StageIndex) -> Result<(), CacheError> {
        let planned = &self.plan.stages()[stage];
        let missing = planned.members().find(|member| !self.report.results.contains_key(member));
        if let Some(missing) = missing {
            self.without_input(stage, missing);
            return Ok(());
        }
        let allowed = self.selection.allowed.contains(&stage);
        let forced = allowed && self.selection.forced.contains(&stage);
        if !forced && let Some(result) = self.prior_hits.take(stage, planned.members()) {
            self.hit(stage, result);
            return Ok(());
        }
        let contents = CurrentContents {
            stage: |member| Some(self.report.results.get(&member)?.artifact.digest),
            file: |path: &Path| self.cache.digest_of_file(path),
            backend: &self.options.backend,
        };
        let record = builder::record(self.plan, planned, &contents)?;
        let why = match self.cache.lookup(&record.key())? {
            Lookup::Hit(_) if forced => "forced".to_owned(),
            Lookup::Hit(result) => {
                self.hit(stage, result);
                return Ok(());
            }
            Lookup::Damaged(damage) => {
                let message = damaged_note(&planned.name, &damage);
                (self.emit)(Event::Note { message });
                "its cached result is damaged".to_owned()
            }
            Lookup::Miss => Causes::new(self.plan, self.cache).why(stage, &record)?,
        };
        if !forced
            && let Some(sharing) = &mut self.sharing
            && sharing.may_have(&record.key())
        {
            sharing.ask(stage, SharedLookup { record, why });
            return Ok(());
        }
        self.missed(stage, record, why);
        Ok(())
    }

    /// Lets a stage run that has no result anywhere.
    fn missed(&mut self, stage: StageIndex, record: KeyRecord, why: String) {
        if !self.selection.allowed.contains(&stage) {
            self.settle(stage);
        } else if self.options.only_look {
            self.end(stage, Some(record.key()), Outcome::Skipped, 0.0, None);
            self.report.skipped += 1;
        } else {
            let horizon = self.plan.stages()[stage].stage.as_stage().horizon();
            self.ready.insert(stage, Ready::new(record, horizon, why));
            self.may_start = true;
        }
    }

    /// Takes the next answer of the remote cache.
    fn take_answer(&mut self, patience: Duration) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let name = |stage: StageIndex| self.plan.stages()[stage].name.clone();
        let answer = sharing.next(self.cache, name, patience);
        for message in sharing.take_notes() {
            (self.emit)(Event::Note { message });
        }
        match answer {
            None => {}
            Some((stage, SharedLookup { record, why }, None)) => self.missed(stage, record, why),
            Some((stage, _, Some(Shared { result, bytes }))) => {
                let (name, key) = (self.plan.stages()[stage].name.clone(), result.key);
                (self.emit)(Event::StageFetched { stage: name, key, bytes });
                self.report.fetched += usize::from(self.selection.allowed.contains(&stage));
                self.hit(stage, result);
            }
        }
    }

    fn hit(&mut self, stage: StageIndex, result: StoredResult) {
        let key = result.key;
        self.report.results.insert(stage, result);
        if self.selection.allowed.contains(&stage) {
            self.report.cached += 1;
            self.end(stage, Some(key), Outcome::Cached, 0.0, None);
        } else {
            self.settle(stage);
        }
    }

    /// Settles a stage one of whose inputs will never come.
    fn without_input(&mut self, stage: StageIndex, missing: StageIndex) {
        if !self.selection.allowed.contains(&stage) {
            self.settle(stage);
            return;
        }
        let input = &self.plan.stages()[missing].name;
        if self.selection.allowed.contains(&missing) {
            let message = format!("its input `{input}` has no result");
            self.end(stage, None, Outcome::Skipped, 0.0, Some(message));
            self.report.skipped += 1;
        } else {
            let message =
                format!("its input `{input}` is not cached; use `--until` to run inputs too");
            self.fail(stage, None, 0.0, message);
        }
    }

    /// Starts ready stages, first in plan order first, as far as there is room; returns how many were
    /// submitted.
    fn start(&mut self, executor: &mut dyn Executor) -> usize {
        self.may_start = false;
        if self.draining {
            return 0;
        }
        let mut submitted = 0;
        for (stage, needs, threads) in self.next_to_start() {
            // The last one may have failed before it began.
            if self.draining {
                break;
            }
            self.submit(stage, needs, threads, executor);
            submitted += 1;
        }
        // What could not be started has left its room to others.
        self.may_start = submitted > 0;
        submitted
    }

    /// Returns the ready stages that there is room for, with what they need and their threads.
    fn next_to_start(&self) -> Vec<(StageIndex, Needs, usize)> {
        let jobs = self.options.jobs;
        let running = self.running.values();
        let mut keys: BTreeSet<_> = running.clone().map(|running| running.key).collect();
        if keys.len() >= jobs {
            return Vec::new();
        }
        let trajectories = running.filter_map(|running| running.trajectory).collect();
        let mut device_room = self.devices.room();
        let side_by_side = keys.len() + self.ready.startable(&trajectories).take(jobs).count();
        let side_by_side = side_by_side.min(jobs).max(1);
        let mut chosen = Vec::new();
        for (stage, ready) in self.ready.startable(&trajectories) {
            let needs = self.plan.stages()[stage].stage.as_stage().needs();
            let has_no_device = needs == Needs::Device && device_room == 0;
            // Two stages of one key: the second takes the first one's result.
            if has_no_device || keys.contains(&ready.key) {
                continue;
            }
            // Trainings come one after the other: what is left for the next must be left now.
            let share = match needs {
                Needs::Device => jobs.min(self.devices.most()),
                Needs::Cpu => side_by_side,
            };
            chosen.push((stage, needs, (self.options.cores / share.max(1)).max(1)));
            keys.insert(ready.key);
            device_room -= usize::from(needs == Needs::Device);
            if keys.len() >= jobs {
                break;
            }
        }
        chosen
    }

    fn submit(
        &mut self,
        stage: StageIndex,
        needs: Needs,
        threads: usize,
        executor: &mut dyn Executor,
    ) {
        let planned = &self.plan.stages()[stage];
        let Some(Ready { key, record, trajectory, why, .. }) = self.ready.remove(stage) else {
            return;
        };
        if self.run_lock.is_none() {
            // Without it another run would take the job for a leftover.
            match self.cache.begin_run(&self.run_id) {
                Ok(lock) => self.run_lock = Some(lock),
                Err(error) => {
                    self.fail_and_drain(stage, key, 0.0, error.to_string(), executor);
                    return;
                }
            }
        }
        let (results, cache) = (&self.report.results, self.cache);
        let inputs =
            planned.inputs.iter().map(|input| JobInput::of(input, self.plan, results, cache));
        let inputs = match inputs.collect::<Result<_, _>>() {
            Ok(inputs) => inputs,
            Err(error) => {
                self.fail_and_drain(stage, key, 0.0, error.to_string(), executor);
                return;
            }
        };
        let files = planned.files.iter().map(|(name, path)| {
            (name.clone(), std::path::absolute(path).unwrap_or_else(|_| path.clone()))
        });
        let folders = self.plan.data().and_then(|folder| std::path::absolute(folder).ok());
        let folders = folders.into_iter().collect();
        let device = (needs == Needs::Device).then(|| self.devices.take()).flatten();
        let device_name = match device {
            Some(at) => self.devices.name(at),
            None => self.devices.first_name(),
        };
        let job = Job {
            key,
            record,
            pipeline: self.plan.name().to_owned(),
            stage: planned.name.clone(),
            text: planned.text.clone(),
            inputs,
            files: files.collect(),
            device: device_name.to_owned(),
            curves: self.options.curves.as_ref().map(|folder| folder.join(&planned.name)),
            downloads: DownloadPolicy { folders, offline: self.options.offline },
            reuse: self.reuse(stage),
            work: self.work(stage),
        };
        self.running.insert(stage, Running { key, trajectory, since: Instant::now(), device });
        self.report.keys.insert(planned.name.clone(), key);
        if executor.is_remote() {
            self.queued.insert(stage, why);
        } else {
            (self.emit)(Event::StageStarted { stage: planned.name.clone(), key, why });
        }
        executor.submit(Submission {
            stage,
            kind: planned.stage.as_stage().kind().name.to_owned(),
            needs,
            run: self.run_id.clone(),
            job,
            job_path: self.cache.job_path(&key, &self.run_id),
            log_path: self.cache.log_path(&key),
            threads,
            timeout: planned.limits.timeout.map(Duration::from_secs).or(self.options.timeout),
        });
    }

    /// Tells that a stage which was in a queue begins.
    fn started(&mut self, stage: StageIndex) {
        let Some((why, running)) = self.queued.remove(&stage).zip(self.running.get_mut(&stage))
        else {
            return;
        };
        // Time in the queue is not the stage's.
        running.since = Instant::now();
        let (stage, key) = (self.plan.stages()[stage].name.clone(), running.key);
        (self.emit)(Event::StageStarted { stage, key, why });
    }

    fn work(&self, stage: StageIndex) -> Option<f64> {
        self.plan.works()[stage].map(|work| work.0)
    }

    fn reuse(&self, stage: StageIndex) -> Reuse {
        match self.selection.forced.contains(&stage) {
            false => Reuse::Allowed,
            // What there is now, the failed try made.
            true if self.tries.contains_key(&stage) => Reuse::StateOnly,
            true => Reuse::Refused,
        }
    }

    fn ended(&mut self, stage: StageIndex, outcome: JobOutcome, executor: &mut dyn Executor) {
        let Some(Running { key, trajectory, since, device }) = self.running.remove(&stage) else {
            return;
        };
        if let Some(device) = device {
            self.devices.give_back(device);
        }
        self.may_start = true;
        self.queued.remove(&stage);
        let seconds = since.elapsed().as_secs_f64();
        let name = self.plan.stages()[stage].name.clone();
        if !matches!(outcome, JobOutcome::Left) {
            self.cache.remove_job(&key, &self.run_id);
        }
        match outcome {
            JobOutcome::Cached(result) => self.hit(stage, result),
            JobOutcome::Executed(result) => {
                self.remember(stage, key, Outcome::Executed, seconds, result.artifact.bytes());
                self.report.executed.push(name);
                self.send(&key);
                self.report.results.insert(stage, result);
                self.end(stage, Some(key), Outcome::Executed, seconds, None);
            }
            JobOutcome::Stopped => {
                self.report.stopped.push(name);
                self.end(stage, Some(key), Outcome::Stopped, seconds, None);
            }
            JobOutcome::Left => {
                self.report.left += 1;
                self.end(stage, Some(key), Outcome::Stopped, seconds, None);
            }
            JobOutcome::Killed(message) => {
                self.failed(stage, key, seconds, message, false, executor);
            }
            JobOutcome::Busy(message) => {
                self.report.busy += 1;
                self.fail_and_drain(stage, key, seconds, message, executor);
            }
            JobOutcome::NoDevice(message) => {
                let is_new = device.is_some_and(|device| self.devices.leave_out(device));
                if self.devices.are_all_left_out() {
                    self.fail_and_drain(stage, key, seconds, message, executor);
                } else {
                    if is_new {
                        let message = format!("left out from now on: {message}");
                        (self.emit)(Event::Note { message });
                    }
                    self.due.insert(stage);
                }
            }
            JobOutcome::Failed { message, permanent } => {
                self.failed(stage, key, seconds, message, permanent, executor);
            }
        }
        // They may take this one's result or state.
        self.due.extend(self.ready.remove_related(key, trajectory));
    }

    /// Sends a new result to the remote cache; what can't be sent is only not there.
    fn send(&mut self, key: &StageKey) {
        if let Some(sharing) = &mut self.sharing
            && let Err(error) = sharing.send(self.cache, key)
        {
            (self.emit)(Event::Note { message: format!("a result is not uploaded: {error}") });
        }
    }

    /// Tries a stage again, or lets it have failed.
    fn failed(
        &mut self,
        stage: StageIndex,
        key: StageKey,
        seconds: f64,
        message: String,
        permanent: bool,
        executor: &mut dyn Executor,
    ) {
        if !permanent && self.may_retry(stage, &message) {
            let name = &self.plan.stages()[stage].name;
            (self.emit)(Event::Note { message: format!("retrying `{name}`: {message}") });
            self.due.insert(stage);
        } else {
            self.remember(stage, key, Outcome::Failed, seconds, 0);
            self.fail_and_drain(stage, key, seconds, message, executor);
        }
    }

    fn fail_and_drain(
        &mut self,
        stage: StageIndex,
        key: StageKey,
        seconds: f64,
        message: String,
        executor: &mut dyn Executor,
    ) {
        self.fail(stage, Some(key), seconds, message);
        match self.options.on_error {
            OnError::Continue => {}
            OnError::Finish => {
                self.draining = true;
                executor.drain();
            }
            OnError::Stop => {
                self.draining = true;
                executor.stop(Urgency::Soon);
            }
        }
    }

    fn fail(&mut self, stage: StageIndex, key: Option<StageKey>, seconds: f64, message: String) {
        self.end(stage, key, Outcome::Failed, seconds, Some(message.clone()));
        self.report.failed.push((self.plan.stages()[stage].name.clone(), message));
    }

    fn may_retry(&mut self, stage: StageIndex, message: &str) -> bool {
        let limit = self.plan.stages()[stage].limits.retries.unwrap_or(self.options.retries);
        let (tries, last) = self.tries.entry(stage).or_default();
        *tries += 1;
        message.clone_into(last);
        *tries <= limit && !self.draining
    }

    fn remember(
        &self,
        stage: StageIndex,
        key: StageKey,
        outcome: Outcome,
        seconds: f64,
        bytes: u64,
    ) {
        let planned = &self.plan.stages()[stage];
        // Only predictions need it: a full disk here must not hide how the stage ended.
        let _ = self.cache.remember_run(&PastRun {
            pipeline: self.plan.name().to_owned(),
            stage: planned.name.clone(),
            kind: planned.stage.as_stage().kind().name.to_owned(),
            key,
            outcome,
            seconds,
            bytes,
        });
    }

    /// Settles a stage and tells how it ended.
    fn end(
        &mut self,
        stage: StageIndex,
        key: Option<StageKey>,
        outcome: Outcome,
        seconds: f64,
        message: Option<String>,
    ) {
        self.settle(stage);
        let stage = self.plan.stages()[stage].name.clone();
        (self.emit)(Event::StageEnded { stage, key, outcome, seconds, message });
    }

    /// Nothing more will come of a stage: those that waited for nothing else are due.
    fn settle(&mut self, stage: StageIndex) {
        self.settled[stage] = true;
        for &reader in &self.plan.stages()[stage].readers {
            self.unsettled_inputs[reader] -= 1;
            if self.unsettled_inputs[reader] == 0 && self.universe.contains(&reader) {
                self.due.insert(reader);
            }
        }
    }
}

/// Returns the stages that may run and everything above them.
fn universe<S>(plan: &Plan<S>, selection: &Selection) -> BTreeSet<StageIndex> {
    let mut all = selection.allowed.clone();
    let mut waiting: Vec<_> = all.iter().copied().collect();
    while let Some(stage) = waiting.pop() {
        let members = plan.stages()[stage].members();
        waiting.extend(members.filter(|&member| all.insert(member)));
    }
    all
}
