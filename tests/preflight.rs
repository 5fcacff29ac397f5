use std::fs;

use crate::sandbox::Sandbox;

/// A training that would take years.
const LONG: &str = r#"Pipeline(name: "long", stages: {
    "images": Dataset(
        source: Dsprites(Render(size: 16, factors: Continuous(samples: 300, seed: 0))),
        split: Train,
    ),
    "train": Train(
        model: Ae(latent: 4, network: Conv(channels: [8])), data: "images",
        length: Epochs(10000000000000), batch_size: 32, optimizer: Adam(rate: 1e-3), seed: 0,
    ),
})"#;

#[test]
fn a_run_of_more_than_a_day_is_not_started_unasked() {
    let sandbox = Sandbox::new(LONG);
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("this run is predicted to take about"), "{}", refused.stderr);
    assert!(refused.stderr.contains("years"), "{}", refused.stderr);
    assert!(refused.stderr.contains("`--yes`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--device"), "{}", refused.stderr);
    assert!(sandbox.results().is_empty(), "nothing ran");

    // Consent starts it; it is stopped at once.
    let started = sandbox.call(&["pipeline.ron", "--yes", "--timeout", "1"]).fails_with(1);
    assert!(started.stderr.contains("predicted: about"), "{}", started.stderr);
    assert_eq!(sandbox.results().len(), 1, "the images are there");
}

#[test]
fn the_time_of_a_first_run_on_data_from_files_is_predicted() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
            "raw": Dataset(source: Table(), path: "data.csv", split: Train),
            "data": Preprocess(data: "raw", steps: [Scale(Standard)]),
            "train": Train(
                model: Ae(latent: 2, network: Mlp(widths: [16])), data: "data",
                length: Epochs(10000000000000), batch_size: 32, optimizer: Adam(rate: 1e-3), seed: 0,
            ),
        })"#,
    );
    let rows = (0..300).map(|row| format!("{row}.5,{},{}\n", row % 7, row % 11));
    sandbox.write("data.csv", &format!("a,b,c\n{}", rows.collect::<String>()));
    let plan = sandbox.call(&["plan", "pipeline.ron"]).ok();
    assert!(plan.stdout.contains("years"), "{}", plan.stdout);
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("this run is predicted to take about"), "{}", refused.stderr);
    assert!(sandbox.results().is_empty(), "nothing ran");
}

#[test]
fn the_time_of_estimates_is_predicted_before_a_first_run() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", axes: {"seed": [0, 1, 2, 3, 4, 5, 6, 7]}, stages: {
            "points": Dataset(
                source: Manifold(shape: Gaussian(dimension: 5, ambient: 8), samples: 5000, seed: 0),
            ),
            "dimension-{seed}": Estimate(
                points: "points", estimator: Mle(neighbors: 20, form: Pope), interval: (seed: Axis(seed)),
            ),
        })"#,
    );
    let plan = sandbox.call(&["plan", "pipeline.ron", "--json"]).ok().events();
    let predicted = &plan.last().unwrap()["prediction"];
    assert_eq!(predicted["counted"], 8, "{predicted}");
    assert_eq!(predicted["unknown"], serde_json::json!({"Dataset": 1}));
    let seconds = |at: usize| predicted["seconds"][at].as_f64().unwrap();
    assert!(seconds(0) > 1.0 && seconds(1) < 1000.0, "seconds to minutes: {predicted}");
}

#[test]
fn only_the_chosen_stages_count() {
    let sandbox = Sandbox::new(LONG);
    let chosen = sandbox.call(&["pipeline.ron", "--until", "images"]).ok();
    assert!(!chosen.stderr.contains("predicted"), "{}", chosen.stderr);
    assert_eq!(sandbox.results().len(), 1);
}

#[test]
fn a_plan_asks_nothing_measures_nothing_and_says_that_it_guesses() {
    let sandbox = Sandbox::new(LONG);
    let plan = sandbox.call(&["pipeline.ron", "--dry-run"]).ok();
    assert!(plan.stdout.contains("years"), "{}", plan.stdout);
    assert!(
        plan.stdout.contains("(1 stage at a rough rate, not measured here)"),
        "{}",
        plan.stdout
    );
    assert!(!sandbox.path().join("cache/rates.json").exists());
    sandbox.call(&["pipeline.ron"]).fails_with(2);
    let plan = sandbox.call(&["plan", "pipeline.ron"]).ok();
    assert!(plan.stdout.contains("(1 stage at a measured rate)"), "{}", plan.stdout);
}

#[test]
fn earlier_trainings_tell_how_long_the_next_one_takes() {
    let short = LONG.replace("Epochs(10000000000000)", "Epochs(2)");
    let sandbox = Sandbox::new(&short);
    let run = sandbox.call(&["pipeline.ron"]).ok();
    assert!(!run.stderr.contains("predicted"), "a short run starts at once: {}", run.stderr);
    assert!(!sandbox.path().join("cache/rates.json").exists(), "and nothing is measured");
    sandbox.edit("seed: 0,\n    )", "seed: 1,\n    )");
    let plan = sandbox.call(&["plan", "pipeline.ron"]).ok();
    assert!(plan.stdout.contains("(history: 1 run)"), "{}", plan.stdout);
    sandbox.edit("Epochs(2)", "Epochs(10000000000000)");
    sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(!sandbox.path().join("cache/rates.json").exists(), "the history was enough");
}

/// Two stages that fetch files, and one that could run before them.
const FETCHED: &str = r#"Pipeline(name: "fetched", stages: {
    "first": Command(args: ["touch", "out"], outputs: ["out"]),
    "some": Download(files: Pinned([
        (name: "one.npy", bytes: 1500000,
         sha256: "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7",
         mirrors: ["https://example.org/one.npy.gz", "https://example.com/one.npy"]),
        (name: "two.npy", bytes: 7,
         sha256: "bd7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7",
         mirrors: ["https://example.org/two.npy"]),
    ])),
    "more": Download(files: Pinned([
        (name: "three.csv", bytes: 8,
         sha256: "cd7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7",
         mirrors: ["https://example.org/three.csv"]),
    ])),
})"#;

#[test]
fn all_files_that_are_not_available_offline_are_listed_before_anything_runs() {
    let sandbox = Sandbox::new(FETCHED);
    let refused = sandbox.call(&["pipeline.ron", "--offline"]).fails_with(1);
    insta::assert_snapshot!(refused.stderr, @r"
    error: 3 files (1.5 MB) not available offline:
      one.npy  1.5 MB  (stage `some`)
          https://example.org/one.npy.gz
          https://example.com/one.npy
      two.npy  7 B  (stage `some`)
          https://example.org/two.npy
      three.csv  8 B  (stage `more`)
          https://example.org/three.csv
    help: put them into a folder and pass it with `--data DIR`; files may be gzipped, and up to two folders deep:
      DIR/one.npy
      DIR/two.npy
      DIR/three.csv
    ");
    assert!(sandbox.results().is_empty(), "nothing ran");
    let plan = sandbox.call(&["plan", "pipeline.ron", "--offline"]).ok();
    assert!(plan.stderr.contains("DIR/three.csv"), "{}", plan.stderr);
    let plan = sandbox.call(&["plan", "pipeline.ron"]).ok();
    assert!(plan.stderr.starts_with("to download: 3 files (1.5 MB)\n"), "{}", plan.stderr);

    // A file of that name in the data folder is not missing.
    let folder = sandbox.path().join("data/deep");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("two.npy.gz"), "").unwrap();
    let refused = sandbox.call(&["pipeline.ron", "--offline", "--data", "data"]).fails_with(1);
    assert!(!refused.stderr.contains("two.npy"), "{}", refused.stderr);
    assert!(refused.stderr.contains("  data/three.csv"), "{}", refused.stderr);

    // Whoever only wants the rest gets it.
    sandbox.call(&["pipeline.ron", "--offline", "--until", "first"]).ok();
    assert_eq!(sandbox.results().len(), 1);
}

#[test]
fn what_needs_no_missing_file_runs_if_asked_to_keep_going() {
    let sandbox = Sandbox::new(FETCHED);
    let going = sandbox.call(&["pipeline.ron", "--offline", "--keep-going"]).fails_with(1);
    assert!(
        going.stderr.contains("warning: 3 files (1.5 MB) not available offline"),
        "{}",
        going.stderr
    );
    assert_eq!(sandbox.results().len(), 1, "`first` ran");
}

#[test]
fn all_missing_files_of_a_user_are_mistakes_that_are_drawn_at_once() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
            "some": Dataset(source: Table(), path: "here/some.csv"),
            "more": Dataset(source: Table(), path: "there/more.csv"),
        })"#,
    );
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    for file in ["here/some.csv", "there/more.csv"] {
        let message = format!("there is no file or folder `{file}`");
        assert!(refused.stderr.contains(&message), "{}", refused.stderr);
    }
}
