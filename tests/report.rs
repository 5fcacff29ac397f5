use std::fs;

use serde_json::Value;

use crate::sandbox::{Outcome, RECORDS, SUMS, Sandbox};

/// A table of two shell stages, with a hostile caption and settings.
const HOSTILE: &str = r#"Pipeline(name: "own", axes: {"seed": [0, 1]}, stages: {
    "score-{seed}": Command(
        args: ["sh", "-c", "echo '</script><b>log</b>'; echo '{\"a\": 1}' > record.json"],
        outputs: ["record.json"], yields: "record",
    ),
    "t": Table(
        records: [Each("score-{seed}")], caption: "</script><b>caption</b> & more", label: "<i>l</i>",
        rows: ["seed"], values: [Value(field: "a", title: "<u>A</u>")],
    ),
})"#;

fn manifest(sandbox: &Sandbox, pipeline: &str) -> Value {
    serde_json::from_str(&sandbox.read(&format!("reports/{pipeline}/manifest.json"))).unwrap()
}

/// Checks the report as on a fresh clone: there is no cache, and none is made.
fn check(sandbox: &Sandbox) -> Outcome {
    let outcome = sandbox.call(&["report", "pipeline.ron", "--check", "--cache", "none"]);
    assert!(!sandbox.path().join("none").exists(), "a check made a cache folder");
    outcome
}

#[test]
fn a_run_leaves_a_page_and_a_run_without_work_leaves_it_alone() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.run().ok();
    let page = sandbox.path().join("reports/own/index.html");
    assert!(fs::read_to_string(&page).unwrap().contains("score-{seed}"));
    fs::write(&page, "mine").unwrap();
    sandbox.run().ok();
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine", "nothing ran, nothing is written");
    fs::remove_file(&page).unwrap();
    sandbox.run().ok();
    assert!(page.exists(), "a page that is absent is written");
    fs::write(&page, "mine").unwrap();
    sandbox.edit("\"a\\\": 1", "\"a\\\": 2");
    sandbox.run().ok();
    assert_ne!(fs::read_to_string(&page).unwrap(), "mine", "a run that did something writes it");
}

#[test]
fn a_report_is_made_from_the_cache_alone_and_always_the_same() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.run().ok();
    let read = |name: &str| fs::read(sandbox.path().join("reports/own").join(name)).unwrap();
    let names = ["index.html", "manifest.json", "report.tex", "t.csv", "t.tex", "t.md"];
    let results = sandbox.results().len();
    let before = names.map(read);
    fs::remove_dir_all(sandbox.path().join("reports")).unwrap();
    let made = sandbox.call(&["report"]).ok();
    assert_eq!(made.stdout, "reports/own/index.html\n");
    assert!(before == names.map(read), "the same cache gave another report");
    assert_eq!(sandbox.results().len(), results, "a report runs nothing");
}

#[test]
fn what_users_write_is_text_and_never_markup() {
    let sandbox = Sandbox::new(HOSTILE);
    sandbox.run().ok();
    let page = sandbox.read("reports/own/index.html");
    for markup in ["<b>", "<i>l", "<u>A"] {
        let shown = page.replace("<b>&lt;i&gt;", "");
        assert!(!shown.contains(markup), "{markup} is an element of the page");
    }
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("caption&lt;"), "the caption is shown as it is written");
    assert!(page.contains(r"\u003c/script>\u003cb>log"), "the log goes along as text");
}

#[test]
fn a_table_can_not_have_the_name_of_a_file_of_the_report() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.edit(r#""t": Table"#, r#""index": Table"#);
    sandbox.run().ok();
    let page = sandbox.read("reports/own/index.html");
    assert!(page.contains("index.csv"), "names that no file of the report has are free");
    for (name, file) in
        [("report", "report.tex"), ("numbers", "numbers.tex"), ("manifest", "manifest.json")]
    {
        sandbox.write("pipeline.ron", &RECORDS.replace("\"t\": T", &format!("\"{name}\": T")));
        let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
        let expected = format!("the report itself has a file `{file}`");
        assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
        assert!(refused.stderr.contains("pipeline.ron:3:"), "{}", refused.stderr);
    }
    let two = RECORDS.replace("\"t\": T", "\"T\": Table(records: [Each(\"score-{seed}\")], caption: \"c\", label: \"l\", rows: [\"seed\"], values: [Value(field: \"a\", title: \"A\")]),\n    \"t\": T");
    sandbox.write("pipeline.ron", &two);
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("`t` and `T` differ only in case"), "{}", refused.stderr);
}

#[test]
fn a_page_tells_what_failed_and_what_waits() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.edit("read x < inputs/x/number;", "read x < inputs/x/number; [ $x = 1 ] &&");
    sandbox.run_with(&["--keep-going"]).fails_with(1);
    let page = sandbox.read("reports/sums/index.html");
    assert!(page.contains("This report is not complete"));
    assert!(page.contains("square-two failed"));
    assert!(page.contains("1 failed, 1 ran"), "a family tells how its stages stand");
    assert!(page.contains(r#""status":"waiting""#));
    assert_eq!(manifest(&sandbox, "sums")["stages"].as_object().unwrap().len(), 3);
    let partial = check(&sandbox).fails_with(1);
    assert!(partial.stdout.contains("total: has no result in the report"), "{}", partial.stdout);
}

#[test]
fn a_kept_report_is_checked_without_a_cache() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.run().ok();
    let checked = check(&sandbox).ok();
    assert_eq!(checked.stdout, "3 keys match, 8 files match\n");
    assert!(
        checked.stderr.contains("not proven: that the manifest is honest"),
        "{}",
        checked.stderr
    );

    sandbox.edit(r#"title: "A""#, r#"title: "B""#);
    let edited = check(&sandbox).fails_with(1);
    assert_eq!(edited.stdout, "t: values[0].title \"A\" -> \"B\"\n2 keys match, 8 files match\n");
    sandbox.edit(r#"title: "B""#, r#"title: "A""#);

    let table = sandbox.read("reports/own/t.csv");
    sandbox.write("reports/own/t.csv", &table.replace('1', "2"));
    let forged = check(&sandbox).fails_with(1);
    assert!(
        forged.stdout.contains("t.csv: differs from the file that its stage wrote"),
        "{}",
        forged.stdout
    );
    fs::remove_file(sandbox.path().join("reports/own/t.csv")).unwrap();
    assert!(check(&sandbox).fails_with(1).stdout.contains("t.csv: is missing"));
    sandbox.write("reports/own/t.csv", &table);
    check(&sandbox).ok();
}

#[test]
fn every_file_of_a_report_is_tied_to_the_result_of_its_stage() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.run().ok();
    // A forged number, with the digest of the forged file in the list of files.
    let (text, table) =
        (sandbox.read("reports/own/manifest.json"), sandbox.read("reports/own/t.csv"));
    let digest = |bytes: &str| blake3::hash(bytes.as_bytes()).to_hex().to_string();
    let forged = table.replace(",1,", ",2,");
    assert_ne!(forged, table);
    sandbox.write("reports/own/t.csv", &forged);
    let (files, rest) = text.split_once("\"pages\"").unwrap();
    let listed = files.replace(&digest(&table), &digest(&forged));
    sandbox.write("reports/own/manifest.json", &format!("{listed}\"pages\"{rest}"));
    let found = check(&sandbox).fails_with(1).stdout;
    assert!(
        found.contains("t.csv: is listed with a digest that its stage did not make"),
        "{found}"
    );
    // Everywhere: then the stage's own digest is no longer that of its files.
    sandbox.write("reports/own/manifest.json", &text.replace(&digest(&table), &digest(&forged)));
    check(&sandbox).fails_with(2);
    sandbox.write("reports/own/manifest.json", &text);
    sandbox.write("reports/own/t.csv", &table);
    // What the report made of it.
    let page = sandbox.read("reports/own/index.html");
    sandbox.write("reports/own/index.html", &page.replace("1.00", "2.00"));
    let found = check(&sandbox).fails_with(1).stdout;
    assert!(found.contains("index.html: differs from the file that the report wrote"), "{found}");
    sandbox.write("reports/own/index.html", &page);
    sandbox.write("reports/own/mine.txt", "");
    let checked = check(&sandbox).ok();
    assert!(checked.stderr.contains("files that no stage of the report made: mine.txt"));
}

#[test]
fn a_check_follows_the_results_from_stage_to_stage() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    check(&sandbox).ok();
    // Another result of one stage, with everything else as it was.
    let text = sandbox.read("reports/sums/manifest.json");
    let digest = manifest(&sandbox, "sums")["stages"]["number-two"]["digest"].clone();
    let line = format!("\"digest\":{digest}");
    let forged = format!("\"digest\":\"{}\"", "0".repeat(64));
    sandbox.write("reports/sums/manifest.json", &text.replace(&line, &forged));
    let found = check(&sandbox).fails_with(1).stdout;
    assert!(found.contains("square-two: input inputs.x "), "{found}");
    assert!(found.contains("4 keys match"), "{found}");
}

#[test]
fn outside_files_are_compared_where_they_are_and_believed_where_not() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "copy": Command(args: ["cp", "own.txt", "out"], files: ["own.txt"], outputs: ["out"]),
        })"#,
    );
    sandbox.write("own.txt", "one");
    sandbox.run().ok();
    check(&sandbox).ok();
    sandbox.write("own.txt", "two");
    assert!(check(&sandbox).fails_with(1).stdout.contains("copy: file own.txt "));
    fs::remove_file(sandbox.path().join("own.txt")).unwrap();
    check(&sandbox).ok();
}
