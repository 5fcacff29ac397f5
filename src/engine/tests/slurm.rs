//! The executor against a scheduler that lags, loses answers, loses jobs and lies, at random.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::engine::digest::StageKey;
use crate::engine::executor::Inline;
use crate::engine::executor::slurm::{
    Asked, Batch, BatchStage, Controller, End, JobState, NoAnswer, Request, Slurm, SlurmOptions,
    StageResult, SubmitError, TaskId, TaskStatus, Worker,
};
use crate::engine::job::JobOutcome;
use crate::engine::plan::select::Choice;
use crate::engine::run::events::Event;
use crate::engine::run::options::{OnError, RunReport};
use crate::engine::site::{Partition, Site};
use crate::engine::test_stages::{Fixture, TestStage};

/// A job or a task of one.
struct FakeTask {
    id: TaskId,
    name: String,
    batch: PathBuf,
    number: usize,
    state: JobState,
    /// Questions until it gets further.
    delay: usize,
    node: String,
}

/// Random numbers of a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// How often things go wrong, in percent.
#[derive(Clone, Copy)]
struct Faults {
    lost_answers: usize,
    lost_jobs: usize,
    hidden_jobs: usize,
    later: usize,
}

const NONE: Faults = Faults { lost_answers: 0, lost_jobs: 0, hidden_jobs: 0, later: 0 };

#[derive(Default)]
struct Counts {
    /// How often each key was computed.
    computed: BTreeMap<StageKey, usize>,
    submissions: usize,
    most_in_queue: usize,
    options: Vec<Vec<String>>,
}

/// A scheduler with nodes that run tasks at once when they are asked about.
struct Fake {
    cache: PathBuf,
    dice: Dice,
    faults: Faults,
    tasks: Vec<FakeTask>,
    next: usize,
    timeouts: usize,
    counts: Rc<RefCell<Counts>>,
}

impl Fake {
    fn new(cache: PathBuf, seed: u64, faults: Faults) -> (Self, Rc<RefCell<Counts>>) {
        let counts = Rc::new(RefCell::new(Counts::default()));
        let dice = Dice(seed);
        let fake = Self {
            cache,
            dice,
            faults,
            tasks: Vec::new(),
            next: 1,
            timeouts: 0,
            counts: Rc::clone(&counts),
        };
        (fake, counts)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.dice.below(100) < percent
    }

    fn accept(&mut self, request: &Request) -> String {
        let number = self.next;
        self.next += 1;
        let last = request.script.trim_end().lines().last().unwrap();
        let batch =
            last.split_whitespace().find(|word| word.strip_suffix(".batch").is_some()).unwrap();
        for task in 0..request.tasks {
            let delay = self.dice.below(3);
            let id = TaskId::of(&number.to_string(), task, request.tasks);
            let name = request.name.clone();
            let (batch, state) = (PathBuf::from(batch), JobState::Pending);
            let node = format!("n{}", 1 + self.dice.below(4));
            self.tasks.push(FakeTask { id, name, batch, number: task, state, delay, node });
        }
        let mut counts = self.counts.borrow_mut();
        counts.submissions += 1;
        counts.options.push(request.options.clone());
        number.to_string()
    }

    /// Lets time pass: tasks begin, and end well or badly.
    fn advance(&mut self) {
        for at in 0..self.tasks.len() {
            let task = &mut self.tasks[at];
            if task.delay > 0 {
                task.delay -= 1;
                continue;
            }
            let next = match task.state {
                JobState::Pending => JobState::Running,
                JobState::Running => JobState::Ended(self.finish(at)),
                _ => continue,
            };
            self.tasks[at].state = next;
        }
        let is_live = |task: &&FakeTask| !matches!(task.state, JobState::Ended(_));
        let live = self.tasks.iter().filter(is_live).count();
        let mut counts = self.counts.borrow_mut();
        counts.most_in_queue = counts.most_in_queue.max(live);
    }

    fn finish(&mut self, at: usize) -> End {
        let bad = self.faults.lost_jobs;
        if self.chance(bad) {
            let ends =
                [End::NodeFailed, End::Preempted, End::Timeout, End::OutOfMemory, End::Completed];
            let mut end = ends[self.dice.below(ends.len())];
            // A stage that gets no further in three jobs is given up, on purpose.
            self.timeouts += usize::from(end == End::Timeout);
            if end == End::Timeout && self.timeouts > 2 {
                end = End::NodeFailed;
            }
            // Some die before they have done anything, some when they have done all.
            if self.chance(50) {
                self.work(at);
                let task = &self.tasks[at];
                if let Some(batch) = Batch::read(&task.batch) {
                    for stage in &batch.tasks[task.number] {
                        let _ = std::fs::remove_file(batch.result_path(stage));
                    }
                }
            }
            return end;
        }
        self.work(at);
        if self.chance(bad) {
            // Processes that were taken for dead run on.
            self.work(at);
        }
        End::Completed
    }

    fn work(&self, at: usize) {
        let task = &self.tasks[at];
        let Some(batch) = Batch::read(&task.batch) else {
            return;
        };
        let worker = Worker {
            batch: &batch,
            job: Some(task.id.0.clone()),
            restarts: 0,
            asked: &|| None::<Asked>,
        };
        let is_computed = |stage: &&BatchStage| {
            let result = StageResult::read(&batch.result_path(stage));
            result.is_some_and(|result| matches!(result.outcome, JobOutcome::Executed(_)))
        };
        let stages = &batch.tasks[task.number];
        let before: Vec<_> = stages.iter().filter(is_computed).map(|stage| stage.key).collect();
        let mut executor = Inline::<TestStage>::new(self.cache.clone());
        let _ = worker.run(task.number, &mut executor);
        for stage in stages.iter().filter(is_computed) {
            if !before.contains(&stage.key) {
                let mut counts = self.counts.borrow_mut();
                *counts.computed.entry(stage.key).or_default() += 1;
            }
        }
    }
}

impl Controller for Fake {
    fn submit(&mut self, request: &Request) -> Result<String, SubmitError> {
        if self.chance(self.faults.later) {
            return Err(SubmitError::Later("a limit is reached".to_owned()));
        }
        if self.chance(self.faults.lost_answers) {
            if self.chance(50) {
                self.accept(request);
            }
            return Err(SubmitError::Unknown("Socket timed out".to_owned()));
        }
        Ok(self.accept(request))
    }

    fn queue(&mut self) -> Result<Vec<TaskStatus>, NoAnswer> {
        self.advance();
        if self.chance(self.faults.lost_answers) {
            return Err(NoAnswer("Unable to contact slurm controller".to_owned()));
        }
        // A job is hidden with all its tasks.
        let names: BTreeSet<String> = self.tasks.iter().map(|task| task.name.clone()).collect();
        let hidden = self.faults.hidden_jobs;
        let hidden: BTreeSet<_> = names.into_iter().filter(|_| self.chance(hidden)).collect();
        Ok(self.tasks.iter().filter(|task| !hidden.contains(&task.name)).map(status).collect())
    }

    fn accounting(&mut self, tasks: &[TaskId]) -> Result<Vec<TaskStatus>, NoAnswer> {
        if self.chance(self.faults.lost_answers) {
            return Err(NoAnswer("no accounts".to_owned()));
        }
        Ok(self.tasks.iter().filter(|task| tasks.contains(&task.id)).map(status).collect())
    }

    fn cancel(&mut self, tasks: &[TaskId]) -> Result<(), NoAnswer> {
        for task in self.tasks.iter_mut().filter(|task| tasks.contains(&task.id)) {
            task.state = JobState::Ended(End::Cancelled);
        }
        Ok(())
    }
}

fn status(task: &FakeTask) -> TaskStatus {
    TaskStatus {
        id: task.id.clone(),
        name: task.name.clone(),
        state: task.state.clone(),
        reason: String::new(),
        node: task.node.clone(),
        expected: String::new(),
    }
}

fn site() -> Site {
    let mut site = Site::default();
    site.poll = Duration::from_millis(1);
    site.grace = Duration::from_millis(4);
    site.submissions_per_minute = 1_000_000;
    site.attempts = 1000;
    site
}

fn options() -> SlurmOptions {
    SlurmOptions {
        pipeline: "test".to_owned(),
        on_gpu: false,
        predicted: BTreeMap::new(),
        command: ["pcae-run", "worker", "--batch"].map(str::to_owned).to_vec(),
        leave: Arc::new(AtomicBool::new(false)),
    }
}

/// Six numbers, sums of neighbors, and the sum of all.
fn pyramid() -> Fixture {
    let mut stages = String::new();
    for n in 0..6 {
        let _ = write!(stages, r#""n{n}": Constant(value: {n}),"#);
    }
    for n in 0..5 {
        let _ = write!(stages, r#""s{n}": Sum(left: "n{n}", right: "n{}"),"#, n + 1);
    }
    stages.push_str(r#""t": Sum(left: "s0", right: "s4"), "u": Sum(left: "t", right: "s2"),"#);
    Fixture::stages(&stages)
}

fn run(fixture: &Fixture, site: &Site, fake: Fake, events: &mut dyn FnMut(Event)) -> RunReport {
    let cache = fixture.cache();
    let mut executor = Slurm::new(site, &cache, fake, options());
    fixture.run_on(&mut executor, &Choice::default(), OnError::Finish, events)
}

fn left_in(folder: &Path) -> Vec<String> {
    let items = std::fs::read_dir(folder.join("jobs")).unwrap();
    items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect()
}

/// Runs the pyramid on a scheduler with faults; all stages must be computed, each once.
fn round(seed: u64) {
    let fixture = pyramid();
    let mut dice = Dice(seed ^ 0xDEAD);
    let mut percent = || dice.below(40);
    let faults =
        Faults { lost_answers: percent(), lost_jobs: percent(), hidden_jobs: percent(), later: 0 };
    let (fake, counts) = Fake::new(fixture.cache_folder(), seed, faults);
    let report = run(&fixture, &site(), fake, &mut |_| {});
    assert_eq!(report.failed, [], "seed {seed}");
    assert_eq!(fixture.values(&report)["u"], 1 + 9 + 5, "seed {seed}");
    assert_eq!(report.results.len(), 13, "seed {seed}");
    let counts = counts.borrow();
    assert_eq!(counts.computed.len(), 13, "seed {seed}");
    assert!(
        counts.computed.values().all(|&times| times == 1),
        "seed {seed}: {:?}",
        counts.computed
    );
}

#[test]
fn every_stage_is_computed_once_whatever_the_scheduler_loses() {
    (0..60).for_each(round);
}

#[test]
#[ignore = "takes minutes; part of the long check"]
fn every_stage_is_computed_once_in_a_thousand_rounds() {
    (0..1000).for_each(round);
}

#[test]
fn a_run_leaves_nothing_behind_and_packs_arrays() {
    let fixture = pyramid();
    let (fake, counts) = Fake::new(fixture.cache_folder(), 1, NONE);
    let report = run(&fixture, &site(), fake, &mut |_| {});
    assert_eq!(report.executed.len(), 13);
    assert_eq!(left_in(&fixture.cache_folder()), Vec::<String>::new());
    let first = &counts.borrow().options[0];
    assert!(first.contains(&"--no-requeue".to_owned()), "{first:?}");
    assert!(first.contains(&"--cpus-per-task=1".to_owned()), "{first:?}");
}

#[test]
fn no_more_tasks_than_allowed_are_in_the_queue() {
    let mut stages = String::new();
    for n in 0..40 {
        let _ = write!(stages, r#""n{n}": Constant(value: {n}),"#);
    }
    let fixture = Fixture::stages(&stages);
    let (fake, counts) = Fake::new(fixture.cache_folder(), 3, NONE);
    let mut site = site();
    site.queue = 1;
    assert_eq!(run(&fixture, &site, fake, &mut |_| {}).executed.len(), 40);
    assert_eq!(counts.borrow().most_in_queue, 1);
}

#[test]
fn a_stage_that_fits_nowhere_fails_with_what_it_asks_for() {
    let fixture = Fixture::stages(r#""n": Constant(value: 1)"#);
    let (fake, _) = Fake::new(fixture.cache_folder(), 3, NONE);
    let small = Partition { name: "small".to_owned(), memory: Some(1), ..Partition::default() };
    let mut site = site();
    site.partitions = vec![small];
    let report = run(&fixture, &site, fake, &mut |_| {});
    assert!(report.failed[0].1.contains("small"), "{:?}", report.failed);
}

#[test]
fn a_job_that_is_too_long_for_every_partition_asks_for_what_there_is() {
    let fixture = Fixture::stages(r#""n": Constant(value: 1)"#);
    let (fake, counts) = Fake::new(fixture.cache_folder(), 3, NONE);
    let short = Partition {
        name: "short".to_owned(),
        time: Some(Duration::from_mins(10)),
        ..Partition::default()
    };
    let mut site = site();
    site.partitions = vec![short];
    assert_eq!(run(&fixture, &site, fake, &mut |_| {}).executed.len(), 1);
    let counts = counts.borrow();
    assert!(counts.options[0].contains(&"--time=0-00:10:00".to_owned()), "{:?}", counts.options);
}

#[test]
fn a_busy_scheduler_is_asked_again() {
    let fixture = Fixture::stages(r#""n": Constant(value: 1)"#);
    let (fake, _) = Fake::new(fixture.cache_folder(), 5, Faults { later: 60, ..NONE });
    let mut notes = Vec::new();
    let report = run(&fixture, &site(), fake, &mut |event| {
        if let Event::Note { message } = event {
            notes.push(message);
        }
    });
    assert_eq!(report.executed, ["n"]);
}
