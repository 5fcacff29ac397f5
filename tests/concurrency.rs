use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::sandbox::{RECORDS, SUMS, Sandbox};

/// A pipeline whose stages leave a line in a file outside whenever they really run.
fn counting(sandbox: &Sandbox) -> String {
    let counter = sandbox.path().join("executions");
    let counter = counter.to_str().unwrap();
    r#"Pipeline(name: "counting", axes: {"n": [1, 2, 3, 4]}, stages: {
        "first-{n}": Command(args: ["sh", "-c", "echo first-{n} >> COUNTER; echo {n} > out"], outputs: ["out"]),
        "second-{n}": Command(
            args: ["sh", "-c", "echo second-{n} >> COUNTER; cat inputs/x/out inputs/x/out > out"],
            inputs: {"x": "first-{n}"}, outputs: ["out"],
        ),
    })"#
    .replace("COUNTER", counter)
}

#[test]
fn four_runners_compute_each_key_once() {
    for round in 0..20 {
        let sandbox = Sandbox::new("");
        sandbox.write("pipeline.ron", &counting(&sandbox));
        let runners: Vec<_> = (0..4)
            .map(|_| {
                let mut command = sandbox.command(&["pipeline.ron", "-j", "3", "--json"]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let mut executed = 0;
        for runner in runners {
            let output = runner.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "round {round}: {text}{stderr}");
            executed += text.matches(r#""outcome":"executed""#).count();
        }
        let mut lines: Vec<_> = sandbox.read("executions").lines().map(str::to_owned).collect();
        lines.sort();
        let count = lines.len();
        lines.dedup();
        assert_eq!((count, lines.len(), executed), (8, 8, 8), "round {round}");
    }
}

#[test]
fn a_lock_wait_can_be_bounded() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "slow": Command(args: ["sh", "-c", "sleep 3; echo > out"], outputs: ["out"]),
        })"#,
    );
    let mut holder = sandbox.command(&["pipeline.ron"]).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_millis(800));
    let waiting = sandbox.call(&["pipeline.ron", "--lock-timeout", "1"]).fails_with(75);
    assert!(waiting.stderr.contains("waited 1 s for another process"), "{}", waiting.stderr);
    assert!(holder.wait().unwrap().success());
}

#[test]
fn nothing_is_collected_while_a_run_is_going() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let [started, end] = ["started", "end"].map(|name| sandbox.path().join(name));
    let wait = format!(
        "touch {}; until [ -e {} ]; do sleep 0.05; done; echo > out",
        started.display(),
        end.display()
    );
    sandbox.write(
        "slow.ron",
        &format!(
            r#"Pipeline(name: "slow", stages: {{
                "slow": Command(args: ["sh", "-c", "{wait}"], outputs: ["out"]),
            }})"#
        ),
    );
    let mut runner = sandbox.command(&["slow.ron"]).stderr(Stdio::null()).spawn().unwrap();
    while !started.exists() {
        assert!(runner.try_wait().unwrap().is_none(), "the run ended before its stage began");
        thread::sleep(Duration::from_millis(20));
    }
    let busy = sandbox.call(&["gc", "slow.ron", "--delete"]).fails_with(75);
    assert!(busy.stderr.contains("a run is using this cache"), "{}", busy.stderr);
    fs::write(&end, "").unwrap();
    assert!(runner.wait().unwrap().success());
}

#[test]
fn collection_lists_first_and_keeps_what_is_reached() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    sandbox.edit(r#""two": "2""#, r#""two": "3""#);
    sandbox.run().ok();
    assert_eq!(sandbox.results().len(), 8);
    let listed = sandbox.call(&["gc", "pipeline.ron"]).ok();
    assert!(
        listed.stderr.starts_with("to delete: 3 results, 0 unreferenced files"),
        "{}",
        listed.stderr
    );
    assert_eq!(sandbox.results().len(), 8, "listing deletes nothing");
    let stray = sandbox.path().join("cache/objects/00/stray");
    fs::create_dir_all(stray.parent().unwrap()).unwrap();
    fs::write(&stray, "left by a killed process").unwrap();
    sandbox.call(&["gc", "--delete"]).ok();
    assert_eq!(sandbox.results().len(), 5);
    assert!(!stray.exists());
    sandbox.call(&["cache", "verify"]).ok();
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
}

#[test]
fn saved_state_is_shown_and_collected_when_no_stage_would_go_on_from_it() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let state = sandbox.path().join("cache/trajectories").join("ab".repeat(32));
    fs::create_dir_all(state.join("deep")).unwrap();
    fs::write(state.join("deep/checkpoint"), [0; 3000]).unwrap();
    let stats = sandbox.call(&["cache", "stats", "--json"]).ok().summary();
    assert_eq!((&stats["trajectories"], &stats["trajectory_bytes"]), (&1.into(), &3000.into()));
    let stats = sandbox.call(&["cache", "stats"]).ok();
    assert!(stats.stdout.contains("saved states      1"), "{}", stats.stdout);
    sandbox.call(&["cache", "verify"]).ok();
    sandbox.call(&["doctor"]).ok();
    let listed = sandbox.call(&["gc", "pipeline.ron"]).ok();
    assert!(listed.stdout.starts_with("abababab saved state"), "{}", listed.stdout);
    let counted =
        "to delete: 0 results, 0 unreferenced files, 0 abandoned files, 1 saved state (3.0 kB)";
    assert!(listed.stderr.starts_with(counted), "{}", listed.stderr);
    assert!(state.exists(), "listing deletes nothing");
    sandbox.call(&["gc", "pipeline.ron", "--delete"]).ok();
    assert!(!state.exists());
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
}

#[test]
fn collection_keeps_what_a_repaired_input_would_reach() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let number = sandbox.call(&["status", "pipeline.ron", "--json"]).ok();
    assert_eq!(number.events().len(), 5);
    for object in crate::sandbox::files(&sandbox.path().join("cache/objects")) {
        if fs::read(&object).unwrap() == b"2\n" {
            fs::remove_file(object).unwrap();
        }
    }
    sandbox.call(&["gc", "--delete"]).ok();
    assert_eq!(sandbox.results().len(), 5);
}

#[test]
fn an_interrupt_ends_the_wait_for_another_run() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "slow": Command(args: ["sh", "-c", "sleep 5; echo > out"], outputs: ["out"]),
        })"#,
    );
    let mut holder = sandbox.command(&["pipeline.ron"]).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_millis(800));
    let waiting = sandbox.command(&["pipeline.ron"]).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(800));
    crate::crash::send("-INT", waiting.id().cast_signed());
    let output = waiting.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("wait slow") && !stderr.contains("memory"), "{stderr}");
    assert!(holder.try_wait().unwrap().is_none(), "it did not wait for the other to finish");
    assert!(holder.wait().unwrap().success());
}

#[test]
fn runners_can_publish_the_same_report_at_once() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.run().ok();
    for round in 0..15 {
        let reports = format!("reports-{round}");
        let runners: Vec<_> = (0..4)
            .map(|_| {
                let mut command = sandbox.command(&["pipeline.ron", "--reports", &reports]);
                command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for runner in runners {
            let output = runner.wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "round {round}: {stderr}");
        }
    }
}
