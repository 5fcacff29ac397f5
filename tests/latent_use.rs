//! Codes at work, through the real program: classes, images between images, runtime.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;

const PIPELINE: &str = r#"Pipeline(
    name: "p",
    axes: {"model": {"ae": Ae(latent: 3, network: Conv(channels: [4])), "pca": Pca(latent: 3),
                     "pca-ae": PcaAe(latent: 3, network: Conv(channels: [4]))}},
    shared: {"ellipses": Dsprites(Render(size: 8, supersampling: 4,
                                         factors: Continuous(samples: 200, seed: 0)))},
    stages: {
        "train-images": Dataset(source: Shared(ellipses), split: Train),
        "test-images": Dataset(source: Shared(ellipses), split: Test),
        "train-{model}": Train(model: Axis(model), data: "train-images", length: Epochs(4),
                               batch_size: 32, optimizer: Adam(rate: 1e-2), seed: 0),
        "classes-{model}": Classify(
            model: "train-{model}", train: "train-images", test: "test-images",
            by: Nearest(neighbors: 3), classes: Bins(factor: "x", count: 2), seed: 0,
        ),
        "runtime-{model}": Runtime(model: "train-{model}", also: ["test-images"]),
        "scores": Command(
            args: ["sh", "-c", "echo '{\"scores\": [1, 3, 2]}' > record.json"],
            outputs: ["record.json"], yields: "record",
        ),
        "paths-{model}": Interpolate(
            model: "train-{model}", data: "test-images",
            between: Rows(pairs: [(0, 7), (3, 1)], images: 4),
            coordinates: Relevant(k: 2, scores: "scores"),
        ),
        "figure": Figure(
            paths: [Each("paths-{model}")], images: "test-images",
            picture: Interpolation(caption: "c", label: "l"),
        ),
    },
)"#;

fn file(sandbox: &Sandbox, stage: &str, name: &str) -> Value {
    sandbox.call(&["export", stage, stage, "pipeline.ron"]).ok();
    serde_json::from_str(&sandbox.read(&format!("{stage}/{name}"))).unwrap()
}

fn record(sandbox: &Sandbox, stage: &str) -> Value {
    file(sandbox, stage, "record.json")
}

#[test]
fn classes_interpolations_and_times_of_a_trained_model() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    assert!(sandbox.run().ok().executed().is_empty(), "all is cached");
    let classes = record(&sandbox, "classes-pca");
    assert_eq!((&classes["classes"], &classes["samples"]), (&2.into(), &200.into()));
    assert!(classes["error_percent"].as_f64().unwrap() < 40.0, "{classes}");

    let times = record(&sandbox, "runtime-ae");
    assert_eq!(times["epochs"], 4);
    let [lower, median, upper, training, total] = [
        "lower_quartile",
        "seconds_per_epoch",
        "upper_quartile",
        "training_seconds",
        "total_seconds",
    ]
    .map(|name| times[name].as_f64().unwrap());
    assert!(0.0 < lower && lower <= median && median <= upper && upper <= training, "{times}");
    assert!(training < total, "the test images took their time too: {times}");
    assert!(times["hardware"].as_str().unwrap().ends_with("cores, device flex"), "{times}");
    let staged = record(&sandbox, "runtime-pca-ae");
    assert_eq!(staged["epochs"], 4, "an epoch is one of each of the three coordinates");
    let exact = record(&sandbox, "runtime-pca");
    assert_eq!((&exact["epochs"], &exact["seconds_per_epoch"]), (&0.into(), &Value::Null));

    let figure = file(&sandbox, "figure", "figure.json");
    let blocks = figure["Interpolation"]["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 3);
    let strip = &blocks[0]["strips"][1];
    assert_eq!(
        (strip["ends"].as_array().unwrap().len(), strip["steps"].as_array().unwrap().len()),
        (2, 4)
    );
}

#[test]
fn coordinates_along_principal_axes_come_with_the_scores() {
    let stages = r#""figure": Figure("#;
    let more = r#""axes": Relevance(
            model: "train-ae", data: "train-images", basis: Principal, threshold: 0.9,
        ),
        "kept-{kept}": Interpolate(
            model: "train-ae", data: "test-images", between: Rows(pairs: [(0, 7)], images: 4),
            coordinates: Axis(kept),
        ),
        "figure": Figure("#;
    let axes = r#"axes: {"kept": {"all": All, "axes": Relevant(k: 3, scores: "axes"),
                     "one": Relevant(k: 1, scores: "axes")},"#;
    let text = PIPELINE.replace(stages, more).replace("axes: {", &format!("{axes} "));
    let sandbox = Sandbox::new(&text);
    sandbox.call(&["pipeline.ron", "--until", "kept-*"]).ok();
    let pixels = |stage: &str| {
        sandbox.call(&["export", stage, stage, "pipeline.ron"]).ok();
        fs::read(sandbox.path().join(stage).join("images.npy")).unwrap()
    };
    let all = pixels("kept-all");
    let apart = |other: &[u8]| {
        all.iter().zip(other).map(|(one, other)| one.abs_diff(*other)).max().unwrap()
    };
    // All three axes together are the whole code.
    assert!(apart(&pixels("kept-axes")) <= 1);
    assert!(apart(&pixels("kept-one")) > 1);
}

#[test]
fn a_training_forced_to_run_again_keeps_the_times_that_were_told() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    let told = record(&sandbox, "runtime-ae");
    assert_eq!(sandbox.run_with(&["--force", "train-ae"]).ok().executed(), ["train-ae"]);
    assert_eq!(record(&sandbox, "runtime-ae"), told);
}
