use std::process::Stdio;

use crate::sandbox::{Outcome, RECORDS, SUMS, Sandbox};

#[test]
fn a_plan_says_what_would_run_why_and_how_long() {
    let sandbox = Sandbox::new(SUMS);
    let fresh = sandbox.call(&["plan", "pipeline.ron"]).ok();
    insta::assert_snapshot!(fresh.stdout, @r"
    5 stages: 0 cached, 2 to run, 3 depend on stages that will run
      run    number-one  first run
      later  square-one  waits for number-one
      run    number-two  first run
      later  square-two  waits for number-two
      later  total  waits for square-one and 1 more
    no history (fewer than 3 runs): Command (5)
    ");
    sandbox.run().ok();
    sandbox.edit(r#""two": "2""#, r#""two": "3""#);
    let plan = sandbox.call(&["pipeline.ron", "-n"]).ok();
    insta::with_settings!({filters => [(r"compute time .* \(", "compute time [..] (")]}, {
        insta::assert_snapshot!(plan.stdout, @r#"
        5 stages: 2 cached, 1 to run, 2 depend on stages that will run
          run    number-two  args[3] "2" -> "3"
          later  square-two  waits for number-two
          later  total  waits for square-two
        compute time [..] (history: 5 runs)
        "#);
    });
    assert_eq!(sandbox.results().len(), 5, "a plan runs nothing");
}

#[test]
fn why_compares_with_the_closest_key_for_misses_and_hits() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let hit = sandbox.call(&["why", "number-one"]).ok();
    let filters = [(r"[0-9a-f]{8}", "[key]"), (r"took [\d.]+ s", "took [time]")];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(hit.stdout, @r#"
        number-one [key] (line 5)  hit: cached
        closest other key [key] (number-two, just now, took [time]); 1 of 8 components differs
          args[3] "2" -> "1"
        "#);
    });
    sandbox.edit(r#""one": "1""#, r#""one": "7""#);
    let miss = sandbox.call(&["why", "number-one", "pipeline.ron"]).ok();
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(miss.stdout, @r#"
        number-one [key] (line 5)  miss: would run
        closest other key [key] (number-one, just now, took [time]); 1 of 8 components differs
          args[3] "1" -> "7"
        "#);
    });
    let waiting = sandbox.call(&["why", "total"]).ok();
    insta::assert_snapshot!(waiting.stdout, @r"
    total: its key depends on square-one, which would run first
    see `pcae-run why square-one`
    ");
}

#[test]
fn status_can_be_a_check() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.call(&["status", "pipeline.ron", "--check"]).fails_with(3);
    sandbox.run().ok();
    let status = sandbox.call(&["status", "--check"]).ok();
    assert_eq!(status.stdout.matches("cached").count(), 5, "{}", status.stdout);
}

#[test]
fn the_graph_has_every_stage_and_edge() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run_with(&["--until", "number-*"]).ok();
    insta::assert_snapshot!(sandbox.call(&["graph"]).ok().stdout, @r"
    [x] number-one
    [ ] square-one <- number-one
    [x] number-two
    [ ] square-two <- number-two
    [ ] total <- square-one, square-two
    ");
    insta::assert_snapshot!(sandbox.call(&["graph", "--mermaid"]).ok().stdout, @r#"
    flowchart LR
      s0["number-one"]
      s1["square-one"]
      s0 --> s1
      s2["number-two"]
      s3["square-two"]
      s2 --> s3
      s4["total"]
      s1 --> s4
      s3 --> s4
    "#);
    assert!(sandbox.call(&["graph", "--dot"]).ok().stdout.contains(r#""square-one" -> "total";"#));
}

#[test]
fn logs_and_files_can_be_had() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    assert_eq!(sandbox.call(&["log", "number-two"]).ok().stdout, "made 2\n");
    let exported = sandbox.call(&["export", "square-two", "there"]).ok();
    assert_eq!(exported.stdout, "there/root\nthere/square\n");
    assert_eq!(sandbox.read("there/square"), "4\n");
    sandbox.edit(r#""two": "2""#, r#""two": "9""#);
    let stale = sandbox.call(&["export", "square-two", "there"]).fails_with(2);
    assert!(stale.stderr.contains("has no cached result"), "{}", stale.stderr);
}

#[test]
fn a_failed_stage_says_what_happened_and_how_to_retry() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", limits: {"slow": Limits(timeout: 1)}, stages: {
            "code": Command(args: ["sh", "-c", "echo some words; exit 7"], outputs: ["out"]),
            "signal": Command(args: ["sh", "-c", "kill -SEGV $$"], outputs: ["out"]),
            "nothing": Command(args: ["touch", "other"], outputs: ["out"]),
            "nobody": Command(args: ["no-such-program"], outputs: ["out"]),
            "slow": Command(args: ["sleep", "60"], outputs: ["out"]),
            "after": Command(args: ["true"], inputs: {"x": "code"}, outputs: ["out"]),
        })"#,
    );
    let failed = sandbox.call(&["pipeline.ron", "--on-error", "continue"]).fails_with(1);
    for line in [
        "failed: code: `sh -c echo some words; exit 7` exited with code 7",
        "    some words",
        "  to retry only this stage: pcae-run pipeline.ron --until code",
        "was killed by signal 11",
        "the program did not write `out`; it wrote: other",
        "can't start `no-such-program`",
        "failed: slow: stopped after its time limit of 1 s",
        ": 0 executed, 0 cached, 1 not started",
        "finished with 5 failures in ",
    ] {
        assert!(failed.stderr.contains(line), "no `{line}` in:\n{}", failed.stderr);
    }
    let stop = sandbox.call(&["pipeline.ron", "-j", "8", "--on-error", "stop"]).fails_with(1);
    assert!(stop.stderr.contains("stop ["), "the slow one is stopped: {}", stop.stderr);
    let finish = sandbox.call(&["pipeline.ron", "-j", "1"]).fails_with(1);
    assert!(finish.stderr.contains("finished with 1 failure in "), "{}", finish.stderr);
    assert!(finish.stderr.contains("0 cached, 5 not started"), "{}", finish.stderr);
}

#[test]
fn a_flaky_stage_can_be_retried() {
    let sandbox = Sandbox::new("");
    let mark = sandbox.path().join("mark");
    sandbox.write(
        "pipeline.ron",
        &r#"Pipeline(name: "p", stages: {
            "flaky": Command(args: ["sh", "-c", "test -e MARK || { touch MARK; exit 1; }; echo > out"], outputs: ["out"]),
        })"#
        .replace("MARK", mark.to_str().unwrap()),
    );
    let retried = sandbox.call(&["pipeline.ron", "--retries", "1"]).ok();
    assert!(retried.stderr.contains("retrying `flaky`"), "{}", retried.stderr);
}

/// The smallest pipeline that trains, with the settings that a test is about.
fn tiny_training(settings: &str) -> String {
    r#"Pipeline(name: "p", stages: {
        "images": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 64, seed: 0))), split: Train),
        "distances": Geodesic(data: "images", neighbors: 5),
        "train": Train(
            model: Pcae(latent: 2, network: Conv(channels: [4]), beta: 1.0, gamma: Fixed),
            data: "images", distances: "distances", SETTINGS, seed: 0,
        ),
    })"#
    .replace("SETTINGS", settings)
}

#[test]
fn diverging_training_names_the_epoch() {
    let sandbox = Sandbox::new(&tiny_training(
        "length: Epochs(50), batch_size: 32, optimizer: Adam(rate: 1e30)",
    ));
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    let line = failed.stderr.lines().find(|line| line.starts_with("failed: train: ")).unwrap();
    assert!(line.contains("became NaN in epoch 1"), "{line}");
}

#[test]
fn read_commands_speak_json() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let calls: [&[&str]; 11] = [
        &["plan"],
        &["why", "total"],
        &["status"],
        &["graph"],
        &["log", "total"],
        &["export", "total", "out"],
        &["cache", "stats"],
        &["cache", "verify"],
        &["cache", "rebuild"],
        &["gc"],
        &["doctor"],
    ];
    for args in calls {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        let outcome = sandbox.call(&args).ok();
        assert!(args[0] == "gc" || !outcome.events().is_empty(), "{args:?}");
    }
}

#[test]
fn errors_are_json_too_and_keep_their_exit_code() {
    let sandbox = Sandbox::new(SUMS);
    let error = |args: &[&str], code| {
        let outcome = sandbox.call(args).fails_with(code);
        assert_eq!(outcome.stderr, "", "{args:?}");
        outcome.events().pop().unwrap()["error"].clone()
    };
    let expected = serde_json::json!({
        "kind": "usage", "exit_code": 2, "message": "`total` has no cached result",
        "hints": ["run `pcae-run pipeline.ron --until total`"],
    });
    assert_eq!(error(&["export", "total", "out", "pipeline.ron", "--json"], 2), expected);
    let unknown = error(&["status", "--no-such-option", "--json"], 2);
    assert_eq!(unknown["kind"], "usage");
    assert!(unknown["message"].as_str().unwrap().contains("--no-such-option"), "{unknown}");
    sandbox.edit("Command(", "Comand(");
    let invalid = error(&["pipeline.ron", "--json"], 2);
    assert_eq!(invalid["kind"], "invalid-pipeline");
    let place = &invalid["diagnostics"][0];
    assert_eq!((&place["file"], &place["line"]), (&"pipeline.ron".into(), &5.into()), "{place}");
    assert_eq!(place["hints"][0], "did you mean `Command`?");
}

#[test]
fn completions_and_manual_are_generated() {
    let sandbox = Sandbox::new(SUMS);
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.call(&["completions", shell]).ok().stdout;
        assert!(script.contains("pcae-run") && script.contains("trace"), "{shell}");
    }
    assert!(sandbox.call(&["manual"]).ok().stdout.contains(".TH pcae-run 1"));
}

#[test]
fn completions_and_the_manual_are_installed_where_shells_and_man_look() {
    let sandbox = Sandbox::new("");
    for (args, file) in [
        (&["completions", "bash"][..], ".local/share/bash-completion/completions/pcae-run"),
        (&["completions", "zsh"], ".local/share/zsh/site-functions/_pcae-run"),
        (&["completions", "fish"], ".config/fish/completions/pcae-run.fish"),
        (&["manual"], ".local/share/man/man1/pcae-run.1"),
    ] {
        let printed = sandbox.call(args).ok().stdout;
        let mut install = sandbox.command(&[args, &["--install"]].concat());
        install.env("HOME", sandbox.path()).env_remove("XDG_DATA_HOME");
        let installed = Outcome::of(install.env_remove("XDG_CONFIG_HOME").output().unwrap()).ok();
        let path = sandbox.path().join(file);
        assert_eq!(installed.stdout, format!("{}\n", path.display()));
        assert_eq!(sandbox.read(file).trim_end(), printed.trim_end());
    }
    let refused = sandbox.call(&["completions", "elvish", "--install"]).fails_with(2);
    assert!(refused.stderr.contains("pcae-run completions elvish"), "{}", refused.stderr);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let mut graph = sandbox.command(&["graph", "pipeline.ron"]);
    let mut child = graph.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}

#[test]
fn a_newer_cache_is_refused_politely() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    sandbox.write("cache/layout", "99\n");
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(5);
    assert!(refused.stderr.contains("use a newer pcae-run"), "{}", refused.stderr);
}

#[test]
fn an_own_program_can_feed_a_table_whose_cells_can_be_traced() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", axes: {"model": {"a": "1", "b": "2"}, "seed": [0, 2]}, stages: {
            "score-{model}-{seed}": Command(
                args: ["sh", "-c", "echo '{\"accuracy\": '$0'.'$1'}' > record.json", Axis(model), "{seed}"],
                outputs: ["record.json"], yields: "record",
            ),
            "accuracy": Table(
                records: [Each("score-{model}-{seed}")],
                caption: "Accuracy", label: "Table 9", rows: ["model"], over: ["seed"],
                values: [Value(field: "accuracy", title: "Acc.", best: Highest, published: {"a": (1.00, 0.50)})],
                titles: {"a": "Model A"},
            ),
        })"#,
    );
    let run = sandbox.call(&["pipeline.ron"]).ok();
    insta::assert_snapshot!(run.stdout, @r"
    Table 9. Accuracy
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    model          Acc. ↑    Acc. (published)
    ─────────────────────────────────────────
    Model A   1.10 ± 0.10~        1.00 ± 0.50
    b         2.10 ± 0.10*
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    Mean ± population standard deviation (divisor n) over seed, n = 2; published numbers as printed.
    * best
    ~ not told apart from the best (one-sided exact rank-sum test of the runs, 5 %)
    ");
    assert_eq!(sandbox.read("reports/own/accuracy.csv").lines().count(), 3);
    let trace = sandbox.call(&["trace", "accuracy", "Model A", "Acc."]).ok();
    let mut lines = trace.stdout.lines();
    assert_eq!(lines.next(), Some("accuracy / Model A / Acc.: 1.10 ± 0.10 over 2 runs"));
    for (run, stage) in [("  1.00, seed 0: ", " score-a-0  "), ("  1.20, seed 2: ", " score-a-2  ")]
    {
        let line = lines.next().unwrap();
        assert!(line.starts_with(run) && line.contains(stage), "{}", trace.stdout);
    }
    let wrong = sandbox.call(&["trace", "accuracy", "c", "accuracy"]).fails_with(2);
    let error = "error: the table has no row `c`\nhelp: its rows: `a` (Model A), `b`\n";
    assert!(wrong.stderr.ends_with(error), "{}", wrong.stderr);
}

#[test]
fn the_file_may_stand_before_the_command() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.write(
        "other.ron",
        r#"Pipeline(name: "o", stages: {"x": Command(args: ["true"], outputs: ["y"])})"#,
    );
    sandbox.run().ok();
    let before = sandbox.call(&["other.ron", "graph"]).ok();
    assert_eq!(before.stdout, "[ ] x\n");
    assert_eq!(sandbox.call(&["graph", "other.ron"]).ok().stdout, before.stdout);
    let last = sandbox.call(&["graph"]).ok();
    assert!(last.stdout.contains("number-one"));
    assert!(last.stderr.starts_with("pipeline: "), "it says which one it took: {}", last.stderr);
}

#[test]
fn a_chatty_stage_has_a_time_limit_too() {
    let sandbox = Sandbox::new(&tiny_training(
        "length: Epochs(1000000), batch_size: 64, optimizer: Adam(rate: 1e-3)",
    ));
    let failed = sandbox.call(&["pipeline.ron", "--timeout", "1"]).fails_with(1);
    assert!(
        failed.stderr.contains("train: stopped after its time limit of 1 s"),
        "{}",
        failed.stderr
    );
    assert!(failed.stderr.contains("end of its log"), "{}", failed.stderr);
}

#[test]
fn reports_of_an_earlier_run_are_named_when_their_stage_fails() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.run().ok();
    sandbox.edit("echo '", "exit 3; echo '");
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    assert!(
        failed.stderr.contains("out of date in reports/own, from an earlier run: t"),
        "{}",
        failed.stderr
    );
}

#[test]
fn a_cache_that_can_not_be_is_refused_with_advice() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.write("file", "not a folder");
    let refused = sandbox.call(&["pipeline.ron", "--cache", "file"]).fails_with(2);
    assert!(refused.stderr.contains("can't use `file` as the cache folder"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--cache DIR"), "{}", refused.stderr);
    sandbox.run().ok();
    sandbox.write("cache/index.sqlite", "garbage, and enough of it to look like a file");
    let damaged = sandbox.call(&["status", "pipeline.ron"]).fails_with(5);
    assert!(damaged.stderr.contains("`pcae-run cache rebuild`"), "{}", damaged.stderr);
    sandbox.call(&["cache", "rebuild"]).ok();
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
}

/// Returns whether a text has a character that a terminal would obey.
fn is_obeyed(text: &str) -> bool {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.contains(|c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c))
}

#[test]
fn escape_sequences_of_others_are_shown_and_not_obeyed() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", axes: {"seed": [0, 1]}, stages: {
            "score-{seed}": Command(
                args: ["sh", "-c", "printf '\\033]0;title\\007\\n'; echo '{\"a\": 1}' > record.json"],
                outputs: ["record.json"], yields: "record",
            ),
            "t": Table(
                records: [Each("score-{seed}")], caption: "\u{1b}[2Jcaption\u{202e}", label: "l",
                rows: ["seed"], values: [Value(field: "a", title: "\u{9b}1mA")],
            ),
        })"#,
    );
    let ran = sandbox.call(&["pipeline.ron"]).ok();
    assert!(ran.stdout.contains("␛[2Jcaption\u{fffd}"), "{}", ran.stdout);
    assert!(!is_obeyed(&ran.stdout) && !is_obeyed(&ran.stderr), "{ran:?}");
    let page = sandbox.read("reports/p/index.html");
    assert!(page.contains("␛[2Jcaption") && !is_obeyed(&page));
    assert_eq!(sandbox.call(&["log", "score-0"]).ok().stdout, "␛]0;title␇\n");
    let log = sandbox.call(&["log", "score-0", "--json"]).ok();
    assert_eq!(log.events()[0]["text"], "\u{1b}]0;title\u{7}\n", "JSON has it as it is");

    sandbox.edit("printf '", "exit 3; printf '");
    sandbox.edit("exit 3; ", "echo \\\"\u{1b}[31mred\\\"; exit 3; ");
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    assert!(failed.stderr.contains("␛[31mred"), "{}", failed.stderr);
    assert!(!is_obeyed(&failed.stderr), "{}", failed.stderr);
    for args in [["status", "\u{1b}[31m.ron"], ["why", "\u{1b}[31mstage"], ["--\u{1b}[31m", "x"]] {
        let refused = sandbox.call(&args).fails_with(2);
        assert!(refused.stderr.contains("␛[31m"), "{}", refused.stderr);
        assert!(!is_obeyed(&refused.stderr), "{}", refused.stderr);
    }
}

#[test]
fn doctor_lists_the_devices_of_this_build_and_how_to_get_others() {
    let page = Sandbox::new("").call(&["doctor"]).ok();
    let line = |name: &str| {
        let found = page.stdout.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("no `{name}` in:\n{}", page.stdout)).to_owned()
    };
    assert!(line("flex ").ends_with("found"));
    for (kind, feature) in [("libtorch-cuda ", "tch"), ("cuda ", "cuda"), ("wgpu ", "wgpu")] {
        let expected = format!("not in this build: build with `--features {feature}`");
        assert!(line(kind).ends_with(&expected), "{}", page.stdout);
    }
    assert!(page.stderr.contains("`--measure` trains the paper's networks"), "{}", page.stderr);
}

#[test]
fn doctor_measures_devices_and_predicts_what_a_pipeline_takes() {
    let sandbox = Sandbox::new(crate::sandbox::RECORDS);
    let lines = sandbox.call(&["doctor", "--measure", "pipeline.ron", "--json"]).ok().events();
    let flex = lines.iter().find(|line| line["device"] == "flex").unwrap();
    for network in ["dSprites", "3DShapes", "MNIST"] {
        assert!(flex["facts"]["samples_per_second"][network].as_f64().unwrap() > 0.0, "{flex}");
    }
    assert!(flex["facts"]["time"].as_str().unwrap().starts_with("pipeline.ron: "), "{flex}");
    let refused = sandbox.call(&["doctor", "pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("--measure"), "{}", refused.stderr);
}
