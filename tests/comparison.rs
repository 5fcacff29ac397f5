use std::fs;

use crate::sandbox::Sandbox;

/// Three models whose runs give `base.seed`, with published numbers for each.
const PUBLISHED: &str = r#"Pipeline(
    name: "own",
    axes: {
        "model": {"same": "4", "other": "9", "unsure": "5"},
        "seed": {"a": "0", "b": "1", "c": "2", "d": "3", "e": "4"},
    },
    stages: {
        "score-{model}-{seed}": Command(
            args: ["sh", "-c", "printf '{\"x\": %s.%s}' $0 $1 > record.json", Axis(model), Axis(seed)],
            outputs: ["record.json"], yields: "record",
        ),
        "t": Table(
            records: [Each("score-{model}-{seed}")], caption: "c", label: "Table 1",
            rows: ["model"], over: ["seed"],
            values: [Value(field: "x", title: "X", best: Lowest, published: {
                "same": (4.20, 0.14), "other": (4.20, 0.14), "unsure": (5.60, 1.20),
            })],
        ),
    },
)"#;

#[test]
fn every_published_number_gets_a_verdict_beside_ours() {
    let sandbox = Sandbox::new(PUBLISHED);
    sandbox.run().ok();
    let compared = sandbox.call(&["compare", "pipeline.ron"]).ok();
    insta::assert_snapshot!(compared.stdout, @r"
    t (Table 1)
    cell         published     ours          n   margin   p (equivalence)   p (difference)   needs   verdict
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    same / X     4.20 ± 0.14   4.20 ± 0.14   5   0.420    –                 1.000            –       matches in 5 of 5 runs
    other / X    4.20 ± 0.14   9.20 ± 0.14   5   0.420    –                 0.024                    differs
    unsure / X   5.60 ± 1.20   5.20 ± 0.14   5   0.560    –                 1.000            –       inconclusive, matches in 4 of 5 runs

    differs: an exact test tells our runs from the published ones
    matches: every run is within the margin of the published mean; no error rate is claimed
    inconclusive: not every run matches, and no test decides
    needs: runs that decide, if further ones are like the present ones
    p –: equivalence takes values of a known `range`, a difference a published spread
    1 differs, 1 matches, 1 inconclusive (alpha 0.05, Holm-adjusted over all cells)
    ");
    let lines = sandbox.call(&["compare", "pipeline.ron", "--json"]).ok().events();
    assert_eq!(lines.len(), 4, "one line a number, and the counts");
    assert_eq!(lines[0]["verdict"], "matches");
    assert_eq!((&lines[2]["matching"], &lines[2]["runs"]), (&4.into(), &5.into()));
    assert_eq!(lines[0]["place"], serde_json::json!(["same", "x"]));
    assert_eq!(lines[3]["counts"]["inconclusive"], 1);
}

#[test]
fn a_strict_comparison_fails_unless_everything_is_confirmed() {
    let sandbox = Sandbox::new(PUBLISHED);
    sandbox.run_with(&["--until", "score-same-*"]).ok();
    let missing = sandbox.call(&["compare", "pipeline.ron", "--strict"]).fails_with(4);
    assert!(missing.stderr.contains("`t` has 3 published numbers"), "{}", missing.stderr);
    assert!(
        missing.stderr.contains("`differs` takes at least 4 runs of each"),
        "{}",
        missing.stderr
    );
    assert!(missing.stdout.contains("3 not measured"), "{}", missing.stdout);
    sandbox.run().ok();
    sandbox.call(&["compare", "pipeline.ron", "--strict"]).fails_with(4);
    sandbox.edit(r#""other": (4.20, 0.14)"#, r#""other": (12.20, 0.14)"#);
    sandbox.edit(r#""unsure": (5.60, 1.20)"#, r#""unsure": (9.60, 0.14)"#);
    sandbox.run().ok();
    sandbox.call(&["compare", "pipeline.ron", "--strict"]).fails_with(4);
    sandbox.edit(r#"rows: ["model"]"#, r#"unjudged: {"same": Tuned}, rows: ["model"]"#);
    sandbox.run().ok();
    let strict = sandbox.call(&["compare", "pipeline.ron", "--strict"]).ok();
    assert!(strict.stdout.contains("2 better, 1 tuned"), "{}", strict.stdout);
}

#[test]
fn a_comparison_without_published_numbers_says_what_is_missing() {
    let sandbox = Sandbox::new(crate::sandbox::RECORDS);
    sandbox.run().ok();
    let none = sandbox.call(&["compare", "pipeline.ron"]).fails_with(2);
    assert!(none.stderr.contains("has no published numbers"), "{}", none.stderr);
    sandbox.call(&["compare", "pipeline.ron", "--alpha", "0.7"]).fails_with(2);
}

#[test]
fn a_margin_and_runs_are_settings_of_a_table() {
    let sandbox = Sandbox::new(PUBLISHED);
    sandbox.edit(r#"rows: ["model"]"#, r#"published_runs: 50, rows: ["model"]"#);
    sandbox.edit("best: Lowest", "best: Lowest, margin: Absolute(2), range: (3, 7)");
    sandbox.run().ok();
    let lines = sandbox.call(&["compare", "--json"]).ok().events();
    let verdicts: Vec<_> = lines[..3].iter().map(|line| line["verdict"].clone()).collect();
    assert_eq!(verdicts, ["equivalent", "differs", "equivalent"]);
    assert_eq!(lines[2]["published_runs"], 50);
    let second = sandbox.call(&["compare", "--json", "--look", "2"]).ok().events();
    assert_eq!(second[2]["alpha"], 0.0125, "a quarter of 5% is left for the second look");
    sandbox.edit("range: (3, 7)", "range: (7, 3)");
    let reversed = sandbox.call(&["compare", "pipeline.ron"]).fails_with(2);
    assert!(
        reversed.stderr.contains("a range from low to high, found (7, 3)"),
        "{}",
        reversed.stderr
    );
    sandbox.edit("range: (7, 3)", "range: (3, 7)");
    sandbox.edit("margin: Absolute(2)", "margin: Absolute(-2)");
    sandbox.call(&["compare", "pipeline.ron"]).fails_with(2);
}

#[test]
fn a_tuned_number_gets_no_verdict_in_the_table_the_page_and_the_comparison() {
    let sandbox = Sandbox::new(PUBLISHED);
    sandbox.edit(
        r#"rows: ["model"]"#,
        r#"unjudged: {"other": StandIn, "same/x": Tuned}, rows: ["model"]"#,
    );
    let run = sandbox.call(&["pipeline.ron"]).ok();
    assert!(
        run.stdout.contains("† tuned: a setting was chosen by this very number"),
        "{}",
        run.stdout
    );
    for (file, mark) in [
        ("t.md", "± 0.14**†"),
        ("t.tex", r"\rlap{\ddag{}}"),
        ("t.csv", ",tuned\r\n"),
        ("index.html", ">tuned</small>"),
        ("index.html", "stand-in: other data stand in for the published ones"),
    ] {
        let text = std::fs::read(sandbox.path().join("reports/own").join(file)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(mark), "{file} lacks {mark}: {text}");
    }
    let lines = sandbox.call(&["compare", "--json"]).ok().events();
    assert_eq!((&lines[0]["verdict"], &lines[1]["verdict"]), (&"tuned".into(), &"stand-in".into()));
    assert_eq!(lines[1]["difference_p"], serde_json::Value::Null);
    assert_eq!(lines[3]["counts"]["stand-in"], 1);
    let trace = sandbox.call(&["trace", "t", "same", "x"]).ok().stdout;
    assert!(trace.contains("tuned: a setting was chosen"), "{trace}");
}

#[test]
fn a_seed_that_nothing_uses_makes_no_runs() {
    let sandbox = Sandbox::new(PUBLISHED);
    sandbox.edit("{\\\"x\\\": %s.%s}' $0 $1 >", "{\\\"x\\\": %s.5}' $0 >");
    let run = sandbox.call(&["pipeline.ron"]).ok();
    assert!(
        run.stdout.contains("A result that is the same for every seed counts once."),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("4.50 ±"), "{}", run.stdout);
    let csv = sandbox.read("reports/own/t.csv");
    assert!(csv.contains("same,x,4.5,,0,1,4.5,"), "{csv}");
    let compared = sandbox.call(&["compare"]).ok().stdout;
    assert!(compared.contains("4 of 5 runs repeat a result, which counts once"), "{compared}");
    let trace = sandbox.call(&["trace", "t", "same", "x"]).ok().stdout;
    assert!(trace.contains("4 of 5 records repeat the result of another"), "{trace}");
}

#[test]
fn a_diff_says_which_cells_changed_were_added_and_were_removed() {
    let sandbox = Sandbox::new(PUBLISHED);
    sandbox.run().ok();
    fs::rename(sandbox.path().join("reports"), sandbox.path().join("before")).unwrap();
    sandbox.run().ok();
    let same = sandbox.call(&["diff", "before/own", "reports/own"]).ok();
    assert_eq!(same.stdout, "t: unchanged\n");
    sandbox.edit(r#""same": "4""#, r#""same": "5""#);
    sandbox.edit(r#""unsure": "5""#, r#""new": "7""#);
    sandbox.edit(r#""unsure": (5.60"#, r#""new": (5.60"#);
    sandbox.run().ok();
    let moved = sandbox.call(&["diff", "before/own", "reports/own"]).fails_with(1);
    insta::assert_snapshot!(moved.stdout, @r#"
    t: 3 cells changed
    cell         before                  after                   change
    ─────────────────────────────────────────────────────────────────────
    same / x     4.2 ± 0.14142 (n = 5)   5.2 ± 0.14142 (n = 5)   +7.1 std
    new / x      –                       7.2 ± 0.14142 (n = 5)   added
    unsure / x   5.2 ± 0.14142 (n = 5)   –                       removed
    caused by score-same-a and 4 more: args[3] "4" -> "5"
    caused by t: input records[0] (model=new, seed=a) was added
    caused by t: input records[0] (model=new, seed=b) was added
    caused by t: input records[0] (model=new, seed=c) was added
    caused by t: input records[0] (model=new, seed=d) was added
    caused by t: input records[0] (model=new, seed=e) was added
    caused by t: input records[0] (model=unsure, seed=a) was removed
    caused by t: input records[0] (model=unsure, seed=b) was removed
    caused by t: input records[0] (model=unsure, seed=c) was removed
    caused by t: input records[0] (model=unsure, seed=d) was removed
    caused by t: input records[0] (model=unsure, seed=e) was removed
    caused by t: values[0].published.new[0] (none) -> 5.6
    caused by t: values[0].published.new[1] (none) -> 1.2
    caused by t: values[0].published.unsure[0] 5.6 -> (none)
    caused by t: values[0].published.unsure[1] 1.2 -> (none)
    "#);
    let files = ["diff", "before/own/t.csv", "reports/own/t.csv", "--json"];
    let lines = sandbox.call(&files).fails_with(1).events();
    let movements: Vec<_> = lines.iter().map(|line| line["movement"].clone()).collect();
    assert_eq!(movements, ["moved", "appeared", "vanished"]);
    sandbox.call(&["diff", "before/own", "nowhere"]).fails_with(2);
    let empty = sandbox.call(&["diff", "before", "reports/own"]).fails_with(2);
    assert!(empty.stderr.contains("pass a pipeline's report folder"), "{}", empty.stderr);
}

#[test]
fn a_diff_names_the_first_cause_if_both_folders_tell_how_they_were_made() {
    let sandbox = Sandbox::new(PUBLISHED);
    for folder in ["before", "reports"] {
        sandbox.run().ok();
        sandbox.write("reports/own/manifest.json", &manifest(&sandbox));
        if folder == "before" {
            fs::rename(sandbox.path().join("reports"), sandbox.path().join(folder)).unwrap();
            sandbox.edit(r#""same": "4""#, r#""same": "3""#);
        }
    }
    let moved = sandbox.call(&["diff", "before/own", "reports/own"]).fails_with(1);
    let cause = moved.stdout.lines().find(|line| line.starts_with("caused by")).unwrap();
    assert_eq!(cause, r#"caused by score-same-a and 4 more: args[3] "4" -> "3""#);
}

#[test]
fn a_report_folder_is_compared_and_traced_without_a_cache() {
    let sandbox = Sandbox::new(PUBLISHED);
    sandbox.edit(r#"rows: ["model"]"#, r#"titles: {"same": "The same / one"}, rows: ["model"]"#);
    sandbox.run().ok();
    let compared = sandbox.call(&["compare", "pipeline.ron"]).ok().stdout;
    fs::remove_dir_all(sandbox.path().join("cache")).unwrap();
    let kept = sandbox.call(&["compare", "reports/own"]).ok();
    assert_eq!(kept.stdout, compared);
    // By labels or as printed, in any case.
    let trace = |table: &str, row: &str, column: &str| {
        sandbox.call(&["trace", table, row, column, "reports/own"])
    };
    let told = trace("t", "same", "x").ok().stdout;
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some("t / The same / one / X: 4.20 ± 0.14 over 5 runs"));
    for (value, seed) in [("4.00", "a"), ("4.10", "b"), ("4.20", "c"), ("4.30", "d"), ("4.40", "e")]
    {
        let line = lines.next().unwrap();
        assert!(line.starts_with(&format!("  {value}, seed {seed}: ")), "{told}");
        assert!(line.ends_with(&format!(" score-same-{seed}")), "{told}");
    }
    assert_eq!(trace("TABLE 1", "the same/one", "X ↓").ok().stdout, told);
    assert!(!sandbox.path().join("cache").exists(), "a report folder needs no cache");
    let wrong = trace("t", "none", "x").fails_with(2).stderr;
    assert!(wrong.contains("its rows: `same` (The same / one), `other`, `unsure`"), "{wrong}");
    let wrong = trace("u", "same", "x").fails_with(2).stderr;
    assert!(wrong.contains("reports/own has no table `u`"), "{wrong}");
    // A pipeline whose results are not cached falls back on what was kept of the same settings.
    let kept = sandbox.call(&["trace", "t", "same", "x", "pipeline.ron"]).ok();
    assert_eq!(kept.stdout, told);
    assert!(kept.stderr.contains("`t` has no cached result: this is what reports/own has kept"));
    let kept = sandbox.call(&["compare", "pipeline.ron"]).ok();
    assert_eq!(kept.stdout, compared);
    sandbox.edit(r#"label: "Table 1""#, r#"label: "Table 2""#);
    sandbox.call(&["trace", "t", "same", "x", "pipeline.ron"]).fails_with(2);
}

/// Tells how the newest result of every stage was made.
fn manifest(sandbox: &Sandbox) -> String {
    let mut stages = serde_json::Map::new();
    for name in sandbox.call(&["status", "--json"]).ok().events() {
        let stage = name["stage"].as_str().unwrap();
        let key = sandbox.call(&["why", stage, "--json"]).ok().events()[0]["key"].clone();
        let entry = entry(sandbox, key.as_str().unwrap());
        let made = serde_json::json!({
            "kind": entry["record"]["kind"], "key": key, "digest": entry["artifact"]["digest"],
            "record": entry["record"],
        });
        stages.insert(stage.to_owned(), made);
    }
    serde_json::json!({"pipeline": "own", "stages": stages, "files": {}}).to_string()
}

fn entry(sandbox: &Sandbox, key: &str) -> serde_json::Value {
    crate::sandbox::files(&sandbox.path().join("cache/entries"))
        .iter()
        .map(|path| serde_json::from_slice::<serde_json::Value>(&fs::read(path).unwrap()).unwrap())
        .find(|entry| entry["key"] == key)
        .unwrap()
}
