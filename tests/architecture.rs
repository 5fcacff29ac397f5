//! The shape of the code itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pcae::engine::assess;
use pcae::engine::diagnostic::Diagnostic;
use pcae::engine::outside::Presence;
use pcae::engine::plan::Plan;
use pcae::engine::source::Source;
use pcae::stages::AnyStage;

use crate::sandbox::files;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    files(&root().join(folder))
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(read)
        .collect()
}

/// Every module of the library, and which others it may name; itself is understood.
const ARROWS: [(&str, &[&str]); 18] = [
    ("engine", &[]),
    ("numerics", &[]),
    ("download", &[]),
    ("statistics", &[]),
    ("interpolation", &["numerics"]),
    ("metrics", &["numerics"]),
    ("geometry", &["numerics"]),
    ("dimension", &["geometry", "numerics"]),
    ("quality", &["geometry", "numerics"]),
    ("report", &["numerics", "statistics"]),
    ("data", &["download", "numerics"]),
    ("kernels", &["data", "numerics"]),
    ("models", &["data", "device", "geometry", "kernels", "numerics"]),
    ("features", &["data", "device", "models", "numerics"]),
    ("training", &["data", "device", "geometry", "kernels", "models", "numerics"]),
    ("classification", &["data", "device", "geometry", "models", "numerics", "training"]),
    (
        "stages",
        &[
            "classification",
            "data",
            "device",
            "dimension",
            "download",
            "engine",
            "features",
            "geometry",
            "interpolation",
            "metrics",
            "models",
            "numerics",
            "quality",
            "report",
            "training",
        ],
    ),
    ("cli", &["data", "device", "engine", "numerics", "report", "stages", "statistics"]),
];

#[test]
fn arrows_point_one_way() {
    let modules = ARROWS.map(|(module, _)| module);
    for (folder, may_name) in ARROWS {
        for (name, text) in sources(&format!("src/{folder}")) {
            assert!(!text.contains("use crate::{"), "{name} imports in one lump");
            for module in modules.iter().chain(&["device"]) {
                let allowed = *module == folder || may_name.contains(module);
                let named = text.contains(&format!("crate::{module}"));
                assert!(allowed || !named, "{name} names `{module}`");
            }
        }
    }
}

/// One stage of each kind.
const EVERY_KIND: &str = r#"Pipeline(name: "p", axes: {"seed": [0]}, stages: {
    "own": Command(args: ["true"], outputs: ["out"]),
    "images": Dataset(
        source: Dsprites(Render(size: 16, supersampling: 8, factors: Continuous(samples: 3000, seed: 0))),
        split: Train,
    ),
    "files": Download(files: Mnist),
    "neighbors": Neighbors(data: "images", count: 20, queries: 100, seed: 0),
    "padded": Preprocess(data: "images", steps: [Pad(20)]),
    "distances": Geodesic(data: "images", neighbors: 15),
    "train": Train(
        model: Pcae(latent: 16, network: Conv(channels: [16, 32]), beta: 16.0,
                    gamma: Dynamic(threshold: 0.98, every: Steps(100))),
        data: "images", distances: "distances", length: Steps(1000), batch_size: 256,
        optimizer: Adam(rate: 3e-3), schedule: FlatThenCosine(flat: 0.5), seed: 0,
    ),
    "classes": Classify(model: "train", train: "images", test: "images", by: Mlp(), seed: 0),
    "classifier": TrainClassifier(data: "images", network: Conv(channels: [32, 64]), seed: 0),
    "midpoints": Interpolate(
        model: "train", data: "images", between: Midpoints(count: 10000, seed: 0), coordinates: First(8),
    ),
    "runtime": Runtime(model: "train", also: ["distances"]),
    "codes": Encode(model: "train", data: "images"),
    "dimension-{seed}": Estimate(points: "codes", estimator: Variance(threshold: 0.99)),
    "features": Features(data: "images", network: Inception(weights: "files", resize: Clean)),
    "distance": Frechet(
        real: "features", generated: "codes", kid: Kid(subsets: 100, subset_size: 1000, seed: 0),
    ),
    "relevance": Relevance(model: "train", data: "images", threshold: 0.99),
    "quality": Score(model: "train", data: "images", metric: Reconstruction),
    "table": Table(
        records: [Each("dimension-{seed}")], caption: "c", label: "l", rows: ["seed"],
        values: [Value(field: "dimension", title: "D", best: Closest(4.0), published: {"0": (4.0, 0.0)})],
    ),
    "figure": Figure(
        records: [Each("dimension-{seed}")],
        picture: VarianceSpectrum(caption: "c", label: "l", series: "seed"),
    ),
})"#;

#[test]
fn settings_of_every_kind_have_pinned_keys() {
    // A change here makes every user compute again: raise the kind's version on purpose instead.
    let source = Source::new("every-kind.ron", EVERY_KIND);
    let plan = Plan::<AnyStage>::load(&source, &Presence::Seen).unwrap();
    let mut keys = BTreeMap::new();
    for stage in plan.stages() {
        let record = assess::bare_record(&*stage.stage);
        keys.entry(record.kind.clone()).or_insert_with(|| record.key().short());
    }
    let pinned = [
        ("Classify", "87c6051e"),
        ("Command", "7d80a20e"),
        ("Dataset", "d2bd52c8"),
        ("Download", "7cb7e3e5"),
        ("Encode", "c560f60f"),
        ("Estimate", "db6a038c"),
        ("Features", "59d58637"),
        ("Figure", "877addfe"),
        ("Frechet", "12f9ba2a"),
        ("Geodesic", "445cb05f"),
        ("Interpolate", "033acf43"),
        ("Neighbors", "40d49ed8"),
        ("Preprocess", "ba641e15"),
        ("Relevance", "bc97855a"),
        ("Runtime", "e2cbf1e1"),
        ("Score", "bd5f9570"),
        ("Table", "37070732"),
        ("Train", "908e1625"),
        ("TrainClassifier", "2c6bc505"),
    ];
    let pinned = pinned.map(|(kind, key)| (kind.to_owned(), key.to_owned()));
    assert_eq!(keys, BTreeMap::from(pinned));
}

#[test]
fn files_have_a_purpose_and_a_measure() {
    for (name, text) in sources("src") {
        assert!(text.starts_with("//!"), "{name} does not say what it is for");
        let lines = text.lines().count();
        assert!(lines <= 450, "{name} has {lines} lines");
        for word in ["TODO", "FIXME", "XXX", "unimplemented!", "todo!"] {
            assert!(!text.contains(word), "{name} contains {word}");
        }
    }
}

/// Returns the mistakes of stages that stand alone: what they refer to is elsewhere.
fn mistakes(name: &str, stages: &str) -> Vec<Diagnostic> {
    let axes = r#"{"model": {"pcae": 1}, "seed": [0]}"#;
    let pipeline = format!(r#"Pipeline(name: "p", axes: {axes}, stages: {{ {stages} }})"#);
    let found = Plan::<AnyStage>::load(&Source::new(name, pipeline), &Presence::Seen).err();
    let elsewhere = |mistake: &Diagnostic| {
        mistake.message.starts_with("no stage is named")
            || mistake.message.starts_with("there is no file")
    };
    found.unwrap_or_default().into_iter().filter(|mistake| !elsewhere(mistake)).collect()
}

#[test]
fn every_example_in_a_stage_is_valid() {
    let mut count = 0;
    for (name, text) in sources("src/stages") {
        let docs: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("//!")).collect();
        let docs = docs.join("\n");
        let Some((_, rest)) = docs.split_once("```ron") else {
            continue;
        };
        let wrong = mistakes(&name, rest.split("```").next().unwrap());
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        count += 1;
    }
    assert!(count >= 15, "only {count} examples were found");
}

#[test]
fn the_pipelines_in_the_readme_have_no_mistakes() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut examples = readme.split("```ron\n").skip(1).map(|rest| rest.split("```").next());
    let whole = examples.next().flatten().unwrap();
    assert!(whole.starts_with("Pipeline("), "{whole}");
    Plan::<AnyStage>::load(&Source::new("README.md", whole), &Presence::Seen).unwrap();
    for stages in examples.flatten() {
        let wrong = mistakes("README.md", stages);
        assert!(wrong.is_empty(), "{stages}: {wrong:?}");
    }
}

#[test]
fn shipped_pipelines_have_no_mistakes() {
    let is_pipeline = |path: &PathBuf| path.extension().is_some_and(|end| end == "ron");
    for path in files(&root().join("pipelines")).into_iter().filter(is_pipeline) {
        let source = Source::read(&path).unwrap();
        Plan::<AnyStage>::load(&source, &Presence::Seen).unwrap();
    }
}
