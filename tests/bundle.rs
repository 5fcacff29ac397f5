use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Outcome, Sandbox, files};

/// A table and a figure of what a program of the author's and a generated data set gave.
const PIPELINE: &str = r#"Pipeline(
    name: "small",
    axes: {"set": {"roll": SwissRoll}, "seed": [0, 1, 2]},
    notes: {"Choices": "notes.txt"},
    stages: {
        "points-{set}-{seed}": Dataset(source: Manifold(shape: Axis(set), samples: 200, seed: Axis(seed))),
        "dimension-{set}-{seed}": Estimate(
            points: "points-{set}-{seed}", estimator: Gride(neighbors: 8), interval: None,
        ),
        "score-{set}-{seed}": Command(
            args: ["sh", "-c", "cat own.txt; echo '{\"a\": '$0'}' > record.json", "{seed}"],
            files: ["data/own.txt"], outputs: ["record.json"], yields: "record",
        ),
        "scores": Table(
            records: [Each("score-{set}-{seed}"), Each("dimension-{set}-{seed}")],
            caption: "Scores", label: "Table 1", rows: ["set"], over: ["seed"],
            values: [
                Value(field: "a", title: "A", published: {"roll": (1.0, 0.5)}),
                Value(field: "dimension", title: "Dimension"),
            ],
        ),
        "bars": Figure(
            records: [Each("dimension-{set}-{seed}")],
            picture: Bars(caption: "Dimension", label: "Figure 1", field: "dimension", title: "D",
                          bars: "set", over: ["seed"]),
        ),
    },
)"#;

/// Runs the pipeline and packs it.
fn packed(arguments: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.write("notes.txt", "A choice.\n");
    fs::create_dir(sandbox.path().join("data")).unwrap();
    sandbox.write("data/own.txt", "own");
    sandbox.run().ok();
    let bundle = ["bundle", "pipeline.ron", "-o", "x.pcae"];
    sandbox.call(&[&bundle[..], arguments].concat()).ok();
    sandbox
}

/// Replays a bundle where there is nothing else.
fn replay(from: &Sandbox, arguments: &[&str]) -> (Sandbox, Outcome) {
    let elsewhere = Sandbox::new("");
    fs::remove_file(elsewhere.path().join("pipeline.ron")).unwrap();
    fs::create_dir(elsewhere.path().join("tmp")).unwrap();
    let bundle = from.path().join("x.pcae");
    let mut command = elsewhere.command(&["replay", bundle.to_str().unwrap()]);
    command.args(arguments).env("TMPDIR", elsewhere.path().join("tmp"));
    let outcome = Outcome::of(command.output().unwrap());
    (elsewhere, outcome)
}

fn outcome_of<'v>(events: &'v [Value], item: &str) -> &'v Value {
    let found = events.iter().find(|event| event["item"] == item);
    &found.unwrap_or_else(|| panic!("{item} is not among {events:#?}"))["outcome"]
}

#[test]
fn a_bundle_is_made_again_where_there_is_nothing_else_and_leaves_nothing_behind() {
    let sandbox = packed(&[]);
    let (elsewhere, replayed) = replay(&sandbox, &["--json", "--recompute", "100%"]);
    let events = replayed.ok().events();
    for item in ["scores", "bars", "index.html", "report.tex", "manifest.json", "dimension-roll-1"]
    {
        assert_eq!(outcome_of(&events, item), "equal", "{item}");
    }
    let summary = events.last().unwrap();
    assert_eq!((&summary["confirmed"], &summary["differs"]), (&true.into(), &0.into()));
    assert!(
        events.iter().all(|event| event["item"] != "score-roll-1"),
        "no program of the author's ran"
    );
    assert!(files(elsewhere.path()).is_empty(), "{:?}", files(elsewhere.path()));
    assert_eq!(fs::read_dir(elsewhere.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn equal_results_give_equal_bundles_that_any_tool_opens() {
    let sandbox = packed(&[]);
    sandbox.call(&["bundle", "-o", "y.pcae"]).ok();
    let read = |name: &str| fs::read(sandbox.path().join(name)).unwrap();
    assert!(read("x.pcae") == read("y.pcae"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(read("x.pcae"))).unwrap();
    let mut text = |name: &str| {
        let file = archive.by_name(name).unwrap();
        std::io::read_to_string(file).unwrap()
    };
    assert_eq!(text("pipeline/pipeline.ron"), PIPELINE);
    assert_eq!(text("pipeline/data/own.txt"), "own");
    assert!(text("README.md").contains("pcae-run replay"));
    let claims = text("CLAIMS.md");
    let row = "Table 1 / roll / A | 1.00 ± 0.50 | 1.00 ± 0.82 | 3 |";
    assert!(claims.contains(row) && claims.contains("--until scores`"), "{claims}");
    let metadata: Value = serde_json::from_str(&text("ro-crate-metadata.json")).unwrap();
    assert_eq!(metadata["@graph"][1]["mainEntity"]["@id"], "pipeline/pipeline.ron");
}

#[test]
fn a_bundle_of_tables_makes_tables_again_and_says_what_it_leaves_out() {
    let whole = packed(&[]);
    let sandbox = packed(&["--tables"]);
    let size = |sandbox: &Sandbox| fs::metadata(sandbox.path().join("x.pcae")).unwrap().len();
    assert!(size(&sandbox) < size(&whole));
    let (_, replayed) = replay(&sandbox, &["--json", "--recompute", "5%"]);
    let events = replayed.ok().events();
    assert_eq!(outcome_of(&events, "scores"), "equal");
    assert_eq!(outcome_of(&events, "numbers.tex"), "equal");
    assert_eq!(outcome_of(&events, "manifest.json"), "not-possible");
    assert!(events.iter().all(|event| event["item"] != "bars"));
}

#[test]
fn what_comes_out_otherwise_is_told_with_exit_code_1() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.write("notes.txt", "A choice.\n");
    fs::create_dir(sandbox.path().join("data")).unwrap();
    sandbox.write("data/own.txt", "own");
    sandbox.run().ok();
    forge(&sandbox, "scores");
    sandbox.call(&["bundle", "pipeline.ron", "-o", "x.pcae"]).ok();
    let (_, replayed) = replay(&sandbox, &[]);
    let replayed = replayed.fails_with(1);
    let line = replayed.stdout.lines().find(|line| line.starts_with("scores ")).unwrap();
    assert!(line.contains("differs") && line.contains("table.md"), "{line}");
}

/// Changes a number in the result of a table, with every digest as if its stage had left it.
fn forge(sandbox: &Sandbox, stage: &str) {
    let of_stage = |path: &Path| {
        let entry: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        (entry["run"]["stage"] == stage).then_some(entry)
    };
    let entries = files(&sandbox.path().join("cache/entries"));
    let (path, mut entry) = entries.iter().find_map(|path| Some((path, of_stage(path)?))).unwrap();
    let object =
        |digest: &str| sandbox.path().join("cache/objects").join(&digest[..2]).join(&digest[2..]);
    let list = entry["artifact"]["files"].as_array_mut().unwrap();
    let file = list.iter_mut().find(|file| file["name"] == "table.md").unwrap();
    let text = fs::read_to_string(object(file["digest"].as_str().unwrap())).unwrap();
    let forged = text.replace("Scores", "Better");
    assert_ne!(forged, text);
    let digest = blake3::hash(forged.as_bytes()).to_hex().to_string();
    fs::create_dir_all(object(&digest).parent().unwrap()).unwrap();
    fs::write(object(&digest), &forged).unwrap();
    (file["digest"], file["bytes"]) = (digest.into(), forged.len().into());
    entry["artifact"]["digest"] = artifact_digest(&entry["artifact"]).into();
    fs::write(path, serde_json::to_string_pretty(&entry).unwrap()).unwrap();
    sandbox.call(&["cache", "rebuild"]).ok();
}

/// Returns the digest of an artifact as the cache makes it.
fn artifact_digest(artifact: &Value) -> String {
    use pcae::engine::digest::ContentDigest;
    use pcae::engine::stage::artifact::{StoredArtifact, StoredFile};
    let files = artifact["files"].as_array().unwrap().iter().map(|file| StoredFile {
        name: file["name"].as_str().unwrap().to_owned(),
        digest: file["digest"].as_str().unwrap().parse::<ContentDigest>().unwrap(),
        bytes: file["bytes"].as_u64().unwrap(),
    });
    StoredArtifact::new(artifact["kind"].as_str().unwrap(), files.collect()).digest.to_string()
}

#[test]
fn a_bundle_that_is_not_what_it_was_is_refused_with_exit_code_2_and_nothing_is_written() {
    let sandbox = packed(&[]);
    let path = sandbox.path().join("x.pcae");
    let good = fs::read(&path).unwrap();
    let middle = good.len() / 2;
    let changed = [&good[..middle], &[good[middle] ^ 1], &good[middle + 1..]].concat();
    for bytes in [&changed[..], &good[..middle], b"", b"PK\x05\x06"] {
        fs::write(&path, bytes).unwrap();
        let (elsewhere, replayed) = replay(&sandbox, &["-o", "here"]);
        let replayed = replayed.fails_with(2);
        assert!(replayed.stderr.starts_with("error: "), "{}", replayed.stderr);
        assert_eq!(replayed.stderr.lines().count(), 1, "{}", replayed.stderr);
        assert!(!elsewhere.path().join("here").exists());
        assert_eq!(fs::read_dir(elsewhere.path().join("tmp")).unwrap().count(), 0);
    }
    fs::write(&path, &good).unwrap();
    let (elsewhere, replayed) = replay(&sandbox, &["-o", "here"]);
    replayed.ok();
    assert!(elsewhere.path().join("here/report/index.html").is_file());
    let again = elsewhere.call(&["replay", path.to_str().unwrap(), "-o", "here"]).fails_with(2);
    assert!(again.stderr.contains("not there yet"), "{}", again.stderr);
}

#[test]
fn with_a_trusted_key_only_bundles_with_its_signature_are_taken() {
    use pcae::engine::remote::SecretKey;
    let folder = tempfile::tempdir().unwrap();
    let keys = ["lab", "other"].map(|name| {
        let (key, path) = (SecretKey::generate(name).unwrap(), folder.path().join(name));
        key.write(&path).unwrap();
        (path.to_str().unwrap().to_owned(), key.public_key().unwrap().to_string())
    });
    let [(lab, lab_public), (_, other_public)] = &keys;
    let unsigned = packed(&[]);
    let (_, refused) = replay(&unsigned, &["--trust", lab_public]);
    assert!(refused.fails_with(2).stderr.contains("it is not signed"));
    let (_, taken) = replay(&unsigned, &["--trust", lab_public, "--allow-unsigned"]);
    assert!(taken.ok().stderr.contains("nobody vouches for it"));
    let signed = packed(&["--sign", lab]);
    let (_, refused) = replay(&signed, &["--trust", other_public]);
    assert!(refused.fails_with(2).stderr.contains("signed by `lab`, which is not among"));
    let (_, taken) = replay(&signed, &["--trust", other_public, "--trust", lab_public]);
    assert!(taken.ok().stderr.contains("signed by `lab`, whose key is trusted"));
    let (_, taken) = replay(&signed, &[]);
    assert!(taken.ok().stderr.contains("says to be signed by `lab`, but nobody vouches for it"));
}

#[test]
fn a_pipeline_without_all_results_is_not_packed() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.write("notes.txt", "A choice.\n");
    fs::create_dir(sandbox.path().join("data")).unwrap();
    sandbox.write("data/own.txt", "own");
    let refused = sandbox.call(&["bundle", "pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("no result of 11 stages"), "{}", refused.stderr);
    assert!(refused.stderr.contains("run `pcae-run pipeline.ron` first"), "{}", refused.stderr);
    assert!(!sandbox.path().join("small.pcae").exists());
}
