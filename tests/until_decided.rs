use crate::sandbox::{Outcome, Sandbox};

/// One model that three runs tell from the published ones, and one that takes eight.
const NOISY: &str = r#"Pipeline(
    name: "own",
    axes: {"model": {"sure": 0, "noisy": 1}, "seed": [0, 1, 2]},
    stages: {
        "data-{seed}": Command(
            args: ["sh", "-c", "echo $(( $0 % 2 )) > odd", "{seed}"], outputs: ["odd"],
        ),
        "score-{model}-{seed}": Command(
            args: ["sh", "run.sh", "{model}", "{seed}"], files: ["run.sh"],
            inputs: {"data": "data-{seed}"},
            outputs: ["record.json"], yields: "record",
        ),
        "t": Table(
            records: [Each("score-{model}-{seed}")], caption: "c", label: "Table 1",
            rows: ["model"], over: ["seed"], published_runs: 50,
            values: [Value(field: "x", title: "X", margin: Absolute(1), published: {
                "sure": (9.10, 0.08), "noisy": (10, 1),
            })],
        ),
    },
)"#;

const SCRIPT: &str = r#"
read odd < inputs/data/odd
case $1-$odd in sure-*) x=4.$2;; noisy-0) x=10.6;; noisy-1) x=30.5;; esac
printf '{"x": %s}' $x > record.json
"#;

fn noisy() -> Sandbox {
    let sandbox = Sandbox::new(NOISY);
    sandbox.write("run.sh", SCRIPT);
    sandbox
}

fn compare(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    sandbox.call(&[&["compare", "pipeline.ron", "--until-decided"], more].concat())
}

#[test]
fn runs_are_added_only_where_the_verdict_is_open_and_only_once() {
    let sandbox = noisy();
    sandbox.run().ok();
    let first = compare(&sandbox, &["--json"]).ok();
    let executed = first.executed();
    assert!(executed.contains(&"score-noisy-7".to_owned()), "{executed:?}");
    assert!(!executed.iter().any(|stage| stage.starts_with("score-sure")), "{executed:?}");
    let lines = first.events();
    let analyses: Vec<_> = lines.iter().filter(|line| line["added"].is_object()).collect();
    assert_eq!(analyses.len(), 3, "{lines:?}");
    assert_eq!(analyses[1]["added"]["seed"], serde_json::json!([3, 4]));
    assert_eq!((&analyses[1]["undecided"], &analyses[2]["undecided"]), (&1.into(), &0.into()));
    let verdicts: Vec<_> = lines.iter().filter(|line| line["verdict"].is_string()).collect();
    assert_eq!((&verdicts[0]["ours"]["n"], &verdicts[0]["look"]), (&3.into(), &1.into()));
    assert_eq!((&verdicts[1]["ours"]["n"], &verdicts[1]["look"]), (&8.into(), &3.into()));
    assert_eq!((&verdicts[1]["runs_before"], &verdicts[1]["alpha"]), (&3.into(), &0.00625.into()));

    let second = compare(&sandbox, &[]).ok();
    insta::assert_snapshot!(second.stdout, @r"
    t (Table 1)
    cell        published      ours           n   margin   p (equivalence)   p (difference)   needs   verdict
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    sure / X    9.10 ± 0.08    4.10 ± 0.08    3   1.000    –                 < 0.001                  differs
    noisy / X   10.00 ± 1.00   20.55 ± 9.95   8   1.000    –                 < 0.001                  differs
    extended: noisy / X: 8 runs instead of 3, look 3

    differs: an exact test tells our runs from the published ones
    2 differs (alpha 0.05 over 3 looks, Holm-adjusted over all cells)
    ");
    insta::assert_snapshot!(second.stderr, @r"
    look 1 (alpha 0.025): 1 of 2 undecided, of which 1 need at most 20 runs
    look 2 (alpha 0.0125): seed 3 to 4 added, 1 of 2 undecided, of which 1 need at most 20 runs
    look 3 (alpha 0.00625): seed 5 to 7 added, 0 of 2 undecided, of which 0 need at most 20 runs
    ");
}

#[test]
fn other_commands_know_nothing_of_the_added_runs() {
    let sandbox = noisy();
    sandbox.run().ok();
    let before = sandbox.call(&["compare"]).ok().stdout;
    compare(&sandbox, &[]).ok();
    assert_eq!(sandbox.read("pipeline.ron"), NOISY);
    assert_eq!(sandbox.call(&["compare"]).ok().stdout, before);
    assert_eq!(sandbox.run().ok().executed(), [""; 0]);
    let unreached = sandbox.call(&["gc"]).ok().stdout;
    assert!(unreached.contains("score-noisy-3"), "as of any stage of no pipeline: {unreached}");
}

#[test]
fn no_more_labels_are_added_than_allowed() {
    let sandbox = noisy();
    sandbox.run().ok();
    let stopped = compare(&sandbox, &["--most", "5"]).ok();
    assert!(stopped.stdout.contains("5 runs instead of 3, look 2"), "{}", stopped.stdout);
    assert!(
        stopped.stderr.contains("1 still undecided with at most 5 runs (`--most`)"),
        "{}",
        stopped.stderr
    );
    compare(&sandbox, &["--most", "5", "--strict"]).fails_with(4);
    sandbox.call(&["compare", "--most", "5"]).fails_with(2);
}

#[test]
fn cells_that_take_more_runs_than_allowed_get_none() {
    let sandbox = noisy();
    sandbox.run().ok();
    let none = compare(&sandbox, &["--most", "4", "--json"]).ok();
    assert_eq!(none.executed(), [""; 0]);
    let first = &none.events()[0];
    assert_eq!((&first["undecided"], &first["within_reach"]), (&1.into(), &0.into()));
    let last = none.events().pop().unwrap();
    assert_eq!(
        (&last["counts"]["differs"], &last["counts"]["inconclusive"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_failed_run_stops_the_looks_until_it_is_repaired() {
    let sandbox = noisy();
    sandbox.write("run.sh", &format!("[ $2 -lt 4 ] || exit 1\n{SCRIPT}"));
    sandbox.run().ok();
    let failed = compare(&sandbox, &["-k"]).fails_with(1);
    assert!(failed.stderr.contains("failed: score-noisy-4"), "{}", failed.stderr);
    assert!(failed.stderr.contains("run the same command to resume"), "{}", failed.stderr);
    assert_eq!(failed.stdout, "", "no verdict on the runs that happened to work");
}

#[test]
fn what_cannot_be_extended_is_said() {
    let sandbox = noisy();
    let not_run = compare(&sandbox, &[]).fails_with(2);
    assert!(not_run.stderr.contains("run `pcae-run pipeline.ron` first"), "{}", not_run.stderr);
    sandbox.edit("[0, 1, 2]", r#"{"0": 0, "1": 1, "2": 2}"#);
    sandbox.run().ok();
    let named = compare(&sandbox, &[]).fails_with(2);
    assert!(named.stderr.contains("`t` averages over `seed`"), "{}", named.stderr);
    assert!(named.stderr.contains("list of integers"), "{}", named.stderr);
    let tables = Sandbox::new(crate::sandbox::RECORDS);
    tables.run().ok();
    let none = compare(&tables, &[]).fails_with(2);
    assert!(none.stderr.contains("has no published numbers"), "{}", none.stderr);
}

#[test]
fn an_axis_that_the_records_do_not_follow_adds_nothing() {
    let sandbox = noisy();
    sandbox.edit(r#""seed": [0, 1, 2]"#, r#""seed": [0, 1, 2], "few": [0, 1, 2]"#);
    sandbox.edit(r#"Each("score-{model}-{seed}")"#, r#"Each("score-{model}-{few}")"#);
    sandbox.run().ok();
    let stuck = compare(&sandbox, &[]).ok();
    assert!(stuck.stderr.contains("has no records for more labels"), "{}", stuck.stderr);
}
