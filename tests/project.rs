use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::{Outcome, RECORDS, SUMS, Sandbox, files, program};

/// A project with `pipelines/sums.ron` in it, beside a folder `elsewhere`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new("");
    fs::create_dir_all(sandbox.path().join("project/pipelines")).unwrap();
    fs::create_dir(sandbox.path().join("elsewhere")).unwrap();
    sandbox.write("project/pipelines/sums.ron", SUMS);
    sandbox
}

fn call_in(folder: &Path, args: &[&str]) -> Outcome {
    Outcome::of(program().current_dir(folder).args(args).output().unwrap())
}

#[test]
fn a_pipeline_has_one_cache_from_wherever_it_is_named() {
    let sandbox = project();
    let root = sandbox.path().join("project");
    let first = call_in(&root, &["pipelines/sums.ron"]).ok();
    assert!(!first.stderr.contains("cache:"), "in the project's folder that is no news");
    assert!(root.join("cache/entries").is_dir() && root.join("reports/sums").is_dir());
    let whole = root.join("pipelines/sums.ron");
    for (folder, file, seen) in [
        ("project/pipelines", "sums.ron", "cache: ../cache\n"),
        ("elsewhere", "../project/pipelines/sums.ron", "cache: ../project/cache\n"),
        ("", "project/pipelines/sums.ron", "cache: project/cache\n"),
        ("elsewhere", whole.to_str().unwrap(), "cache: ../project/cache\n"),
    ] {
        let again = call_in(&sandbox.path().join(folder), &[file]).ok();
        assert!(again.stderr.contains("nothing to do: 5 stages cached"), "{}", again.stderr);
        assert!(again.stderr.starts_with(seen), "{folder}: {}", again.stderr);
        assert!(folder == "project" || !sandbox.path().join(folder).join("cache").exists());
        assert!(!sandbox.path().join(folder).join("reports").exists());
    }
    let higher = root.join("studies/other");
    fs::create_dir_all(&higher).unwrap();
    sandbox.write("project/studies/other/sums.ron", SUMS);
    let other = call_in(&higher, &["plan", "sums.ron"]).ok();
    assert!(other.stdout.contains(": 0 cached"), "a cache far above is another project's");
    let last = call_in(&root.join("pipelines"), &["status", "--check"]).ok();
    assert_eq!(last.stdout.matches("cached").count(), 5, "{}", last.stdout);
    let other = sandbox.path().join("elsewhere");
    let given = call_in(&other, &["plan", "../project/pipelines/sums.ron", "--cache", "own"]).ok();
    assert!(given.stdout.starts_with("5 stages: 0 cached"), "{}", given.stdout);
    assert!(!given.stderr.contains("cache:"), "{}", given.stderr);
}

#[test]
fn a_new_cache_is_made_in_the_projects_folder() {
    let sandbox = project();
    let elsewhere = sandbox.path().join("elsewhere");
    call_in(&elsewhere, &["../project/pipelines/sums.ron"]).ok();
    assert!(sandbox.path().join("project/cache/entries").is_dir());
    assert!(sandbox.path().join("project/reports/sums").is_dir());
    assert!(fs::read_dir(&elsewhere).unwrap().next().is_none(), "nothing is left elsewhere");
    sandbox.write("project/own.ron", SUMS);
    fs::remove_dir_all(sandbox.path().join("project/cache")).unwrap();
    call_in(&elsewhere, &["../project/own.ron", "--until", "number-one"]).ok();
    assert!(sandbox.path().join("project/cache/entries").is_dir(), "beside the file");
}

#[test]
fn commands_that_compute_nothing_make_no_cache() {
    let sandbox = Sandbox::new(SUMS);
    for (args, code) in [
        (&["plan", "pipeline.ron"][..], 0),
        (&["pipeline.ron", "-n"], 0),
        (&["status", "pipeline.ron"], 0),
        (&["why", "number-one", "pipeline.ron"], 0),
        (&["graph", "pipeline.ron"], 0),
        (&["log", "number-one", "pipeline.ron"], 2),
        (&["log", "0123456789abcdef", "pipeline.ron"], 2),
        (&["export", "number-one", "there", "pipeline.ron"], 2),
        (&["trace", "t", "r", "c", "pipeline.ron"], 2),
        (&["compare", "pipeline.ron"], 0),
        (&["report", "--check", "pipeline.ron"], 2),
        (&["explain", "Train"], 0),
        (&["status"], 2),
        (&["cache", "stats"], 2),
        (&["cache", "verify"], 2),
        (&["cache", "rebuild"], 2),
        (&["gc", "pipeline.ron"], 2),
        (&["doctor"], 0),
    ] {
        let called = sandbox.call(args);
        // What a command without a report or a table says is its own matter.
        if !["trace", "compare", "report"].contains(&args[0]) {
            assert_eq!(called.code, code, "{args:?}\n{}{}", called.stdout, called.stderr);
        }
        assert!(!sandbox.path().join("cache").exists(), "{args:?}");
        let left: Vec<_> = files(sandbox.path()).into_iter().collect();
        assert_eq!(left, [sandbox.path().join("pipeline.ron")], "{args:?}");
    }
    let none = sandbox.call(&["cache", "stats"]);
    assert!(none.stderr.contains("there is no cache at `cache`"), "{}", none.stderr);
}

#[test]
fn a_project_that_was_moved_or_copied_keeps_working() {
    let sandbox = project();
    let (old, new) = (sandbox.path().join("project"), sandbox.path().join("moved"));
    call_in(&old, &["pipelines/sums.ron"]).ok();
    fs::rename(&old, &new).unwrap();
    let status = call_in(&new, &["status", "--check"]).ok();
    assert!(status.stderr.contains("moved/pipelines/sums.ron"), "{}", status.stderr);
    let again = call_in(&new, &["pipelines/sums.ron"]).ok();
    assert!(again.stderr.contains("nothing to do"), "{}", again.stderr);
    let gc = call_in(&new, &["gc"]).ok();
    assert!(gc.stderr.contains("to delete: 0 results"), "{}", gc.stderr);

    let copied = sandbox.path().join("copied");
    let copy = std::process::Command::new("cp").arg("-r").args([&new, &copied]).status().unwrap();
    assert!(copy.success());
    let text = SUMS.replace(r#""two": "2""#, r#""two": "5""#);
    sandbox.write("copied/pipelines/sums.ron", &text);
    let status = call_in(&copied, &["status"]).ok();
    assert!(status.stderr.contains("copied/pipelines/sums.ron"), "the copy's own file");
    assert!(status.stdout.contains("stale"), "{}", status.stdout);
    call_in(&copied, &["pipelines/sums.ron"]).ok();
    call_in(&new, &["status", "--check"]).ok();
}

#[test]
fn status_tells_what_runs_and_what_failed() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "slow": Command(args: ["sh", "-c", "until test -e GO; do sleep 0.02; done; touch out"], outputs: ["out"]),
            "after": Command(args: ["touch", "out"], inputs: {"x": "slow"}, outputs: ["out"]),
            "broken": Command(args: ["false"], outputs: ["out"]),
        })"#,
    );
    let go = sandbox.path().join("go");
    sandbox.edit("GO", go.to_str().unwrap());
    let mut command = sandbox.command(&["pipeline.ron", "-j", "2", "-k"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = || sandbox.call(&["status", "--json"]).ok().events();
    let state = |events: &[Value], stage: &str| {
        events.iter().find(|event| event["stage"] == stage).unwrap()["state"].clone()
    };
    let both = |events: &[Value]| {
        state(events, "slow") == "running" && state(events, "broken") == "failed"
    };
    while !sandbox.path().join("cache/index.sqlite").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let known = || sandbox.call(&["status"]).code == 0;
    while !known() || !both(&status()) {
        thread::sleep(Duration::from_millis(20));
    }
    let events = status();
    assert_eq!(state(&events, "after"), "waiting");
    let slow = events.iter().find(|event| event["stage"] == "slow").unwrap();
    assert_eq!(slow["run"]["process"], run.id());
    assert!(slow["since"].as_u64().unwrap() > 1_600_000_000);
    let text = sandbox.call(&["status", "--check"]).fails_with(3);
    let by = format!("by process {} on ", run.id());
    let line = |word: &str| text.stdout.lines().find(|line| line.starts_with(word)).unwrap();
    assert!(line("running").contains(" slow  for ") && line("running").contains(&by), "{text:?}");
    assert!(line("failed").contains("see `pcae-run log broken`"), "{text:?}");
    assert!(line("waiting").contains("waits for slow"), "{text:?}");
    assert!(text.stderr.contains("3 stages: 1 running, 1 failed, 1 waiting"), "{}", text.stderr);
    fs::write(go, "").unwrap();
    run.wait().unwrap();
    let text = sandbox.call(&["status"]).ok();
    assert!(text.stderr.contains("3 stages: 2 cached, 1 failed"), "{}", text.stderr);
    let kept = fs::read_dir(sandbox.path().join("cache/jobs")).unwrap().count();
    assert_eq!(kept, 0, "what is noted of running stages goes with them");
}

#[test]
fn progress_of_a_running_training_can_be_asked_for() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "images": Dataset(
                source: Dsprites(Render(size: 8, factors: Continuous(samples: 60, seed: 0))), split: Train,
            ),
            "train": Train(
                model: Ae(latent: 2, network: Mlp(widths: [8])), data: "images", length: Epochs(100000000),
                batch_size: 20, optimizer: Adam(rate: 1e-3), seed: 0,
            ),
        })"#,
    );
    let mut command = sandbox.command(&["pipeline.ron", "--yes"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let progress = || {
        let events = sandbox.call(&["status", "pipeline.ron", "--json"]).ok().events();
        events.iter().find(|event| event["stage"] == "train").unwrap()["progress"].clone()
    };
    let mut seen = progress();
    while seen.is_null() {
        thread::sleep(Duration::from_millis(50));
        seen = progress();
    }
    assert_eq!((&seen["unit"], &seen["total"]), (&"epoch".into(), &100_000_000.into()));
    let text = sandbox.call(&["status", "pipeline.ron"]).ok().stdout;
    assert!(text.contains("epoch ") && text.contains("loss "), "{text}");
    let run_id = i32::try_from(run.id()).unwrap();
    let stop = std::process::Command::new("kill").args(["-INT", &run_id.to_string()]).status();
    assert!(stop.unwrap().success());
    run.wait().unwrap();
}

#[test]
fn every_field_that_is_printed_as_json_is_documented() {
    let sandbox = Sandbox::new(RECORDS);
    let page = sandbox.call(&["explain", "json"]).ok().stdout;
    let mut lines = Vec::new();
    let mut call = |args: &[&str]| {
        let called = sandbox.call(&[args, &["--json"]].concat());
        lines.extend(called.stdout.lines().map(str::to_owned));
    };
    call(&["plan", "pipeline.ron"]);
    call(&["pipeline.ron"]);
    call(&["bundle", "-o", "x.pcae"]);
    call(&["replay", "x.pcae", "--recompute", "5%"]);
    call(&["gc", "pipeline.ron"]);
    sandbox.edit("[0, 1]", "[0, 2]");
    sandbox.edit("\\\"a\\\": 1", "\\\"a\\\": NaN");
    call(&["pipeline.ron", "-k"]);
    sandbox.edit("NaN", "3");
    for args in [
        &["plan"][..],
        &["why", "score-0"],
        &["why", "t"],
        &["status"],
        &["graph"],
        &["log", "score-0"],
        &["export", "score-0", "there"],
        &["cache", "stats"],
        &["cache", "verify"],
        &["cache", "rebuild"],
        &["gc", "pipeline.ron"],
        &["doctor"],
        &["fetch"],
        &["staus"],
        &["plan", "--onyl", "x"],
    ] {
        call(args);
    }
    sandbox.edit("Command(", "Comand(");
    call(&["plan", "pipeline.ron"]);
    assert!(lines.len() > 40, "{}", lines.len());
    let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in values.iter().filter_map(|value| value["event"].as_str()) {
        assert!(page.contains(&format!("\n  {event} ")), "the event {event}");
    }
    assert_documented(&page, values, &["labels", "unknown", "damaged", "index"]);
}

/// Asserts that a text names every field; what is inside of `given` has names that a pipeline gives.
fn assert_documented(text: &str, values: Vec<Value>, given: &[&str]) {
    let mut waiting = values;
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => {
                for (name, inner) in fields {
                    assert!(text.contains(&format!("`{name}`")), "the field `{name}` in:\n{text}");
                    if !given.contains(&name.as_str()) {
                        waiting.push(inner);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Scores of two models beside published ones, at two scales.
const PUBLISHED: &str = r#"Pipeline(
    name: "own",
    scales: {"small": (base: "4"), "large": (base: "9")},
    scale: "small",
    axes: {"model": {"sure": "4", "noisy": "5"}, "seed": [0, 1, 2]},
    stages: {
        "score-{model}-{seed}": Command(
            args: ["sh", "-c", "printf '{\"x\": %s}' $0.$1 > record.json", Axis(model), "{seed}"],
            outputs: ["record.json"], yields: "record",
        ),
        "base": Command(args: ["sh", "-c", "echo $0 > out", AtScale(base)], outputs: ["out"]),
        "t": Table(
            records: [Each("score-{model}-{seed}")], caption: "c", label: "Table 1",
            rows: ["model"], over: ["seed"], published_runs: 50,
            values: [Value(field: "x", title: "X", margin: Absolute(1), published: {
                "sure": (9.1, 0.1), "noisy": (5.6, 1.2),
            })],
        ),
        "old": Table(
            records: [Each("score-{model}-{seed}")], caption: "c", label: "l", rows: ["model"], over: ["seed"],
            values: [Value(field: "x", title: "X")],
        ),
    },
)"#;

#[test]
fn the_fields_of_commands_on_tables_and_data_are_documented_beside_their_names() {
    let sandbox = Sandbox::new(PUBLISHED);
    let page = sandbox.call(&["explain", "json"]).ok().stdout;
    let check = |part: &str, args: &[&str], given: &[&str]| {
        let text = page.split("\n\n").find(|text| text.contains(part)).unwrap();
        let called = sandbox.call(&[args, &["--json"]].concat());
        assert!(!called.stdout.is_empty(), "{args:?}: {}", called.stderr);
        assert_documented(text, called.events(), given);
        called.events()
    };
    sandbox.run().ok();
    let report = check("pcae-run report:", &["report", "pipeline.ron"], &[]);
    assert!(report[0]["file"].as_str().unwrap().ends_with("index.html"), "{report:?}");
    check("pcae-run report:", &["report", "pipeline.ron", "--check"], &[]);
    let given = ["labels", "settings", "over", "measured"];
    let traced = check("pcae-run trace:", &["trace", "t", "sure", "x"], &given);
    assert_eq!((&traced[2]["depth"], &traced[2]["over"]["seed"]), (&1.into(), &"2".into()));
    check("pcae-run trace:", &["trace", "t", "sure", "x", "reports/own-small"], &given);
    let compared = check("pcae-run compare:", &["compare"], &["counts"]);
    assert_eq!(compared.len(), 3, "{compared:?}");
    let words = page.split("\n\n").find(|text| text.contains("pcae-run compare:")).unwrap();
    for (verdict, _) in compared[2]["counts"].as_object().unwrap() {
        assert!(words.contains(verdict.as_str()), "the verdict {verdict}");
    }
    // The runs that are added have events, too.
    let decided = sandbox.call(&["compare", "--until-decided", "--most", "4", "--json"]).ok();
    assert_documented(&page, decided.events(), &["counts", "added", "labels", "unknown"]);
    assert!(decided.events().iter().any(|line| line["added"].is_object()));
    let against = check("--against", &["plan", "--against", "large"], &["only", "values"]);
    assert_eq!(
        against[0]["settings"][0]["values"],
        serde_json::json!({"small": "\"4\"", "large": "\"9\""})
    );

    fs::rename(sandbox.path().join("reports/own-small"), sandbox.path().join("before")).unwrap();
    sandbox.edit(r#""sure": "4""#, r#""sure": "6""#);
    sandbox.edit(r#""noisy": "5"}"#, r#""loud": "5"}"#);
    sandbox.edit(r#""noisy": (5.6"#, r#""loud": (5.6"#);
    sandbox.edit(r#""old": Table("#, r#""new": Table("#);
    sandbox.run().ok();
    let moved = check("pcae-run diff:", &["diff", "before", "reports/own-small"], &[]);
    for movement in ["moved", "appeared", "vanished"] {
        let is_so = |line: &&Value| line["movement"] == movement && line["place"].is_array();
        assert!(moved.iter().any(|line| is_so(&line)), "{movement}: {moved:?}");
    }
    assert!(moved.iter().any(|line| line["change"].is_string()), "{moved:?}");

    let rows = (0..60).map(|row| format!("{row},{},{}.5,{}\n", row % 3, row * row % 31, row % 7));
    sandbox.write("data.csv", &format!("id,code,x,y\n{}", rows.collect::<String>()));
    let data = check("pcae-run init:", &["init", "data.csv"], &[]);
    assert_eq!(data[0]["columns"]["few_valued"][0]["name"], "code", "{data:?}");
    assert_eq!(data[0]["range"], serde_json::json!([0.0, 28.5]));
    check("ERRORS", &["trace", "t", "none", "x"], &[]);
    check("ERRORS", &["diff", "before", "nowhere"], &[]);
}
