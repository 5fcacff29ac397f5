//! Several compute devices: which stage has which, and what becomes of those that fail.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use crate::engine::executor::{Executor, Inline, Submission, Urgency};
use crate::engine::job::JobEvent;
use crate::engine::plan::StageIndex;
use crate::engine::plan::select::Choice;
use crate::engine::run::events::Event;
use crate::engine::run::options::{OnError, RunOptions, RunReport};
use crate::engine::stage::Needs;
use crate::engine::test_stages::{Fixture, TestStage};

/// Holds jobs until the scheduler waits for one: the oldest is performed then.
struct Held {
    inline: Inline<TestStage>,
    jobs: VecDeque<Submission>,
    /// The most stages that each device had side by side.
    most: BTreeMap<String, usize>,
    /// The devices of each stage that needs one, in the order in which they were tried.
    tried: BTreeMap<String, Vec<String>>,
    /// How many stages each device was given.
    given: BTreeMap<String, usize>,
}

impl Held {
    fn new(fixture: &Fixture) -> Self {
        Self {
            inline: Inline::new(fixture.cache_folder()),
            jobs: VecDeque::new(),
            most: BTreeMap::new(),
            tried: BTreeMap::new(),
            given: BTreeMap::new(),
        }
    }
}

impl Executor for Held {
    fn submit(&mut self, submission: Submission) {
        if submission.needs == Needs::Device {
            let device = submission.job.device.clone();
            *self.given.entry(device.clone()).or_default() += 1;
            self.tried.entry(submission.job.stage.clone()).or_default().push(device);
        }
        self.jobs.push_back(submission);
        let mut now: BTreeMap<&str, usize> = BTreeMap::new();
        for job in self.jobs.iter().filter(|job| job.needs == Needs::Device) {
            *now.entry(&job.job.device).or_default() += 1;
        }
        for (device, count) in now {
            let most = self.most.entry(device.to_owned()).or_default();
            *most = count.max(*most);
        }
    }

    fn next(&mut self, patience: Duration) -> Option<(StageIndex, JobEvent)> {
        if let Some(job) = self.jobs.pop_front() {
            self.inline.submit(job);
        }
        self.inline.next(patience)
    }

    fn stop(&mut self, urgency: Urgency) {
        self.inline.stop(urgency);
    }
}

/// Twelve trainings, and as many sums of what they give.
fn trainings() -> Fixture {
    let mut stages = String::new();
    for number in 0..12 {
        write!(stages, r#""train-{number}": Model(value: {number}), "#).unwrap();
        let plain = format!(r#""abs-{number}": Abs(of: "train-{number}"), "#);
        stages.push_str(&plain);
    }
    Fixture::stages(&stages)
}

/// Runs on devices; returns also what the user is told.
fn run(
    fixture: &Fixture,
    devices: &[&str],
    device_jobs: usize,
    on_error: OnError,
) -> (RunReport, Held, Vec<String>) {
    let devices = devices.iter().map(|name| (*name).to_owned()).collect();
    let options =
        RunOptions { jobs: 8, cores: 8, devices, device_jobs, ..Fixture::options(on_error) };
    let (mut held, mut notes) = (Held::new(fixture), Vec::new());
    let mut emit = |event: Event| {
        if let Event::Note { message } = event {
            notes.push(message);
        }
    };
    let report = fixture.run_as(&options, &mut held, &Choice::default(), None, &mut emit);
    (report, held, notes)
}

#[test]
fn every_device_is_busy_and_none_has_two_stages() {
    let fixture = trainings();
    let (report, held, notes) = run(&fixture, &["gpu:0", "gpu:1", "gpu:2"], 1, OnError::Finish);
    assert_eq!(report.executed.len(), 24);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(held.given.values().copied().collect::<Vec<_>>(), [4, 4, 4], "{:?}", held.given);
    assert!(held.most.values().all(|most| *most == 1), "{:?}", held.most);
    assert_eq!(held.most.len(), 3);
    assert_eq!(run(&fixture, &["gpu:9"], 1, OnError::Finish).0.cached, 24, "keys have no number");
}

#[test]
fn a_device_has_as_many_stages_as_the_user_says() {
    let (report, held, _) = run(&trainings(), &["gpu:0", "gpu:1"], 2, OnError::Finish);
    assert_eq!(report.executed.len(), 24);
    assert!(held.most.values().all(|most| *most == 2), "{:?}", held.most);
}

#[test]
fn a_device_that_fails_is_left_out_with_one_line_and_the_rest_goes_on() {
    let fixture = trainings();
    let devices = ["gpu:0", "broken:1", "gpu:2"];
    let (report, held, notes) = run(&fixture, &devices, 1, OnError::Finish);
    assert_eq!(report.executed.len(), 24);
    assert!(report.failed.is_empty() && report.skipped == 0);
    assert_eq!(notes, ["left out from now on: `broken:1` fell off the bus"]);
    assert_eq!(held.given["broken:1"], 1);
    assert_eq!(held.given.values().sum::<usize>(), 13);
    let again: BTreeSet<_> = held.tried.values().filter(|tried| tried.len() > 1).collect();
    assert_eq!(again.len(), 1);
    let tried = again.into_iter().next().unwrap();
    assert!(tried[0] == "broken:1" && tried[1].starts_with("gpu"), "{tried:?}");
    assert!(held.most.values().all(|most| *most == 1), "{:?}", held.most);
}

#[test]
fn without_any_device_a_run_ends_and_says_why() {
    for on_error in [OnError::Finish, OnError::Continue] {
        let fixture = trainings();
        let (report, held, notes) = run(&fixture, &["broken:0", "broken:1"], 1, on_error);
        assert!(report.executed.is_empty());
        assert_eq!(held.given.values().sum::<usize>(), 2, "each was tried once");
        assert_eq!(report.failed.len(), 1);
        assert!(report.failed[0].1.contains("fell off the bus"), "{:?}", report.failed);
        assert_eq!(report.failed.len() + report.skipped, 24);
        assert_eq!(notes.len(), 1, "the last one fails its stage: {notes:?}");
    }
}

#[test]
fn a_full_device_fails_its_stage_and_is_used_again() {
    let (report, held, notes) = run(&trainings(), &["full:0"], 1, OnError::Continue);
    assert_eq!((report.failed.len(), report.skipped), (12, 12));
    assert_eq!(held.given["full:0"], 12);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(report.failed[0].1, "`full:0` is full");
}

#[test]
fn what_is_known_of_a_panic_is_told_in_one_line() {
    let fixture = Fixture::stages(r#""a": Model(value: 1, panics: "no memory: 17 pages of it")"#);
    let (report, _, _) = run(&fixture, &["gpu:0"], 1, OnError::Finish);
    assert_eq!(report.failed, [("a".to_owned(), "`gpu:0` is full: lower `value`".to_owned())]);
}
