use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{SUMS, Sandbox, files};

#[test]
fn a_second_run_executes_nothing() {
    let sandbox = Sandbox::new(SUMS);
    let first = sandbox.run().ok();
    assert_eq!(first.executed().len(), 5);
    assert_eq!(first.reason("total"), "first run");
    let second = sandbox.run().ok();
    assert_eq!(second.summary()["executed"], 0);
    assert_eq!(second.summary()["cached"], 5);
    let plain = sandbox.call(&["pipeline.ron"]).ok();
    assert!(
        plain.stderr.contains("nothing to do: 5 stages cached, 0 executed"),
        "{}",
        plain.stderr
    );
}

#[test]
fn a_changed_value_reruns_what_depends_on_it_and_says_why() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    sandbox.edit(r#""two": "2""#, r#""two": "3""#);
    let run = sandbox.run().ok();
    assert_eq!(run.executed(), ["number-two", "square-two", "total"]);
    assert_eq!(run.reason("number-two"), r#"args[3] "2" -> "3""#);
    assert_eq!(run.reason("square-two"), "inputs.x changed (number-two)");
    assert_eq!(run.reason("total"), "families.all: 1 of 2 changed");
    sandbox.edit(r#""two": "3""#, r#""two": "2""#);
    assert_eq!(sandbox.run().ok().summary()["executed"], 0, "reverted");
}

#[test]
fn an_unchanged_output_stops_the_rerun() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    sandbox.edit("echo made $0", "echo other words $0");
    let mut executed = sandbox.run().ok().executed();
    executed.sort();
    assert_eq!(executed, ["number-one", "number-two"]);
}

#[test]
fn names_comments_and_order_are_not_in_keys() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    sandbox.edit("square-", "power-");
    sandbox.edit(r#"name: "sums""#, "// a comment\n    name: \"other\"");
    sandbox.edit(r#"args: ["sh", "-c", "cat inputs/all/*/square > total"],"#, "");
    sandbox.edit(
        r#"outputs: ["total"],"#,
        r#"outputs: ["total"], args: ["sh", "-c", "cat inputs/all/*/square > total"],"#,
    );
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
}

#[test]
fn jobs_do_not_change_bytes() {
    let (one, four) = (Sandbox::new(SUMS), Sandbox::new(SUMS));
    one.run_with(&["-j", "1"]).ok();
    four.run_with(&["-j", "4"]).ok();
    assert_eq!(one.results(), four.results());
    assert_eq!(one.objects(), four.objects());
}

#[test]
fn a_declared_file_is_followed_by_content_and_not_by_time() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "copy": Command(args: ["cp", "note.txt", "out"], files: ["note.txt"], outputs: ["out"]),
        })"#,
    );
    sandbox.write("note.txt", "first");
    sandbox.run().ok();
    let file = fs::File::open(sandbox.path().join("note.txt")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(sandbox.run().ok().summary()["executed"], 0, "touched");
    // Same length, same time: only the bytes tell.
    sandbox.write("note.txt", "secon");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let run = sandbox.run().ok();
    assert_eq!(run.executed(), ["copy"]);
    assert!(run.reason("copy").starts_with("file note.txt "), "{}", run.reason("copy"));
}

#[test]
fn declared_variables_are_in_the_key_and_others_do_not_reach_the_program() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "env": Command(args: ["sh", "-c", "echo $SEEN:$HIDDEN > out"], env: ["SEEN"], outputs: ["out"]),
        })"#,
    );
    let run = |seen: &str| {
        for args in [&["pipeline.ron"][..], &["export", "env", "out"]] {
            let mut command = sandbox.command(args);
            let status = command.env("SEEN", seen).env("HIDDEN", "no").status();
            assert!(status.unwrap().success());
        }
        sandbox.read("out/out")
    };
    assert_eq!(run("a"), "a:\n");
    assert_eq!(run("b"), "b:\n");
    assert_eq!(sandbox.results().len(), 2);
}

#[test]
fn an_input_edited_during_the_run_is_not_published() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "slow": Command(args: ["sh", "-c", "sleep 1; cp note.txt out"], files: ["note.txt"], outputs: ["out"]),
        })"#,
    );
    sandbox.write("note.txt", "before");
    let child = sandbox.command(&["pipeline.ron"]).stderr(std::process::Stdio::piped()).spawn();
    std::thread::sleep(std::time::Duration::from_millis(500));
    sandbox.write("note.txt", "after!");
    let output = child.unwrap().wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("note.txt` changed while the stage ran"), "{stderr}");
    assert!(sandbox.results().is_empty());
    sandbox.run().ok();
    assert_eq!(sandbox.results().len(), 1);
}

#[test]
fn a_damaged_file_is_a_miss_with_one_line() {
    for damage in ["", "other bytes"] {
        let sandbox = Sandbox::new(SUMS);
        sandbox.run().ok();
        let before = sandbox.objects();
        let object = files(&sandbox.path().join("cache/objects")).remove(0);
        fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&object, damage).unwrap();
        sandbox.call(&["cache", "verify"]).fails_with(5);
        let run = sandbox.call(&["pipeline.ron"]).ok();
        assert_eq!(
            run.stderr.matches("can't be used and will be recomputed").count(),
            1,
            "{}",
            run.stderr
        );
        assert_eq!(sandbox.objects(), before);
        sandbox.call(&["cache", "verify"]).ok();
    }
}

#[test]
fn a_missing_file_is_made_again() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let before = sandbox.objects();
    for object in files(&sandbox.path().join("cache/objects")) {
        fs::remove_file(object).unwrap();
    }
    sandbox.run().ok();
    assert_eq!(sandbox.objects(), before);
}

/// Removes the index of the cache, as if it had been lost.
fn lose_index(sandbox: &Sandbox) {
    for path in files(&sandbox.path().join("cache")) {
        if path.file_name().unwrap().to_string_lossy().starts_with("index.sqlite") {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn the_index_can_be_lost() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    lose_index(&sandbox);
    let rebuilt = sandbox.call(&["cache", "rebuild"]).ok();
    assert!(rebuilt.stdout.contains("5 results"), "{}", rebuilt.stdout);
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
}

#[test]
fn a_run_puts_results_into_the_index_that_it_lacks() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    lose_index(&sandbox);
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
    let stats = sandbox.call(&["cache", "stats", "--json"]).ok();
    assert!(stats.stdout.contains(r#""entries":5"#), "{}", stats.stdout);
}

#[test]
fn selections_run_what_they_say() {
    let sandbox = Sandbox::new(SUMS);
    let only = sandbox.call(&["pipeline.ron", "--only", "total"]).fails_with(1);
    assert!(only.stderr.contains("`square-one` is not cached"), "{}", only.stderr);
    let until = sandbox.run_with(&["--until", "square-one"]).ok();
    assert_eq!(until.executed(), ["number-one", "square-one"]);
    let from = sandbox.run_with(&["--from", "square-*"]).ok();
    assert_eq!(from.executed(), ["number-two", "square-two", "total"]);
    let force = sandbox.run_with(&["--force", "square-one"]).ok();
    assert_eq!(force.executed(), ["square-one"], "its output is the same, so nothing follows");
    assert_eq!(force.reason("square-one"), "forced");
    let typo = sandbox.call(&["pipeline.ron", "--only", "totl"]).fails_with(2);
    assert!(typo.stderr.contains("did you mean `total`?"), "{}", typo.stderr);
}

#[test]
fn stages_with_one_key_share_one_execution() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", axes: {"twin": [1, 2, 3, 4, 5, 6, 7, 8], "group": [1, 2, 3, 4, 5]}, stages: {
            "s-{group}-{twin}": Command(args: ["sh", "-c", "echo {group} > out"], outputs: ["out"]),
        })"#,
    );
    let run = sandbox.run_with(&["-j", "8"]).ok();
    assert_eq!(run.summary()["executed"], 5);
    assert_eq!(run.summary()["cached"], 35);
}

#[test]
fn families_keep_members_whose_labels_could_be_confused() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", axes: {"a": ["p", "p-q"], "b": ["q-r", "r"]}, stages: {
            "s-{a}.{b}": Command(args: ["sh", "-c", "echo {a}/{b} > out"], outputs: ["out"]),
            "all": Command(args: ["sh", "-c", "cat inputs/f/*/*/out > out"], families: {"f": Each("s-{a}.{b}")}, outputs: ["out"]),
        })"#,
    );
    sandbox.run().ok();
    sandbox.call(&["export", "all", "there"]).ok();
    assert_eq!(sandbox.read("there/out"), "p-q/q-r\np-q/r\np/q-r\np/r\n");
}

#[test]
fn an_odd_environment_does_not_matter() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new(SUMS);
    let mut command = sandbox.command(&["pipeline.ron"]);
    command.env("BAD", OsStr::from_bytes(b"\xff"));
    assert!(command.status().unwrap().success());
}

#[test]
fn a_large_damaged_file_is_found_with_verify_and_made_again() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "large": Command(args: ["sh", "-c", "head -c 200000 /dev/zero > out"], outputs: ["out"]),
        })"#,
    );
    sandbox.run().ok();
    let before = sandbox.objects();
    let object = files(&sandbox.path().join("cache/objects")).remove(0);
    let mut bytes = fs::read(&object).unwrap();
    bytes[100_000] = 1;
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&object, bytes).unwrap();
    let run = sandbox.run_with(&["--verify"]).ok();
    assert_eq!(run.executed(), ["large"]);
    assert_eq!(sandbox.objects(), before);
}

#[test]
fn what_a_program_leaves_running_can_not_touch_its_result() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "sly": Command(args: ["sh", "-c", "(sleep 1; echo evil) > out & sleep 0.2"], outputs: ["out"]),
        })"#,
    );
    sandbox.run().ok();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(sandbox.objects().into_values().collect::<Vec<_>>(), [Vec::<u8>::new()]);
}

#[test]
fn a_dry_run_follows_the_same_selection_as_a_run() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let planned = |args: &[&str]| {
        let args: Vec<_> = ["pipeline.ron", "-n", "--json"].iter().chain(args).copied().collect();
        let events = sandbox.call(&args).ok().events();
        let runs = events.iter().filter(|event| event["state"] == "stale");
        runs.map(|event| event["stage"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(planned(&["--force", "square-one"]), ["square-one"]);
    sandbox.edit(r#""two": "2""#, r#""two": "3""#);
    assert_eq!(planned(&[]), ["number-two"]);
    assert!(planned(&["--only", "number-one"]).is_empty());
    let outside = sandbox.call(&["pipeline.ron", "--only", "total", "--force", "number-one"]);
    assert!(outside.fails_with(2).stderr.contains("`--force` names `number-one`, but"));
}

#[test]
fn a_bad_record_is_the_fault_of_its_program() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "score": Command(args: ["sh", "-c", "echo '{\"x\": NaN}' > record.json"], outputs: ["record.json"], yields: "record"),
        })"#,
    );
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    assert!(failed.stderr.contains("failed: score: record.json is invalid"), "{}", failed.stderr);
    assert!(sandbox.results().is_empty());
}

#[test]
fn a_folder_can_be_an_output() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "tree": Command(args: ["sh", "-c", "mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b"], outputs: ["d"]),
            "read": Command(args: ["sh", "-c", "cat inputs/t/d/a inputs/t/d/e/b > out"], inputs: {"t": "tree"}, outputs: ["out"]),
        })"#,
    );
    sandbox.run().ok();
    sandbox.call(&["export", "read", "there"]).ok();
    assert_eq!(sandbox.read("there/out"), "1\n2\n");
}

#[test]
fn distances_of_other_images_are_refused() {
    let images = |name: &str, seed: u64| {
        format!(
            r#""{name}": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 64, seed: {seed}))), split: Train),"#
        )
    };
    let sandbox = Sandbox::new(&format!(
        r#"Pipeline(name: "p", stages: {{ {} {}
            "distances": Geodesic(data: "these", neighbors: 5),
            "train": Train(
                model: Pcae(latent: 2, network: Conv(channels: [4]), beta: 1.0, gamma: Fixed),
                data: "those", distances: "distances", length: Steps(1), batch_size: 32,
                optimizer: Adam(rate: 1e-3), seed: 0,
            ),
        }})"#,
        images("these", 1),
        images("those", 2),
    ));
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    assert!(failed.stderr.contains("were not computed from `data`"), "{}", failed.stderr);
}

const SCALES: &str = r#"Pipeline(
    name: "p",
    scales: {
        "small": (words: ["a"], text: "few", extra: Absent),
        "large": (words: ["a", "b"], text: "many", extra: Command(args: ["sh", "-c", "echo > out"], outputs: ["out"])),
    },
    scale: "small",
    axes: {"word": AtScale(words)},
    stages: {
        "same-{word}": Command(args: ["sh", "-c", "echo $0 > out", Axis(word)], outputs: ["out"]),
        "own-{word}": Command(args: ["sh", "-c", "echo $0 $1 > out", Axis(word), AtScale(text)], outputs: ["out"]),
        "extra": AtScale(extra),
        "all": Command(args: ["sh", "-c", "cat inputs/*/*/out > out"], families: {"own": Each("own-{word}"), "extra": Each("extra")}, outputs: ["out"]),
    },
)"#;

#[test]
fn scales_of_one_file_share_what_they_have_in_common() {
    let sandbox = Sandbox::new(&SCALES.replace(r#", "extra": Each("extra")"#, ""));
    let small = sandbox.call(&["pipeline.ron"]).ok();
    assert!(small.stderr.contains("scale: small (choose another with `--scale`: large)"));
    assert!(sandbox.path().join("reports/p-small/index.html").exists());
    let mut large = sandbox.run_with(&["--scale", "large"]).ok().executed();
    large.sort();
    assert_eq!(large, ["all", "extra", "own-a", "own-b", "same-b"]);
    assert!(sandbox.path().join("reports/p-large/index.html").exists());
    // Collected at one scale, the results of the other stay.
    sandbox.call(&["gc", "pipeline.ron", "--delete"]).ok();
    assert_eq!(sandbox.run_with(&["--scale", "large"]).ok().summary()["executed"], 0);
    let against = sandbox.call(&["plan", "pipeline.ron", "--against", "large"]).ok();
    assert_eq!(
        against.stdout,
        "only at large: extra (1)\nonly at large: own-{word} (1)\nonly at large: same-{word} (1)\n\
         own-{word}\n  args[4]: \"few\" at small, \"many\" at large\n"
    );
    let unknown = sandbox.call(&["pipeline.ron", "--scale", "largest"]).fails_with(2);
    assert!(unknown.stderr.contains("no scale is named `largest`"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("`large`"), "{}", unknown.stderr);
}

#[test]
fn a_stage_that_a_scale_lacks_is_left_out_of_families_and_missed_elsewhere() {
    let sandbox = Sandbox::new(SCALES);
    sandbox.run().ok();
    sandbox.edit(
        r#"families: {"own": Each("own-{word}"), "extra": Each("extra")}"#,
        r#"inputs: {"x": "extra"}"#,
    );
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    let message = "`extra` does not exist at the scale `small`";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
}
