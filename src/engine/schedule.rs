//! Runs a plan: each stage once, after its inputs, as many side by side as allowed.
//!
//! A stage's key is worked out when its inputs are there, so an input that came out unchanged
//! stops the rerun of everything behind it. Stages of one trajectory run one after the other.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::assess::{self, Standing, damaged_note};
use super::cache::{Cache, CacheError, Lookup, PastRun, Reuse, StoredResult};
use super::cost::{self, Work};
use super::digest::{StageKey, TrajectoryKey};
use super::events::{Event, Outcome};
use super::executor::{Executor, Order, Update, Urgency};
use super::job::{Ending, Job, JobInput, Supply};
use super::lineup::{Ready, lineup};
use super::plan::{Plan, StageIndex};
use super::run::{Manner, OnError, RunReport, run_id};
use super::select::Selection;
use super::sight::Sight;
use super::stage::{Needs, StageSet};
use super::why::Causes;

enum State {
    /// Its inputs are not all there, or it has not been looked at.
    Open,
    /// It is to run as soon as there is room.
    Ready(Box<Ready>),
    /// It runs.
    Running { key: StageKey, trajectory: Option<TrajectoryKey>, since: Instant, needs: Needs },
    /// It ended one way or another.
    Settled,
}

/// Everything a run needs to know.
pub struct Scheduler<'a, S> {
    plan: &'a Plan<S>,
    cache: &'a Cache,
    manner: &'a Manner,
    selection: &'a Selection,
    states: Vec<State>,
    sight: Sight,
    /// Counted when the first stage starts: a run that has nothing to do counts nothing.
    works: OnceCell<Vec<Option<Work>>>,
    /// Failed tries of stages that may try again, with the last message.
    tries: BTreeMap<StageIndex, (u32, String)>,
    draining: bool,
    run_id: String,
    report: RunReport,
    emit: &'a mut dyn FnMut(Event),
}

impl<'a, S: StageSet> Scheduler<'a, S> {
    /// Prepares a run of stages that were seen to stand like this; the cache must be held since.
    pub fn new(
        plan: &'a Plan<S>,
        cache: &'a Cache,
        manner: &'a Manner,
        selection: &'a Selection,
        standings: Vec<Standing>,
        emit: &'a mut dyn FnMut(Event),
    ) -> Self {
        Self {
            plan,
            cache,
            manner,
            selection,
            states: plan.stages().iter().map(|_| State::Open).collect(),
            sight: Sight::of(standings),
            works: OnceCell::new(),
            tries: BTreeMap::new(),
            draining: false,
            run_id: run_id(),
            report: RunReport::default(),
            emit,
        }
    }

    /// Runs to the end; `interrupts` tells how often the user asked to stop.
    pub fn run(
        mut self,
        executor: &mut dyn Executor,
        interrupts: &dyn Fn() -> usize,
    ) -> Result<RunReport, CacheError> {
        const PATIENCE: Duration = Duration::from_millis(100);
        let mut open = self.universe();
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
            self.look(&mut open)?;
            self.start(&open, executor);
            if !self.states.iter().any(|state| matches!(state, State::Running { .. })) {
                break;
            }
            match executor.next(PATIENCE) {
                Some(Update::Progress(stage, progress)) => {
                    let stage = self.plan.stages()[stage].name.clone();
                    (self.emit)(Event::StageProgress { stage, progress });
                }
                Some(Update::Waits(stage)) => {
                    let stage = self.plan.stages()[stage].name.clone();
                    (self.emit)(Event::StageWaits { stage });
                }
                Some(Update::Ended(stage, ending)) => self.ended(stage, ending, executor),
                None => {}
            }
        }
        for stage in open {
            if !self.selection.allowed.contains(&stage) || self.is_settled(stage) {
                continue;
            }
            if let Some((_, message)) = self.tries.remove(&stage) {
                self.fail(stage, None, 0.0, message);
            } else {
                self.settle(stage, None, Outcome::Skipped, 0.0, None);
                self.report.skipped += 1;
            }
        }
        Ok(self.report)
    }

    /// Returns the stages that may run and everything above them.
    fn universe(&self) -> BTreeSet<StageIndex> {
        let mut all = self.selection.allowed.clone();
        let mut waiting: Vec<_> = all.iter().copied().collect();
        while let Some(stage) = waiting.pop() {
            let members = self.plan.stages()[stage].members();
            waiting.extend(members.filter(|&member| all.insert(member)));
        }
        all
    }

    /// Works out the key of every stage whose inputs are there, and takes hits.
    fn look(&mut self, open: &mut BTreeSet<StageIndex>) -> Result<(), CacheError> {
        for stage in open.clone() {
            if matches!(self.states[stage], State::Open) {
                self.look_at(stage)?;
            }
            if self.is_settled(stage) {
                open.remove(&stage);
            }
        }
        Ok(())
    }

    fn look_at(&mut self, stage: StageIndex) -> Result<(), CacheError> {
        let planned = &self.plan.stages()[stage];
        if planned.members().any(|member| !self.is_settled(member)) {
            return Ok(());
        }
        let missing = planned.members().find(|member| !self.report.results.contains_key(member));
        if let Some(missing) = missing {
            self.without_input(stage, missing);
            return Ok(());
        }
        let allowed = self.selection.allowed.contains(&stage);
        let forced = allowed && self.selection.forced.contains(&stage);
        if !forced && let Some(result) = self.sight.take(stage, planned.members()) {
            self.hit(stage, result);
            return Ok(());
        }
        let content = |member| Some(self.report.results.get(&member)?.artifact.digest);
        let record = assess::complete(
            assess::bare_record(&*planned.stage),
            planned,
            self.plan,
            &self.manner.backend,
            content,
            |path| self.cache.digest_of_file(path),
        )?;
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
        if !allowed {
            self.states[stage] = State::Settled;
            return Ok(());
        }
        let horizon = planned.stage.as_stage().horizon();
        self.states[stage] = State::Ready(Box::new(Ready::new(record, horizon, why)));
        Ok(())
    }

    fn hit(&mut self, stage: StageIndex, result: StoredResult) {
        if self.selection.allowed.contains(&stage) {
            self.report.cached += 1;
            self.settle(stage, Some(result.key), Outcome::Cached, 0.0, None);
        }
        self.states[stage] = State::Settled;
        self.report.results.insert(stage, result);
    }

    /// Settles a stage one of whose inputs will never come.
    fn without_input(&mut self, stage: StageIndex, missing: StageIndex) {
        if !self.selection.allowed.contains(&stage) {
            self.states[stage] = State::Settled;
            return;
        }
        let input = self.plan.stages()[missing].name.clone();
        if self.selection.allowed.contains(&missing) {
            let message = format!("its input `{input}` has no result");
            self.settle(stage, None, Outcome::Skipped, 0.0, Some(message));
            self.report.skipped += 1;
        } else {
            let message =
                format!("its input `{input}` is not cached; `--until` also runs what is needed");
            self.fail(stage, None, 0.0, message);
        }
    }

    /// Starts ready stages, first in plan order first, as far as there is room.
    fn start(&mut self, open: &BTreeSet<StageIndex>, executor: &mut dyn Executor) {
        if self.draining {
            return;
        }
        let (mut keys, mut device, mut trajectories) = (Vec::new(), 0, BTreeSet::new());
        for state in &self.states {
            if let State::Running { key, trajectory, needs, .. } = state {
                keys.push(*key);
                device += usize::from(*needs == Needs::Device);
                trajectories.extend(*trajectory);
            }
        }
        let ready = open.iter().filter_map(|&stage| match &self.states[stage] {
            State::Ready(ready) => Some((stage, &**ready)),
            _ => None,
        });
        let ready = lineup(ready, &trajectories);
        let side_by_side = (keys.len() + ready.len()).min(self.manner.jobs).max(1);
        for (stage, key) in ready {
            // The last one may have failed before it began.
            if self.draining {
                break;
            }
            let needs = self.plan.stages()[stage].stage.as_stage().needs();
            let device_is_full = needs == Needs::Device && device >= self.manner.device_jobs;
            // Two stages of one key: the second takes the first one's result.
            if keys.len() >= self.manner.jobs || device_is_full || keys.contains(&key) {
                continue;
            }
            // Trainings come one after the other: what is left for the next must be left now.
            let share = match needs {
                Needs::Device => self.manner.jobs.min(self.manner.device_jobs),
                Needs::Cpu => side_by_side,
            };
            let threads = (self.manner.cores / share.max(1)).max(1);
            self.submit(stage, needs, threads, executor);
            keys.push(key);
            device += usize::from(needs == Needs::Device);
        }
    }

    fn submit(
        &mut self,
        stage: StageIndex,
        needs: Needs,
        threads: usize,
        executor: &mut dyn Executor,
    ) {
        let planned = &self.plan.stages()[stage];
        let State::Ready(ready) = std::mem::replace(&mut self.states[stage], State::Open) else {
            return;
        };
        let Ready { key, record, trajectory, why, .. } = *ready;
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
        let job = Job {
            key,
            record,
            pipeline: self.plan.name().to_owned(),
            stage: planned.name.clone(),
            text: planned.text.clone(),
            inputs,
            files: files.collect(),
            device: self.manner.device.clone(),
            supply: Supply::of(self.plan, self.manner.offline),
            reuse: self.reuse(stage),
            work: self.work(stage),
        };
        self.states[stage] = State::Running { key, trajectory, since: Instant::now(), needs };
        self.report.keys.insert(planned.name.clone(), key);
        (self.emit)(Event::StageStarted { stage: planned.name.clone(), key, why });
        executor.submit(Order {
            stage,
            job,
            job_path: self.cache.job_path(&key, &self.run_id),
            log_path: self.cache.log_path(&key),
            threads,
            timeout: planned.limits.timeout.map(Duration::from_secs).or(self.manner.timeout),
        });
    }

    fn work(&self, stage: StageIndex) -> Option<f64> {
        self.works.get_or_init(|| cost::works(self.plan))[stage].map(|work| work.0)
    }

    fn reuse(&self, stage: StageIndex) -> Reuse {
        match self.selection.forced.contains(&stage) {
            false => Reuse::Allowed,
            // What there is now, the failed try made.
            true if self.tries.contains_key(&stage) => Reuse::StateOnly,
            true => Reuse::Refused,
        }
    }

    fn ended(&mut self, stage: StageIndex, ending: Ending, executor: &mut dyn Executor) {
        let State::Running { key, trajectory, since, .. } = self.states[stage] else {
            return;
        };
        let seconds = since.elapsed().as_secs_f64();
        let name = self.plan.stages()[stage].name.clone();
        let _ = std::fs::remove_file(self.cache.job_path(&key, &self.run_id));
        match ending {
            Ending::Cached(result) => self.hit(stage, result),
            Ending::Executed(result) => {
                self.remember(stage, key, Outcome::Executed, seconds, result.artifact.bytes());
                self.report.executed.push(name);
                self.report.results.insert(stage, result);
                self.settle(stage, Some(key), Outcome::Executed, seconds, None);
            }
            Ending::Stopped => {
                self.report.stopped.push(name);
                self.settle(stage, Some(key), Outcome::Stopped, seconds, None);
            }
            Ending::Busy(message) => {
                self.report.busy += 1;
                self.fail_and_drain(stage, key, seconds, message, executor);
            }
            Ending::Failed { message, lasting } => {
                if !lasting && self.may_retry(stage, &message) {
                    (self.emit)(Event::Note {
                        message: format!("`{name}` tries again: {message}"),
                    });
                    self.states[stage] = State::Open;
                } else {
                    self.remember(stage, key, Outcome::Failed, seconds, 0);
                    self.fail_and_drain(stage, key, seconds, message, executor);
                }
            }
        }
        // Stages of the same key or trajectory look again: they may take this one's result or state.
        let is_kin = |ready: &Ready| {
            ready.key == key || (trajectory.is_some() && ready.trajectory == trajectory)
        };
        for state in &mut self.states {
            if matches!(state, State::Ready(ready) if is_kin(ready)) {
                *state = State::Open;
            }
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
        match self.manner.on_error {
            OnError::Continue => {}
            OnError::Finish => self.draining = true,
            OnError::Stop => {
                self.draining = true;
                executor.stop(Urgency::Soon);
            }
        }
    }

    fn fail(&mut self, stage: StageIndex, key: Option<StageKey>, seconds: f64, message: String) {
        self.settle(stage, key, Outcome::Failed, seconds, Some(message.clone()));
        self.report.failed.push((self.plan.stages()[stage].name.clone(), message));
    }

    fn may_retry(&mut self, stage: StageIndex, message: &str) -> bool {
        let limit = self.plan.stages()[stage].limits.retries.unwrap_or(self.manner.retries);
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

    fn settle(
        &mut self,
        stage: StageIndex,
        key: Option<StageKey>,
        outcome: Outcome,
        seconds: f64,
        message: Option<String>,
    ) {
        self.states[stage] = State::Settled;
        let stage = self.plan.stages()[stage].name.clone();
        (self.emit)(Event::StageEnded { stage, key, outcome, seconds, message });
    }

    fn is_settled(&self, stage: StageIndex) -> bool {
        matches!(self.states[stage], State::Settled)
    }
}
