use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pcae::engine::pipeline::diagnostic::{Style, draw};
use pcae::engine::pipeline::search_paths::FileProbe;
use pcae::engine::pipeline::source::Source;
use pcae::engine::plan::Plan;
use pcae::stages::AnyStage;

use crate::sandbox::Sandbox;

/// Draws the mistakes of a pipeline text.
fn drawing(name: &str, text: &str) -> String {
    let source = Source::new(name, text);
    match Plan::<AnyStage>::load(&source, &FileProbe::Search) {
        Ok(_) => "no mistakes".to_owned(),
        Err(mistakes) => draw(&source, &mistakes, Style::Plain),
    }
}

#[test]
fn every_bad_pipeline_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_pipelines");
    let mut count = 0;
    for item in fs::read_dir(&folder).unwrap() {
        let path = item.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ron") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = drawing(&name, &fs::read_to_string(&path).unwrap());
        insta::with_settings!({
            snapshot_path => &folder, prepend_module_to_snapshot => false, omit_expression => true,
            // A new kind changes the list of all kinds, and no one else's message.
            filters => vec![("valid here: `Classify`, .*, and [0-9]+ more", "valid here: [KINDS]")],
        }, {
            insta::assert_snapshot!(name.trim_end_matches(".ron"), text);
        });
        count += 1;
    }
    assert!(count >= 20, "only {count} bad pipelines were found");
}

#[test]
fn a_prior_that_leaves_little_to_learn_from_is_warned_of_but_stops_nothing() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", axes: {"seed": [0, 1]}, stages: {
    "images": Dataset(
        source: Dsprites(Render(size: 8, factors: Continuous(samples: 40, seed: 0))), split: Train,
    ),
    "train-{seed}": Train(
        model: ArdVae(latent: 2, network: Conv(channels: [4]), beta: 1, prior_samples: 30),
        data: "images", length: Steps(2), batch_size: 8, optimizer: Adam(rate: 1e-3),
        seed: Axis(seed),
    ),
})"#,
    );
    for call in [&["plan", "pipeline.ron"][..], &["pipeline.ron"]] {
        let stderr = sandbox.call(call).ok().stderr;
        assert_eq!(stderr.matches("warning:").count(), 1, "once for all seeds: {stderr}");
        for part in [
            "warning: each epoch sets 30 of 40 samples aside for the prior, and learns from 10",
            "pipeline.ron:6:88",
            "help: set at most half of the samples aside",
        ] {
            assert!(stderr.contains(part), "{stderr}");
        }
    }
    sandbox.edit("prior_samples: 30", "prior_samples: 20");
    let stderr = sandbox.call(&["plan", "pipeline.ron"]).ok().stderr;
    assert!(!stderr.contains("warning"), "{stderr}");
}

#[test]
fn an_axis_that_nothing_uses_is_warned_of() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", axes: {"seed": [0, 1], "few": First("seed", 1), "sede": [2]}, stages: {
            "one-{few}": Command(args: ["touch", "out"], outputs: ["out"]),
        })"#,
    );
    for call in [&["plan", "pipeline.ron"][..], &["pipeline.ron"]] {
        let stderr = sandbox.call(call).ok().stderr;
        assert_eq!(stderr.matches("warning:").count(), 1, "{stderr}");
        assert!(stderr.contains("warning: no stage uses the axis `sede`"), "{stderr}");
        assert!(stderr.contains("pipeline.ron:1:69"), "{stderr}");
    }
}

#[test]
fn what_does_not_exist_is_answered_with_the_nearest_that_does() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", axes: {"seed": [0, 1]}, scales: {"laptop": (x: 1), "paper": (x: 2)}, scale: "laptop",
            stages: {"train-{seed}": Command(args: ["touch", "out"], outputs: ["out"])})"#,
    );
    for (args, hint) in [
        (&["staus"][..], "did you mean the command `pcae-run status`?"),
        (&["pipelin.ron"], "did you mean `pipeline.ron`?"),
        (&["pipeline"], "did you mean `pipeline.ron`?"),
        (&["pipeline.ron", "--only", "trian-*"], "did you mean `train-*`?"),
        (&["pipeline.ron", "--until", "tran-1"], "did you mean `train-1`?"),
        (&["why", "trein-0", "pipeline.ron"], "did you mean `train-0`?"),
        (&["pipeline.ron", "--scale", "labtop"], "did you mean `laptop`?"),
        (&["pipeline.ron", "--on-error", "continu"], "continue"),
        (&["pipeline.ron", "--onyl", "x"], "--only"),
        (&["cache", "stat"], "stats"),
        (&["explain", "Axes"], "did you mean `Axis`?"),
    ] {
        let refused = sandbox.call(args).fails_with(2);
        assert!(refused.stderr.contains(hint), "{args:?}: {}", refused.stderr);
    }
    let json = sandbox.call(&["--json", "pipeline.ron", "--onyl", "x"]).fails_with(2).events();
    assert_eq!(json[0]["error"]["kind"], "usage");
    assert!(json[0]["error"]["hints"][0].as_str().unwrap().contains("--only"), "{json:?}");
    sandbox.edit("stages:", "limits: {\"tarin-*\": Limits(retries: 1)}, stages:");
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("did you mean `train-*`?"), "{}", refused.stderr);
}

#[test]
fn a_record_that_is_none_is_told_by_stage_and_field() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "score": Command(
                args: ["sh", "-c", "echo '{\"a\": 1, \"loss\": NaN}' > record.json"],
                outputs: ["record.json"], yields: "record",
            ),
        })"#,
    );
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    assert!(failed.stderr.contains("failed: score: "), "{}", failed.stderr);
    assert!(failed.stderr.contains("the field `loss` has the value NaN"), "{}", failed.stderr);
    let page = sandbox.call(&["explain", "Command"]).ok().stdout;
    assert!(page.contains("{\"dimension\": 4, \"variances\": [2.5, 1.0]"), "{page}");
}

#[test]
fn an_unknown_kind_is_answered_with_the_kinds_that_there_are() {
    const SHOWN: usize = 12;
    let (shown, more) = AnyStage::KINDS.split_at(SHOWN);
    let help = format!("valid here: `{}`, and {} more\n", shown.join("`, `"), more.len());
    let text = r#"Pipeline(name: "p", stages: {"other": Nonsense()})"#;
    let drawn = drawing("p.ron", text);
    assert!(drawn.contains(&help), "{drawn}");
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    for (open, close) in [("[", "]"), ("(", ")"), ("Some(", ")"), ("{\"a\":", "}")] {
        let deep = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        let text = format!(r#"Pipeline(name: "p", stages: {{"a": Command(args: {deep})}})"#);
        let drawn = drawing("deep.ron", &text);
        assert!(
            drawn.starts_with("error: brackets are nested more than 64 deep"),
            "{}",
            &drawn[..200]
        );
    }
}

#[test]
fn huge_and_odd_files_are_refused_with_one_line() {
    let sandbox = Sandbox::new("");
    let huge = fs::File::create(sandbox.path().join("pipeline.ron")).unwrap();
    huge.set_len(100 << 20).unwrap();
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("has 104857600 bytes"), "{}", refused.stderr);
    fs::write(sandbox.path().join("pipeline.ron"), [0xff, 0xfe, 0]).unwrap();
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("can't read the pipeline file"), "{}", refused.stderr);
    let missing = sandbox.call(&["nowhere.ron"]).fails_with(2);
    assert!(missing.stderr.contains("can't read the pipeline file `nowhere.ron`"));
}

/// Runs the program, which must end by itself with an error; returns what it printed for people.
fn refused_at_once(sandbox: &Sandbox, args: &[&str]) -> String {
    let mut command = sandbox.command(args);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_mins(1) {
            child.kill().unwrap();
            panic!("{args:?} waits without end");
        }
        thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success(), "{args:?} succeeded");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_is_no_regular_file_is_refused_and_never_waited_for() {
    let sandbox = Sandbox::new("");
    let make_pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(sandbox.path().join(name)).status().unwrap();
        assert!(made.success());
    };
    fs::create_dir(sandbox.path().join("folder")).unwrap();
    for name in ["pipe", "pipe.csv", "folder/pipe", "folder/pipe.csv"] {
        make_pipe(name);
    }
    let _listener = UnixListener::bind(sandbox.path().join("socket")).unwrap();
    for (file, kind) in
        [("./pipe", "a named pipe"), ("./socket", "a socket"), ("/dev/zero", "a device")]
    {
        let message = refused_at_once(&sandbox, &[file]);
        let expected = format!("`{file}`: it is {kind}, not a regular file");
        assert!(message.contains(&expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    for (fields, expected) in [
        ("files: [\"pipe\"],", "`pipe` is a named pipe, not a regular file"),
        ("files: [\"socket\"],", "`socket` is a socket, not a regular file"),
        ("files: [\"/dev/zero\"],", "`/dev/zero` is a device, not a regular file"),
        ("files: [\"folder\"],", "it is a named pipe, not a regular file"),
    ] {
        sandbox.write(
            "pipeline.ron",
            &format!(
                "Pipeline(name: \"p\", stages: {{
                    \"a\": Command(args: [\"true\"], {fields} outputs: [\"out\"]),
                }})"
            ),
        );
        let message = refused_at_once(&sandbox, &["pipeline.ron"]);
        assert!(message.contains(expected), "{message}");
    }
    sandbox.write(
        "pipeline.ron",
        r#"Pipeline(name: "p", notes: {"n": "pipe"}, stages: {
            "a": Command(args: ["true"], outputs: ["out"]),
        })"#,
    );
    let message = refused_at_once(&sandbox, &["pipeline.ron"]);
    assert!(message.contains("these notes can't be read: it is a named pipe"), "{message}");
    for args in [["init", "pipe.csv", "--out=new.ron"], ["diff", "folder", "folder"]] {
        let message = refused_at_once(&sandbox, &args);
        assert!(message.contains("it is a named pipe, not a regular file"), "{message}");
    }
}

#[test]
fn a_short_file_can_not_ask_for_more_than_there_is() {
    let list = |item: &dyn Fn(usize) -> String| (0..16).map(item).collect::<Vec<_>>();
    let labels = list(&|label| label.to_string()).join(", ");
    let axes = list(&|axis| format!("\"x{axis}\": [{labels}]")).join(", ");
    let name = list(&|axis| format!("{{x{axis}}}")).join("-");
    let text = format!(
        "Pipeline(name: \"p\", axes: {{{axes}}}, stages: {{
            \"{name}\": Command(args: [\"true\"], outputs: [\"out\"]),
        }})"
    );
    let drawn = drawing("p.ron", &text);
    assert!(drawn.starts_with("error: this makes more than 100000 stages\n"), "{drawn}");
    let mut shared = "\"v0\": [\"x\"]".to_owned();
    for depth in 1..8 {
        let inner = format!("Shared(v{}), ", depth - 1).repeat(60);
        shared = format!("{shared}, \"v{depth}\": [{inner}]");
    }
    let text = format!(
        "Pipeline(name: \"p\", shared: {{{shared}}}, stages: {{
            \"a\": Command(args: Shared(v7), outputs: [\"out\"]),
        }})"
    );
    let drawn = drawing("p.ron", &text);
    let expected = "error: with all values put in, this stage is larger than 1 MB\n";
    assert!(drawn.starts_with(expected), "{drawn}");
}

#[test]
fn a_family_stays_in_its_folder() {
    let text = r#"Pipeline(name: "p", axes: {"n": {"..": 1, "ok": 2}}, stages: {
        "one-{n}": Command(args: ["touch", "out"], outputs: ["out"]),
        "all": Command(args: ["ls"], families: {"x": Each("one-{n}")}, outputs: ["out"]),
    })"#;
    let drawn = drawing("p.ron", text);
    assert!(drawn.starts_with("error: `..` can't be a label\n"), "{drawn}");
    assert!(drawn.contains("start with a letter or a digit"), "{drawn}");
}

#[test]
fn nothing_runs_when_there_is_a_mistake() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "good": Command(args: ["touch", "out"], outputs: ["out"]),
            "bad": Command(args: ["true"], inputs: {"x": "god"}, outputs: ["out"]),
        })"#,
    );
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("did you mean `good`?"), "{}", refused.stderr);
    assert!(!sandbox.path().join("cache").exists());
}
