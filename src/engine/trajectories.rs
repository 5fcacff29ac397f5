//! The promises about stages that differ only in how far they go, tested on toy stages.

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

use super::assess::{self, Standing};
use super::cache::{Cache, Check, Claim, Claimed, Patience, Reached, Reuse};
use super::digest::{ContentDigest, TrajectoryKey};
use super::events::Event;
use super::executor::{Executor, Inline, Order, Update, Urgency};
use super::failpoint::{POINTS, TRAJECTORY_POINTS};
use super::job::{Conditions, Ending, Job, JobLine, Supply};
use super::run::OnError;
use super::select::Choice;
use super::toy::{CountState, Toy, ToyLab};

const COUNT: &str = r#""count": Count(by: 2, to: Steps(3))"#;

/// Returns what each step of the only trajectory was made for.
fn made(lab: &ToyLab) -> Vec<usize> {
    let states = lab.states();
    assert_eq!(states.len(), 1, "{states:?}");
    states[0].made()
}

#[test]
fn a_longer_run_goes_on_from_a_shorter_one() {
    let mut lab = ToyLab::stages(COUNT);
    assert_eq!(lab.values(&lab.run())["count"], 12);
    let longer = lab.edit("Steps(3)", "Steps(5)").run();
    assert_eq!(lab.values(&longer)["count"], 30);
    assert_eq!(made(&lab), [3, 3, 3, 5, 5]);
    let fresh = ToyLab::stages(&COUNT.replace("Steps(3)", "Steps(5)"));
    let digest = |report: &super::run::RunReport| report.results[&0].artifact.digest;
    assert_eq!(digest(&longer), digest(&fresh.run()));
    assert_eq!(lab.edit("Steps(5)", "Steps(3)").run().cached, 1, "each length has its own entry");
}

#[test]
fn a_shorter_run_finds_what_a_longer_one_left() {
    let mut lab = ToyLab::stages(COUNT);
    lab.run();
    let shorter = lab.edit("Steps(3)", "Steps(2)").run();
    assert_eq!(lab.values(&shorter)["count"], 6);
    assert_eq!((made(&lab), lab.states()[0].runs), (vec![3, 3, 3], 2));
}

#[test]
fn state_outlives_failed_and_stopped_runs() {
    for ending in ["Failing(3)", "Stopping(3)"] {
        let mut lab = ToyLab::stages(&COUNT.replace("Steps(3)", ending));
        assert!(lab.run().executed.is_empty());
        let longer = lab.edit(ending, "Steps(4)").run();
        assert_eq!(lab.values(&longer)["count"], 20);
        assert_eq!(made(&lab), [3, 3, 3, 4], "{ending}");
    }
}

#[test]
fn only_stages_that_differ_in_nothing_else_share() {
    let lab = ToyLab::stages(
        r#""zero": Constant(value: 0), "one": Constant(value: 1),
        "a": Count(by: 2, to: Steps(2)), "b": Count(by: 3, to: Steps(2)),
        "c": Count(from: "zero", by: 2, to: Steps(2)), "d": Count(from: "one", by: 2, to: Steps(2)),
        "e": Count(from: "one", by: 2, to: Steps(3))"#,
    );
    let values = lab.values(&lab.run());
    let wanted = [("a", 6), ("b", 9), ("c", 6), ("d", 7), ("e", 13)];
    assert!(wanted.iter().all(|(name, value)| values[*name] == *value), "{values:?}");
    let mut runs: Vec<_> = lab.states().iter().map(|state| state.runs).collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 1, 1, 2], "`d` and `e` share, nobody else");
}

#[test]
fn a_renamed_stage_goes_on_all_the_same() {
    let mut lab = ToyLab::stages(COUNT);
    lab.run();
    lab.edit("\"count\"", "\"renamed\"").edit("Steps(3)", "Steps(4)").run();
    assert_eq!(made(&lab), [3, 3, 3, 4]);
}

#[test]
fn a_forced_run_starts_from_nothing() {
    let lab = ToyLab::stages(COUNT);
    lab.run();
    let report = lab.force("count");
    assert_eq!((report.executed.len(), lab.values(&report)["count"]), (1, 12));
    assert_eq!(lab.states()[0].runs, 1);
}

#[test]
fn a_forced_run_that_tries_again_goes_on() {
    let text = r#"Pipeline(name: "t", limits: {"*": Limits(retries: 1)}, stages: {"n": Count(to: Failing(3))})"#;
    let lab = ToyLab::new(text);
    lab.run();
    assert_eq!(lab.states()[0].runs, 2);
    lab.force("n");
    assert_eq!(lab.states()[0].runs, 2, "the first try cleared it, the second did not");
}

#[test]
fn a_plan_says_that_there_is_state_to_go_on_from() {
    let mut lab = ToyLab::stages(COUNT);
    lab.run();
    lab.edit("Steps(3)", "Steps(5)");
    let (standings, _) = assess::assess(&lab.plan(), &lab.cache(), "toy").unwrap();
    let Standing::Stale { why, .. } = &standings[0] else { panic!("{standings:?}") };
    assert_eq!(why, "to.Steps 3 -> 5; can go on from earlier state");
}

#[test]
fn stages_without_a_horizon_leave_no_trajectory() {
    let lab = ToyLab::stages(r#""a": Constant(value: 3), "b": Abs(of: "a")"#);
    lab.run();
    // Not even the folder: a cache that can only be read has none to make.
    assert!(!lab.cache_folder().join("trajectories").exists());
    assert!(lab.cache().entries().unwrap().iter().all(|entry| entry.trajectory.is_none()));
}

/// Performs jobs one at a time, and only when asked for news.
struct Patient {
    waiting: VecDeque<Order>,
    inline: Inline<Toy>,
    seen: Vec<Vec<String>>,
}

impl Executor for Patient {
    fn submit(&mut self, order: Order) {
        self.waiting.push_back(order);
        self.seen.push(self.waiting.iter().map(|order| order.job.stage.clone()).collect());
    }

    fn next(&mut self, patience: Duration) -> Option<Update> {
        self.inline.submit(self.waiting.pop_front()?);
        self.inline.next(patience)
    }

    fn stop(&mut self, urgency: Urgency) {
        self.inline.stop(urgency);
    }
}

#[test]
fn one_stage_of_a_trajectory_runs_at_a_time_the_shortest_first() {
    let lab = ToyLab::stages(
        r#""long": Count(to: Steps(9)), "short": Count(to: Steps(2)), "middle": Count(to: Steps(4)),
        "other": Count(by: 1, to: Steps(4))"#,
    );
    let inline = Inline::new(lab.cache_folder());
    let mut executor = Patient { waiting: VecDeque::new(), inline, seen: Vec::new() };
    let mut reasons = BTreeMap::new();
    let mut emit = |event| {
        if let Event::StageStarted { stage, why, .. } = event {
            reasons.insert(stage, why);
        }
    };
    let report = lab.run_on(&mut executor, &Choice::default(), OnError::Finish, &mut emit);
    assert_eq!(report.executed, ["short", "other", "middle", "long"]);
    assert_eq!(
        executor.seen,
        [vec!["short"], vec!["short", "other"], vec!["other", "middle"], vec!["long"]]
    );
    assert_eq!(reasons["short"], "first run");
    assert!(reasons["long"].ends_with("can go on from earlier state"), "{reasons:?}");
}

/// Returns the job of a stage without inputs.
fn job(lab: &ToyLab, stage: &str) -> Job {
    let plan = lab.plan();
    let planned = &plan.stages()[plan.find(stage).unwrap()];
    let record = assess::bare_record(&*planned.stage);
    Job {
        key: record.key(),
        record,
        pipeline: "toy".into(),
        stage: stage.into(),
        text: planned.text.clone(),
        inputs: Vec::new(),
        files: BTreeMap::new(),
        device: "cpu".into(),
        supply: Supply::default(),
        reuse: Reuse::Allowed,
        work: None,
    }
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
struct Performer {
    told: Receiver<JobLine>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Ending>,
}

fn perform(lab: &ToyLab, job: Job, longest_wait: Option<Duration>) -> Performer {
    let (sender, told) = channel();
    let (folder, stop) = (lab.cache_folder(), Arc::new(AtomicBool::new(false)));
    let flag = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        let tell = Box::new(move |line| drop(sender.send(line)));
        let conditions = Conditions { threads: 1, longest_wait, log: None, stop: flag, tell };
        job.perform::<Toy>(&Cache::open(&folder, Check::Small).unwrap(), conditions)
    });
    Performer { told, stop, thread }
}

const PAIR: &str = r#""short": Count(to: Steps(3)), "long": Count(to: Steps(5))"#;

#[test]
fn another_length_waits_and_then_sees_what_the_first_left() {
    let lab = ToyLab::stages(PAIR);
    let cache = lab.cache();
    let first = claim(&cache, &job(&lab, "short"));
    let second = perform(&lab, job(&lab, "long"), None);
    assert!(matches!(second.told.recv().unwrap(), JobLine::Waits));
    let state = CountState { steps: vec![(0, 3); 3], ..CountState::default() };
    state.write(&first.state_folder()).unwrap();
    drop(first);
    assert!(matches!(second.told.recv().unwrap(), JobLine::Begins), "it told of the wait once");
    assert!(matches!(second.thread.join().unwrap(), Ending::Executed(_)));
    assert_eq!(made(&lab), [3, 3, 3, 5, 5]);
}

#[test]
fn a_wait_for_another_length_can_be_ended_or_bounded() {
    let lab = ToyLab::stages(PAIR);
    let cache = lab.cache();
    let _first = claim(&cache, &job(&lab, "short"));
    let stopped = perform(&lab, job(&lab, "long"), None);
    assert!(matches!(stopped.told.recv().unwrap(), JobLine::Waits));
    stopped.stop.store(true, Ordering::Relaxed);
    assert!(matches!(stopped.thread.join().unwrap(), Ending::Stopped));
    let bounded = perform(&lab, job(&lab, "long"), Some(Duration::from_millis(1)));
    let Ending::Busy(message) = bounded.thread.join().unwrap() else { panic!("it ran") };
    assert_eq!(message, "waited 0 s for another process that runs this stage to another length");
}

#[test]
fn many_lengths_at_once_never_block_each_other_for_good() {
    let lengths = [2, 4, 6, 8];
    let stages = lengths.map(|length| format!("\"n{length}\": Count(by: 1, to: Steps({length}))"));
    for round in 0..5 {
        let lab = ToyLab::stages(&stages.join(","));
        let mut performers = Vec::new();
        for start in 0..lengths.len() {
            for at in 0..lengths.len() {
                let length = lengths[(start + at * (start % 2 * 2 + 1)) % lengths.len()];
                performers.push(perform(&lab, job(&lab, &format!("n{length}")), None));
            }
        }
        let endings = performers.into_iter().map(|performer| performer.thread.join().unwrap());
        let executed = endings.filter(|ending| match ending {
            Ending::Executed(_) => true,
            Ending::Cached(_) => false,
            other => panic!("round {round}: {other:?}"),
        });
        assert_eq!(executed.count(), lengths.len(), "each key is computed once");
        let state = &lab.states()[0];
        assert_eq!((state.steps.len(), state.runs), (8, lengths.len()), "each step is made once");
    }
}

#[test]
fn state_that_came_from_an_edited_file_is_not_gone_on_from() {
    let lab = ToyLab::stages(COUNT);
    let path = lab.folder().join("note");
    fs::write(&path, "as planned").unwrap();
    let mut job = job(&lab, "count");
    job.record.files.insert("note".into(), ContentDigest::of_file(&path).unwrap());
    job.files.insert("note".into(), path);
    job.key = job.record.key();
    let Ending::Failed { message, .. } = perform(&lab, job, None).thread.join().unwrap() else {
        panic!("the stage edited the file");
    };
    assert!(message.contains("changed while the stage ran"), "{message}");
    assert!(lab.states().is_empty());
}

const CHILD_FOLDER: &str = "PCAE_RUN_TOY_FOLDER";

/// What the child process of the next test does; by itself nothing.
#[test]
fn a_child_that_may_die() {
    if let Some(folder) = std::env::var_os(CHILD_FOLDER) {
        ToyLab::within(Path::new(&folder), &ToyLab::stages(COUNT).text).force("count");
    }
}

#[test]
fn a_kill_at_any_point_leaves_state_whole() {
    for point in POINTS.iter().chain(TRAJECTORY_POINTS) {
        let mut lab = ToyLab::stages(&COUNT.replace("Steps(3)", "Steps(2)"));
        lab.run();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engine::trajectories::a_child_that_may_die"])
            .env(CHILD_FOLDER, lab.folder())
            .env("PCAE_RUN_FAILPOINT", format!("{point}=abort"))
            .output()
            .unwrap()
            .status;
        assert_eq!(status.signal(), Some(6), "{point} is never passed");
        let report = lab.edit("Steps(2)", "Steps(4)").run();
        assert_eq!(lab.values(&report)["count"], 20, "{point}");
        // What was there before, nothing, or all that the killed run had made.
        let possible = [vec![2, 2, 4, 4], vec![4; 4], vec![3, 3, 3, 4]];
        assert!(possible.contains(&made(&lab)), "{point}: {:?}", made(&lab));
        let killed = lab.edit("Steps(4)", "Steps(3)").run();
        assert_eq!(lab.values(&killed)["count"], 12, "{point}");
        assert_eq!(collect(&lab, &Reached::default(), None), 0, "{point}");
        let left = fs::read_dir(lab.cache_folder().join("work")).unwrap();
        assert_eq!(left.count(), 0, "{point}");
    }
}

/// Collects everything but what is reached; returns how many trajectories are left.
fn collect(lab: &ToyLab, reached: &Reached, enough: Option<u64>) -> usize {
    let cache = lab.cache();
    let collection = cache.collectable(reached, enough).unwrap();
    let wanted: u64 = collection.trajectories.iter().map(|trajectory| trajectory.bytes).sum();
    let freed = cache.collect(&collection, &cache.hold_alone().unwrap()).unwrap();
    assert!(freed >= wanted);
    assert!(cache.verify().unwrap().is_empty());
    cache.trajectories().unwrap().len()
}

#[test]
fn a_trajectory_is_kept_while_a_result_or_a_stage_belongs_to_it() {
    let run = || {
        let lab = ToyLab::stages(PAIR);
        lab.run();
        (job(&lab, "short"), job(&lab, "long"), lab)
    };
    let (short, _, lab) = run();
    let reached = Reached { keys: BTreeSet::from([short.key]), ..Reached::default() };
    assert_eq!(collect(&lab, &reached, None), 1);
    assert_eq!(lab.cache().entries().unwrap().len(), 1);
    let trajectories = BTreeSet::from([trajectory(&short)]);
    let reached = Reached { trajectories, ..Reached::default() };
    assert_eq!(collect(&lab, &reached, None), 1, "a stage that never ran would go on from it");
    assert!(lab.cache().entries().unwrap().is_empty());
    assert_eq!(collect(&lab, &Reached::default(), None), 0);

    let (_, long, lab) = run();
    assert_eq!(collect(&lab, &Reached::default(), Some(1)), 1, "one result is enough");
    assert_eq!(lab.cache().entries().unwrap().len(), 1);
    assert_eq!(collect(&lab, &Reached::default(), Some(1)), 0, "it goes with the last one");
    let _ = perform(&lab, long, None).thread.join().unwrap();
    assert_eq!(made(&lab), [5; 5], "nothing was left to go on from");
}

#[test]
fn state_that_no_result_belongs_to_goes_first() {
    let lab = ToyLab::stages(r#""bad": Count(to: Failing(3)), "good": Constant(value: 1)"#);
    lab.run();
    assert_eq!(collect(&lab, &Reached::default(), Some(1)), 0);
    assert_eq!(lab.cache().entries().unwrap().len(), 1, "that was enough");
}

#[test]
fn a_trajectory_in_use_is_not_collected() {
    let lab = ToyLab::stages(PAIR);
    lab.run();
    let (mut short, cache) = (job(&lab, "short"), lab.cache());
    short.record.settings["to"] = serde_json::json!({"Steps": 7});
    short.key = short.record.key();
    let held = claim(&cache, &short);
    assert_eq!(collect(&lab, &Reached::default(), None), 1);
    let waiting = perform(&lab, job(&lab, "long"), None);
    assert!(matches!(waiting.told.recv().unwrap(), JobLine::Waits), "its lock is still one");
    drop(held);
    assert!(matches!(waiting.thread.join().unwrap(), Ending::Executed(_)));
    assert_eq!(made(&lab), [3, 3, 3, 5, 5]);
}
