use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pcae::engine::system::failpoint::POINTS;
use serde_json::Value;

use crate::sandbox::{SUMS, Sandbox, files};

/// Asserts that a cache is as a run leaves it that nobody ever disturbed.
fn assert_like_undisturbed(sandbox: &Sandbox, reference: &Sandbox, what: &str) {
    sandbox.run().ok();
    assert_eq!(sandbox.results(), reference.results(), "{what}");
    assert_eq!(sandbox.objects(), reference.objects(), "{what}");
    sandbox.call(&["cache", "verify"]).ok();
    assert_eq!(sandbox.run().ok().summary()["executed"], 0, "{what}");
}

#[test]
fn an_abort_at_every_point_heals_by_itself() {
    let reference = Sandbox::new(SUMS);
    reference.run().ok();
    for point in POINTS {
        let sandbox = Sandbox::new(SUMS);
        let aborted = sandbox
            .command(&["pipeline.ron", "-k"])
            .env("PCAE_RUN_FAILPOINT", format!("{point}=abort"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&aborted.stderr);
        assert_eq!(aborted.status.code(), Some(1), "{point} is never passed: {stderr}");
        assert!(stderr.contains("killed by signal 6"), "{point}: {stderr}");
        assert_like_undisturbed(&sandbox, &reference, point);
    }
}

#[test]
fn a_full_disk_at_every_point_is_one_clear_line() {
    let reference = Sandbox::new(SUMS);
    reference.run().ok();
    for point in
        POINTS.iter().filter(|point| point.starts_with("publish") || point.starts_with("index"))
    {
        let sandbox = Sandbox::new(SUMS);
        let full = sandbox
            .command(&["pipeline.ron"])
            .env("PCAE_RUN_FAILPOINT", format!("{point}=full"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(1), "{point}: {stderr}");
        assert!(stderr.contains("failed: number-one: "), "{point}: {stderr}");
        assert!(stderr.contains("No space left on device"), "{point}: {stderr}");
        assert_like_undisturbed(&sandbox, &reference, point);
    }
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn a_really_full_disk_leaves_the_cache_valid() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "small": Command(args: ["sh", "-c", "echo small > out"], outputs: ["out"]),
            "large": Command(
                args: ["sh", "-c", "head -c 30000000 /dev/zero > out"],
                inputs: {"x": "small"}, outputs: ["out"],
            ),
        })"#,
    );
    let disk = sandbox.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=20m", "none", disk.to_str().unwrap()];
    assert!(Command::new("mount").args(mount).status().unwrap().success(), "no disk is mounted");
    let cache = disk.join("cache");
    let cache = cache.to_str().unwrap();
    let full = sandbox.call(&["pipeline.ron", "--cache", cache]);
    let verified = sandbox.call(&["cache", "verify", "--cache", cache]);
    let again = sandbox.call(&["pipeline.ron", "--cache", cache, "--json", "--until", "small"]);
    Command::new("umount").arg(&disk).status().unwrap();
    assert_eq!(full.code, 1, "{}", full.stderr);
    assert!(full.stderr.contains("failed: large"), "{}", full.stderr);
    assert!(full.stderr.contains("No space left on device"), "{}", full.stderr);
    verified.ok();
    assert_eq!(again.ok().summary()["executed"], 0, "what was finished is kept");
}

const SLOW: &str = r#"Pipeline(name: "slow", axes: {"n": [1, 2, 3]}, stages: {
    "a-{n}": Command(args: ["sh", "-c", "sleep 0.05; echo {n} > out"], outputs: ["out"]),
    "b-{n}": Command(args: ["sh", "-c", "sleep 0.05; cat inputs/x/out inputs/x/out > out"], inputs: {"x": "a-{n}"}, outputs: ["out"]),
    "c": Command(args: ["sh", "-c", "cat inputs/all/*/out > out"], families: {"all": Each("b-{n}")}, outputs: ["out"]),
})"#;

pub(crate) fn children(parent: u32) -> Vec<i32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

pub(crate) fn send(signal: &str, process: i32) {
    let _ =
        Command::new("kill").args([signal, &process.to_string()]).stderr(Stdio::null()).status();
}

#[test]
fn fifty_kills_at_any_time_heal_by_themselves() {
    let reference = Sandbox::new(SLOW);
    reference.run().ok();
    for round in 0..50_u64 {
        let sandbox = Sandbox::new(SLOW);
        let mut runner =
            sandbox.command(&["pipeline.ron", "-j", "2"]).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the whole run, in an order that visits early and late moments alike.
        thread::sleep(Duration::from_millis(round * 37 % 400));
        if round % 2 == 0 {
            runner.kill().unwrap();
        } else {
            for child in children(runner.id()) {
                send("-KILL", child);
            }
        }
        runner.wait().unwrap();
        assert_like_undisturbed(&sandbox, &reference, &format!("round {round}"));
    }
}

#[test]
fn children_die_with_their_runner() {
    for kill_stage in [false, true] {
        let sandbox = Sandbox::new(
            r#"Pipeline(name: "p", stages: {
                "long": Command(args: ["sh", "-c", "sleep 1000; true"], outputs: ["out"]),
            })"#,
        );
        let mut runner = sandbox.command(&["pipeline.ron"]).stderr(Stdio::null()).spawn().unwrap();
        let sleeping = wait_for_descendant(&runner);
        if kill_stage {
            for child in children(runner.id()) {
                send("-KILL", child);
            }
        } else {
            runner.kill().unwrap();
        }
        runner.wait().unwrap();
        let alive = || Path::new(&format!("/proc/{sleeping}")).exists();
        for _ in 0..100 {
            if !alive() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert!(!alive(), "the program's child outlived its runner");
    }
}

/// Waits for the program's own child: the sleeper below the stage and the shell.
fn wait_for_descendant(runner: &Child) -> i32 {
    let below = |processes: Vec<i32>| -> Vec<i32> {
        processes.into_iter().flat_map(|process| children(process.unsigned_abs())).collect()
    };
    for _ in 0..200 {
        if let Some(&found) = below(below(children(runner.id()))).last() {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the stage did not start");
}

#[test]
fn an_interrupt_stops_and_the_next_run_goes_on() {
    for signal in ["-INT", "-TERM"] {
        let sandbox = Sandbox::new(
            r#"Pipeline(name: "p", stages: {
                "quick": Command(args: ["sh", "-c", "echo > out"], outputs: ["out"]),
                "long": Command(args: ["sh", "-c", "sleep 3; cp inputs/x/out out"], inputs: {"x": "quick"}, outputs: ["out"]),
            })"#,
        );
        let runner = sandbox.command(&["pipeline.ron"]).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_log(&sandbox, 2);
        send(signal, runner.id().cast_signed());
        let output = runner.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("interrupted after"), "{stderr}");
        assert_eq!(sandbox.run().ok().executed(), ["long"]);
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "stubborn": Command(args: ["sh", "-c", "trap '' TERM; sleep 30; echo > out"], outputs: ["out"]),
        })"#,
    );
    let mut runner = sandbox.command(&["pipeline.ron"]).stderr(Stdio::null()).spawn().unwrap();
    wait_for_log(&sandbox, 1);
    thread::sleep(Duration::from_millis(300));
    send("-INT", runner.id().cast_signed());
    thread::sleep(Duration::from_millis(500));
    assert!(runner.try_wait().unwrap().is_none(), "the first one waits for the stage");
    send("-INT", runner.id().cast_signed());
    let asked = Instant::now();
    assert_eq!(runner.wait().unwrap().code(), Some(130));
    // Not a matter of speed: without the second interrupt the stage has 20 seconds of grace.
    assert!(asked.elapsed() < Duration::from_secs(10));
}

fn wait_for_log(sandbox: &Sandbox, count: usize) {
    for _ in 0..200 {
        let logs = std::fs::read_dir(sandbox.path().join("cache/logs"));
        if logs.map_or(0, Iterator::count) >= count {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the stage did not start");
}

/// One small training with a graph under it.
const TRAINING: &str = r#"Pipeline(name: "t", stages: {
    "images": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 256, seed: 0))), split: Train),
    "distances": Geodesic(data: "images", neighbors: 10),
    "train": Train(
        model: Pcae(latent: 4, network: Conv(channels: [8, 8]), beta: 1.0, gamma: Dynamic(threshold: 0.9, every: Steps(50))),
        data: "images", distances: "distances", length: Steps(2000), batch_size: 64,
        optimizer: Adam(rate: 1e-3), schedule: FlatThenCosine(flat: 0.5), seed: 3,
    ),
})"#;

#[test]
fn an_interrupted_or_killed_training_ends_with_the_same_bytes() {
    let reference = Sandbox::new(TRAINING);
    reference.run().ok();
    for signal in ["-INT", "-KILL"] {
        let sandbox = Sandbox::new(TRAINING);
        let mut runner = sandbox
            .command(&["pipeline.ron", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_progress(&mut runner, "\"done\":200");
        send(signal, runner.id().cast_signed());
        let status = runner.wait().unwrap();
        assert!(status.code() == Some(130) || status.signal() == Some(9), "{status:?}");
        assert!(sandbox.results().len() < 3, "it was not done yet");
        let resumed = sandbox.run().ok();
        assert_eq!(resumed.executed(), ["train"]);
        let first = resumed.events().into_iter().find(|event| event["event"] == "stage-progress");
        let first = first.unwrap()["progress"]["done"].as_u64().unwrap();
        // How far back the last checkpoint lies depends on how long the disk takes for one.
        assert!(first > 0, "{signal}: it began again from nothing");
        assert_eq!(sandbox.results(), reference.results(), "{signal}");
        assert_eq!(timed_epochs(&sandbox), timed_epochs(&reference), "{signal}");
    }
}

/// Returns how many epochs of trainings were timed.
fn timed_epochs(sandbox: &Sandbox) -> usize {
    let count = |path: &PathBuf| {
        let entry: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        entry["run"]["measured"]["epoch_seconds"].as_array().map_or(0, Vec::len)
    };
    files(&sandbox.path().join("cache/entries")).iter().map(count).sum()
}

/// Every model, trained for twelve epochs.
const MODELS: [(&str, &str); 9] = [
    ("ae", "Ae(latent: 3, network: Conv(channels: [4, 4], batch_norm: true))"),
    ("ard-vae", "ArdVae(latent: 3, network: Conv(channels: [4, 4]), beta: 1.0, prior_samples: 32)"),
    ("hae", "Hae(latent: 3, network: Conv(channels: [4, 4]))"),
    (
        "hae-sampled",
        "Hae(latent: 3, network: Conv(channels: [4, 4]), prefixes: Sampled(ratio: 0.9))",
    ),
    ("irmae", "Irmae(latent: 3, network: Conv(channels: [4, 4]))"),
    ("pca", "Pca(latent: 3)"),
    ("pca-ae", "PcaAe(latent: 3, network: Conv(channels: [4, 4]))"),
    (
        "pcae",
        "Pcae(latent: 3, network: Conv(channels: [4, 4]), beta: 1.0, gamma: Dynamic(threshold: 0.9, every: Epochs(2)))",
    ),
    ("vae", "Vae(latent: 3, network: Conv(channels: [4, 4]))"),
];

fn training_of(model: &str, epochs: usize) -> String {
    format!(
        r#"Pipeline(name: "t", stages: {{
            "images": Dataset(source: Dsprites(Render(size: 8, factors: Continuous(samples: 96, seed: 0))), split: Train),
            "distances": Geodesic(data: "images", neighbors: 5),
            "train": Train(model: {model}, data: "images", distances: "distances",
                length: Epochs({epochs}), batch_size: 16, optimizer: Adam(rate: 1e-3), seed: 3),
        }})"#
    )
}

#[test]
fn every_model_killed_in_every_epoch_ends_with_the_same_bytes() {
    for (name, model) in MODELS {
        let pipeline = training_of(model, 12);
        let reference = Sandbox::new(&pipeline);
        reference.run().ok();
        let sandbox = Sandbox::new(&pipeline);
        for epoch in 1..=12 {
            let mut runner = sandbox
                .command(&["pipeline.ron", "--json"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // A run that has ended before its epoch came is one that nothing could disturb.
            if sees_progress(&mut runner, &format!("\"done\":{epoch},\"total\":")) {
                send("-KILL", runner.id().cast_signed());
            }
            runner.wait().unwrap();
        }
        sandbox.run().ok();
        assert_eq!(sandbox.results(), reference.results(), "{name}");
    }
}

#[test]
fn a_longer_training_goes_on_from_a_shorter_one_to_the_same_bytes() {
    let model = MODELS.iter().find(|(name, _)| *name == "pcae").unwrap().1;
    let reference = Sandbox::new(&training_of(model, 12));
    reference.run().ok();
    let sandbox = Sandbox::new(&training_of(model, 5));
    sandbox.run().ok();
    sandbox.write("pipeline.ron", &training_of(model, 12));
    let longer = sandbox.run().ok();
    assert_eq!(longer.executed(), ["train"]);
    let first = longer.events().into_iter().find(|event| event["event"] == "stage-progress");
    assert_eq!(first.unwrap()["progress"]["done"], 5, "it went on after the fifth epoch");
    assert_eq!(timed_epochs(&sandbox), 5 + 12, "the longer one took five over");
    let expected = reference.results();
    let found = sandbox.results();
    assert!(expected.iter().all(|(key, result)| found.get(key) == Some(result)), "the same bytes");
    // The same again with a rate that follows the length: nothing to go on from.
    let falling =
        |epochs| training_of(model, epochs).replace("seed: 3)", "seed: 3, schedule: Cosine)");
    for epochs in [5, 12] {
        sandbox.write("pipeline.ron", &falling(epochs));
        let events = sandbox.run().ok().events();
        let first = events.into_iter().find(|event| event["event"] == "stage-progress").unwrap();
        assert_eq!(first["progress"]["done"], 0, "it began with {epochs} epochs");
    }
}

fn sees_progress(runner: &mut Child, mark: &str) -> bool {
    use std::io::{BufRead, BufReader};
    let output = runner.stdout.take().unwrap();
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let seen = lines.any(|line| line.contains(mark));
    // Keep the pipe open: a closed one would be another disturbance.
    thread::spawn(move || lines.for_each(drop));
    seen
}

fn wait_for_progress(runner: &mut Child, mark: &str) {
    assert!(sees_progress(runner, mark), "no {mark}");
}

#[test]
fn a_training_has_the_same_bytes_with_any_number_of_threads() {
    // Batches and channels as in the quickstart: large enough that matrix products are split.
    let text = TRAINING
        .replace("samples: 256", "samples: 512")
        .replace("channels: [8, 8]", "channels: [16, 32]")
        .replace("batch_size: 64", "batch_size: 256")
        .replace("Steps(2000)", "Steps(40)");
    let (one, two) = (Sandbox::new(&text), Sandbox::new(&text));
    one.run_with(&["-j", "1", "--device-jobs", "1"]).ok();
    two.run_with(&["-j", "4", "--device-jobs", "4"]).ok();
    assert_eq!(one.results(), two.results());
}
