//! The promises about stages that differ only in how far they go, tested on test stages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::engine::cache::{Cache, Check, Claim, Claimed, GcRoots, Patience, Reuse};
use crate::engine::digest::{ContentDigest, TrajectoryKey};
use crate::engine::executor::{Executor, Inline, Submission, Urgency};
use crate::engine::job::{Conditions, Job, JobEvent, JobOutcome};
use crate::engine::plan::StageIndex;
use crate::engine::plan::select::Choice;
use crate::engine::run::events::Event;
use crate::engine::run::options::OnError;
use crate::engine::run::status::{self, StageStatus};
use crate::engine::system::failpoint::{POINTS, TRAJECTORY_POINTS};
use crate::engine::test_stages::{CountState, EDITED_BACK, Fixture, TestStage};

const COUNT: &str = r#""count": Count(by: 2, to: Steps(3))"#;

/// Returns what each step of the only trajectory was made for.
fn made(fixture: &Fixture) -> Vec<usize> {
    let states = fixture.states();
    assert_eq!(states.len(), 1, "{states:?}");
    states[0].made()
}

#[test]
fn a_longer_run_resumes_from_a_shorter_one() {
    let mut fixture = Fixture::stages(COUNT);
    assert_eq!(fixture.values(&fixture.run())["count"], 12);
    let longer = fixture.edit("Steps(3)", "Steps(5)").run();
    assert_eq!(fixture.values(&longer)["count"], 30);
    assert_eq!(made(&fixture), [3, 3, 3, 5, 5]);
    let fresh = Fixture::stages(&COUNT.replace("Steps(3)", "Steps(5)"));
    let digest =
        |report: &crate::engine::run::options::RunReport| report.results[&0].artifact.digest;
    assert_eq!(digest(&longer), digest(&fresh.run()));
    assert_eq!(
        fixture.edit("Steps(5)", "Steps(3)").run().cached,
        1,
        "each length has its own entry"
    );
}

#[test]
fn a_shorter_run_finds_what_a_longer_one_left() {
    let mut fixture = Fixture::stages(COUNT);
    fixture.run();
    let shorter = fixture.edit("Steps(3)", "Steps(2)").run();
    assert_eq!(fixture.values(&shorter)["count"], 6);
    assert_eq!((made(&fixture), fixture.states()[0].runs), (vec![3, 3, 3], 2));
}

#[test]
fn state_outlives_failed_and_stopped_runs() {
    for ending in ["Failing(3)", "Stopping(3)"] {
        let mut fixture = Fixture::stages(&COUNT.replace("Steps(3)", ending));
        assert!(fixture.run().executed.is_empty());
        let longer = fixture.edit(ending, "Steps(4)").run();
        assert_eq!(fixture.values(&longer)["count"], 20);
        assert_eq!(made(&fixture), [3, 3, 3, 4], "{ending}");
    }
}

#[test]
fn only_stages_that_differ_in_nothing_else_share() {
    let fixture = Fixture::stages(
        r#""zero": Constant(value: 0), "one": Constant(value: 1),
        "a": Count(by: 2, to: Steps(2)), "b": Count(by: 3, to: Steps(2)),
        "c": Count(from: "zero", by: 2, to: Steps(2)), "d": Count(from: "one", by: 2, to: Steps(2)),
        "e": Count(from: "one", by: 2, to: Steps(3))"#,
    );
    let values = fixture.values(&fixture.run());
    let wanted = [("a", 6), ("b", 9), ("c", 6), ("d", 7), ("e", 13)];
    assert!(wanted.iter().all(|(name, value)| values[*name] == *value), "{values:?}");
    let mut runs: Vec<_> = fixture.states().iter().map(|state| state.runs).collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 1, 1, 2], "`d` and `e` share, nobody else");
}

#[test]
fn a_renamed_stage_goes_on_all_the_same() {
    let mut fixture = Fixture::stages(COUNT);
    fixture.run();
    fixture.edit("\"count\"", "\"renamed\"").edit("Steps(3)", "Steps(4)").run();
    assert_eq!(made(&fixture), [3, 3, 3, 4]);
}

#[test]
fn a_forced_run_starts_from_nothing() {
    let fixture = Fixture::stages(COUNT);
    fixture.run();
    let report = fixture.force("count");
    assert_eq!((report.executed.len(), fixture.values(&report)["count"]), (1, 12));
    assert_eq!(fixture.states()[0].runs, 1);
}

#[test]
fn a_forced_run_that_tries_again_goes_on() {
    let text = r#"Pipeline(name: "t", limits: {"*": Limits(retries: 1)}, stages: {"n": Count(to: Failing(3))})"#;
    let fixture = Fixture::new(text);
    fixture.run();
    assert_eq!(fixture.states()[0].runs, 2);
    fixture.force("n");
    assert_eq!(fixture.states()[0].runs, 2, "the first try cleared it, the second did not");
}

#[test]
fn a_plan_says_that_there_is_state_to_go_on_from() {
    let mut fixture = Fixture::stages(COUNT);
    fixture.run();
    fixture.edit("Steps(3)", "Steps(5)");
    let (statuses, _) = status::of_plan(&fixture.plan(), &fixture.cache(), "test").unwrap();
    let StageStatus::Stale { why, .. } = &statuses[0] else { panic!("{statuses:?}") };
    assert_eq!(why, "to.Steps 3 -> 5; resumes from saved state");
}

#[test]
fn stages_without_a_horizon_leave_no_trajectory() {
    let fixture = Fixture::stages(r#""a": Constant(value: 3), "b": Abs(of: "a")"#);
    fixture.run();
    // Not even the folder: a cache that can only be read has none to make.
    assert!(!fixture.cache_folder().join("trajectories").exists());
    assert!(fixture.cache().entries().unwrap().iter().all(|entry| entry.trajectory.is_none()));
}

/// Runs jobs one at a time, and only when asked for events.
struct Patient {
    waiting: VecDeque<Submission>,
    inline: Inline<TestStage>,
    seen: Vec<Vec<String>>,
}

impl Executor for Patient {
    fn submit(&mut self, submission: Submission) {
        self.waiting.push_back(submission);
        self.seen.push(self.waiting.iter().map(|waiting| waiting.job.stage.clone()).collect());
    }

    fn next(&mut self, patience: Duration) -> Option<(StageIndex, JobEvent)> {
        self.inline.submit(self.waiting.pop_front()?);
        self.inline.next(patience)
    }

    fn stop(&mut self, urgency: Urgency) {
        self.inline.stop(urgency);
    }
}

#[test]
fn one_stage_of_a_trajectory_runs_at_a_time_the_shortest_first() {
    let fixture = Fixture::stages(
        r#""long": Count(to: Steps(9)), "short": Count(to: Steps(2)), "middle": Count(to: Steps(4)),
        "other": Count(by: 1, to: Steps(4))"#,
    );
    let inline = Inline::new(fixture.cache_folder());
    let mut executor = Patient { waiting: VecDeque::new(), inline, seen: Vec::new() };
    let mut reasons = BTreeMap::new();
    let mut emit = |event| {
        if let Event::StageStarted { stage, why, .. } = event {
            reasons.insert(stage, why);
        }
    };
    let report = fixture.run_on(&mut executor, &Choice::default(), OnError::Finish, &mut emit);
    assert_eq!(report.executed, ["short", "other", "middle", "long"]);
    assert_eq!(
        executor.seen,
        [vec!["short"], vec!["short", "other"], vec!["other", "middle"], vec!["long"]]
    );
    assert_eq!(reasons["short"], "first run");
    assert!(reasons["long"].ends_with("resumes from saved state"), "{reasons:?}");
}

fn trajectory(job: &Job) -> TrajectoryKey {
    job.record.trajectory(&["to"]).unwrap()
}

fn claim<'a>(cache: &'a Cache, job: &Job) -> Claim<'a> {
    let patience = Patience { longest: None, stop: &AtomicBool::new(false), on_wait: &mut || {} };
    match cache.claim(&job.key, Some(&trajectory(job)), Reuse::Allowed, patience).unwrap() {
        Claimed::Mine(claim) => claim,
        Claimed::Hit(_) => panic!("it is cached"),
    }
}

/// Performs a job in another thread, with a cache of its own, as another process would.
struct Worker {
    events: Receiver<JobEvent>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<JobOutcome>,
}

fn perform(fixture: &Fixture, job: Job, longest_wait: Option<Duration>) -> Worker {
    let (sender, events) = channel();
    let (folder, stop) = (fixture.cache_folder(), Arc::new(AtomicBool::new(false)));
    let flag = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        let emit = Box::new(move |event| drop(sender.send(event)));
        let (log, scratch) = (None, None);
        let conditions = Conditions { threads: 1, longest_wait, log, scratch, stop: flag, emit };
        job.perform::<TestStage>(&Cache::open(&folder, Check::Small).unwrap(), conditions)
    });
    Worker { events, stop, thread }
}

const PAIR: &str = r#""short": Count(to: Steps(3)), "long": Count(to: Steps(5))"#;

#[test]
fn another_length_waits_and_then_sees_what_the_first_left() {
    let fixture = Fixture::stages(PAIR);
    let cache = fixture.cache();
    let first = claim(&cache, &fixture.job("short"));
    let second = perform(&fixture, fixture.job("long"), None);
    assert!(matches!(second.events.recv().unwrap(), JobEvent::Waiting));
    let state = CountState { steps: vec![(0, 3); 3], ..CountState::default() };
    state.write(&first.state_folder()).unwrap();
    drop(first);
    assert!(matches!(second.events.recv().unwrap(), JobEvent::Started), "it told of the wait once");
    assert!(matches!(second.thread.join().unwrap(), JobOutcome::Executed(_)));
    assert_eq!(made(&fixture), [3, 3, 3, 5, 5]);
}

#[test]
fn a_wait_for_another_length_can_be_ended_or_bounded() {
    let fixture = Fixture::stages(PAIR);
    let cache = fixture.cache();
    let _first = claim(&cache, &fixture.job("short"));
    let stopped = perform(&fixture, fixture.job("long"), None);
    assert!(matches!(stopped.events.recv().unwrap(), JobEvent::Waiting));
    stopped.stop.store(true, Ordering::Relaxed);
    assert!(matches!(stopped.thread.join().unwrap(), JobOutcome::Stopped));
    let bounded = perform(&fixture, fixture.job("long"), Some(Duration::from_millis(1)));
    let JobOutcome::Busy(message) = bounded.thread.join().unwrap() else { panic!("it ran") };
    assert_eq!(
        message,
        "waited 0 s for another process that is running this stage with another length"
    );
}

#[test]
fn many_lengths_at_once_never_block_each_other_for_good() {
    let lengths = [2, 4, 6, 8];
    let stages = lengths.map(|length| format!("\"n{length}\": Count(by: 1, to: Steps({length}))"));
    for round in 0..5 {
        let fixture = Fixture::stages(&stages.join(","));
        let mut workers = Vec::new();
        for start in 0..lengths.len() {
            for at in 0..lengths.len() {
                let length = lengths[(start + at * (start % 2 * 2 + 1)) % lengths.len()];
                workers.push(perform(&fixture, fixture.job(&format!("n{length}")), None));
            }
        }
        let outcomes = workers.into_iter().map(|worker| worker.thread.join().unwrap());
        let executed = outcomes.filter(|outcome| match outcome {
            JobOutcome::Executed(_) => true,
            JobOutcome::Cached(_) => false,
            other => panic!("round {round}: {other:?}"),
        });
        assert_eq!(executed.count(), lengths.len(), "each key is computed once");
        let state = &fixture.states()[0];
        assert_eq!((state.steps.len(), state.runs), (8, lengths.len()), "each step is made once");
    }
}

#[test]
fn what_came_from_an_edited_file_is_not_kept_even_if_it_was_edited_back() {
    for planned in ["as planned", EDITED_BACK] {
        let fixture = Fixture::stages(COUNT);
        let path = fixture.folder().join("note");
        fs::write(&path, planned).unwrap();
        let mut job = fixture.job("count");
        job.record.files.insert("note".into(), ContentDigest::of_file(&path).unwrap());
        job.files.insert("note".into(), path);
        job.key = job.record.key();
        let JobOutcome::Failed { message, .. } =
            perform(&fixture, job, None).thread.join().unwrap()
        else {
            panic!("the stage edited the file");
        };
        assert!(message.contains("changed while the stage ran"), "{message}");
        assert!(fixture.states().is_empty());
    }
}

const CHILD_FOLDER: &str = "PCAE_RUN_TEST_FOLDER";

/// What the child process of the next test does; by itself nothing.
#[test]
fn a_child_that_may_die() {
    if let Some(folder) = std::env::var_os(CHILD_FOLDER) {
        Fixture::within(Path::new(&folder), &Fixture::stages(COUNT).text).force("count");
    }
}

#[test]
fn a_kill_at_any_point_leaves_state_whole() {
    for point in POINTS.iter().chain(TRAJECTORY_POINTS) {
        let mut fixture = Fixture::stages(&COUNT.replace("Steps(3)", "Steps(2)"));
        fixture.run();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engine::tests::trajectories::a_child_that_may_die"])
            .env(CHILD_FOLDER, fixture.folder())
            .env("PCAE_RUN_FAILPOINT", format!("{point}=abort"))
            .output()
            .unwrap()
            .status;
        assert_eq!(status.signal(), Some(6), "{point} is never passed");
        let report = fixture.edit("Steps(2)", "Steps(4)").run();
        assert_eq!(fixture.values(&report)["count"], 20, "{point}");
        // What was there before, nothing, or all that the killed run had made.
        let possible = [vec![2, 2, 4, 4], vec![4; 4], vec![3, 3, 3, 4]];
        assert!(possible.contains(&made(&fixture)), "{point}: {:?}", made(&fixture));
        let killed = fixture.edit("Steps(4)", "Steps(3)").run();
        assert_eq!(fixture.values(&killed)["count"], 12, "{point}");
        assert_eq!(collect(&fixture, &GcRoots::default(), None), 0, "{point}");
        let left = fs::read_dir(fixture.cache_folder().join("work")).unwrap();
        assert_eq!(left.count(), 0, "{point}");
    }
}

/// Collects everything but what the roots keep; returns how many trajectories are left.
fn collect(fixture: &Fixture, roots: &GcRoots, enough: Option<u64>) -> usize {
    let cache = fixture.cache();
    let collection = cache.collectable(roots, enough).unwrap();
    let wanted: u64 = collection.trajectories.iter().map(|trajectory| trajectory.bytes).sum();
    let freed = cache.collect(&collection, &cache.hold_alone().unwrap()).unwrap();
    assert!(freed >= wanted);
    assert!(cache.verify().unwrap().is_sound());
    cache.trajectories().unwrap().len()
}

#[test]
fn a_trajectory_is_kept_while_a_result_or_a_stage_belongs_to_it() {
    let run = || {
        let fixture = Fixture::stages(PAIR);
        fixture.run();
        (fixture.job("short"), fixture.job("long"), fixture)
    };
    let (short, _, fixture) = run();
    let roots = GcRoots { keys: BTreeSet::from([short.key]), ..GcRoots::default() };
    assert_eq!(collect(&fixture, &roots, None), 1);
    assert_eq!(fixture.cache().entries().unwrap().len(), 1);
    let trajectories = BTreeSet::from([trajectory(&short)]);
    let roots = GcRoots { trajectories, ..GcRoots::default() };
    assert_eq!(collect(&fixture, &roots, None), 1, "a stage that never ran would go on from it");
    assert!(fixture.cache().entries().unwrap().is_empty());
    assert_eq!(collect(&fixture, &GcRoots::default(), None), 0);

    let (_, long, fixture) = run();
    assert_eq!(collect(&fixture, &GcRoots::default(), Some(1)), 1, "one result is enough");
    assert_eq!(fixture.cache().entries().unwrap().len(), 1);
    assert_eq!(collect(&fixture, &GcRoots::default(), Some(1)), 0, "it goes with the last one");
    let _ = perform(&fixture, long, None).thread.join().unwrap();
    assert_eq!(made(&fixture), [5; 5], "nothing was left to go on from");
}

#[test]
fn state_that_no_result_belongs_to_goes_first() {
    let fixture = Fixture::stages(r#""bad": Count(to: Failing(3)), "good": Constant(value: 1)"#);
    fixture.run();
    assert_eq!(collect(&fixture, &GcRoots::default(), Some(1)), 0);
    assert_eq!(fixture.cache().entries().unwrap().len(), 1, "that was enough");
}

#[test]
fn a_trajectory_in_use_is_not_collected() {
    let fixture = Fixture::stages(PAIR);
    fixture.run();
    let (mut short, cache) = (fixture.job("short"), fixture.cache());
    short.record.settings["to"] = serde_json::json!({"Steps": 7});
    short.key = short.record.key();
    let held = claim(&cache, &short);
    assert_eq!(collect(&fixture, &GcRoots::default(), None), 1);
    let waiting = perform(&fixture, fixture.job("long"), None);
    assert!(matches!(waiting.events.recv().unwrap(), JobEvent::Waiting), "its lock is still one");
    drop(held);
    assert!(matches!(waiting.thread.join().unwrap(), JobOutcome::Executed(_)));
    assert_eq!(made(&fixture), [3, 3, 3, 5, 5]);
}
