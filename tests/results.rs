//! Every measured value and training curve as one table. What data frames and TensorBoard make of them is
//! checked by tests/frames/check.py.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::{RECORDS, Sandbox, files};

const TRAINING: &str = r#"Pipeline(
    name: "p",
    axes: {"seed": [0, 1]},
    stages: {
        "images": Dataset(
            source: Dsprites(Render(size: 8, supersampling: 4, factors: Continuous(samples: 60, seed: 0))),
            split: Train,
        ),
        "train-{seed}": Train(
            model: Ae(latent: 2, network: Conv(channels: [4, 6])), data: "images",
            length: Epochs(3), batch_size: 16, optimizer: Adam(rate: 1e-2), seed: Axis(seed),
        ),
        "error-{seed}": Score(model: "train-{seed}", data: "images", metric: Reconstruction),
        "time-{seed}": Runtime(model: "train-{seed}"),
    },
)"#;

fn rows(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    sandbox.call(&[&["results"], args, &["--json"]].concat()).ok().events()
}

#[test]
fn each_measure_of_each_run_is_a_row_with_what_it_came_from() {
    let sandbox = Sandbox::new(TRAINING);
    sandbox.run().ok();
    let rows = rows(&sandbox, &[]);
    let error = rows.iter().find(|row| row["field"] == "reconstruction").unwrap();
    assert_eq!((&error["stage"], &error["seed"]), (&json!("error-0"), &json!("0")));
    assert!(error["value"].as_f64().unwrap() > 0.0 && error["index"].is_null());
    assert!(error["unit"].as_str().unwrap().starts_with("binary cross-entropy"), "{error}");
    assert_eq!(error["device"], "flex");
    let time = rows.iter().find(|row| row["field"] == "training_seconds").unwrap();
    assert_eq!(time["unit"], "s");
    let hardware = rows.iter().find(|row| row["field"] == "hardware").unwrap();
    assert!(hardware["value"].is_null() && hardware["text"].is_string());
    let page = sandbox.call(&["explain", "json"]).ok().stdout;
    let words = page.split("\n\n").find(|text| text.contains("pcae-run results:")).unwrap();
    for field in error.as_object().unwrap().keys().filter(|field| *field != "seed") {
        assert!(words.contains(&format!("`{field}`")), "the field {field} in:\n{words}");
    }
}

#[test]
fn the_format_of_a_table_is_that_of_the_name_of_its_file() {
    let sandbox = Sandbox::new(RECORDS);
    sandbox.run().ok();
    for file in ["r.csv", "r.json", "r.parquet"] {
        assert_eq!(sandbox.call(&["results", "-o", file]).ok().stdout, format!("{file}: 2 rows\n"));
    }
    let csv = sandbox.read("r.csv");
    assert_eq!(sandbox.call(&["results"]).ok().stdout, csv);
    assert!(csv.starts_with("stage,seed,field,index,value,text,unit,key,seconds,host,device\n"));
    let parsed: Value = serde_json::from_str(&sandbox.read("r.json")).unwrap();
    assert_eq!(parsed[1]["value"], 1.0);
    assert!(fs::read(sandbox.path().join("r.parquet")).unwrap().starts_with(b"PAR1"));
    let refused = sandbox.call(&["results", "-o", "r.xlsx"]).fails_with(2);
    assert_eq!(refused.stderr, "error: `r.xlsx` should end with .parquet, .csv or .json\n");
}

#[test]
fn what_is_not_cached_is_told_and_is_no_row() {
    // Stages that do the same have one result: these are told apart by an argument.
    let records = RECORDS.replace("> record.json\"]", "> record.json\", \"{seed}\"]");
    assert_ne!(records, RECORDS);
    let sandbox = Sandbox::new(&records);
    let none = sandbox.call(&["results", "pipeline.ron"]).fails_with(2);
    assert!(none.stderr.contains("has no measured values of `pipeline.ron`"), "{}", none.stderr);
    assert!(none.stderr.contains("help: run `pcae-run pipeline.ron`"), "{}", none.stderr);
    sandbox.run_with(&["--until", "score-0"]).ok();
    let told = sandbox.call(&["results"]).ok();
    assert!(told.stderr.contains("2 stages without a cached result"), "{}", told.stderr);
    assert_eq!(told.stdout.lines().count(), 2);
    let curves = sandbox.call(&["results", "--histories"]).fails_with(2);
    assert!(curves.stderr.contains("has no training curves of"), "{}", curves.stderr);
}

#[test]
fn curves_are_the_records_of_the_trainings() {
    let sandbox = Sandbox::new(TRAINING);
    sandbox.run().ok();
    let rows = rows(&sandbox, &["--histories"]);
    let total = |row: &&Value| row["stage"] == "train-1" && row["field"] == "total";
    let totals: Vec<&Value> = rows.iter().filter(total).collect();
    assert_eq!(
        totals.iter().map(|row| row["epoch"].as_i64().unwrap()).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    sandbox.call(&["export", "train-1", "there"]).ok();
    let history = sandbox.read("there/history.csv");
    let last = history.lines().last().unwrap();
    assert!(last.contains(&totals[2]["value"].to_string()), "{last}: {}", totals[2]);
}

/// Returns the folders with curves, and the bytes of their files.
fn curves(folder: &Path) -> BTreeSet<(String, u64)> {
    let of = |path: &std::path::PathBuf| {
        let stage = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        (stage, fs::metadata(path).unwrap().len())
    };
    files(folder).iter().map(of).collect()
}

#[test]
fn curves_are_shown_while_a_training_runs() {
    let sandbox = Sandbox::new(&TRAINING.replace("Epochs(3)", "Epochs(1000000)"));
    let mut runner = sandbox
        .command(&["pipeline.ron", "--tensorboard", "live"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let folder = sandbox.path().join("live");
    let has_epochs = || folder.is_dir() && curves(&folder).iter().any(|(_, size)| *size > 500);
    let waiting = (0..1500).take_while(|_| !has_epochs());
    waiting.for_each(|_| thread::sleep(Duration::from_millis(20)));
    let (shown, is_over) = (has_epochs(), runner.try_wait().unwrap().is_some());
    runner.kill().unwrap();
    runner.wait().unwrap();
    assert!(shown && !is_over);
}

#[test]
fn curves_of_cached_trainings_are_shown_beside_those_that_run() {
    let sandbox = Sandbox::new(TRAINING);
    sandbox.run_with(&["--until", "train-0"]).ok();
    sandbox.run_with(&["--tensorboard", "live"]).ok();
    let live = curves(&sandbox.path().join("live"));
    let names: Vec<&str> = live.iter().map(|(stage, _)| stage.as_str()).collect();
    assert_eq!(names, ["train-0", "train-1"]);
    let sizes: BTreeSet<u64> = live.iter().map(|(_, size)| *size).collect();
    assert_eq!(sizes.len(), 1, "a cached training has the curves of one that ran: {live:?}");
    let before = files(&sandbox.path().join("live"));
    sandbox.run_with(&["--tensorboard", "live"]).ok();
    assert_eq!(files(&sandbox.path().join("live")), before, "nothing is written twice");
    // Where curves can't be written, the run goes on.
    sandbox.write("taken", "");
    sandbox.edit("Epochs(3)", "Epochs(4)");
    let run = sandbox.run_with(&["--tensorboard", "taken"]).ok();
    assert!(run.stderr.contains("warning: "), "{}", run.stderr);
    assert_eq!(run.executed().iter().filter(|stage| stage.starts_with("train")).count(), 2);
}
