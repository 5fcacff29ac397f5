//! Scores of samples by their features, through the real program.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::Sandbox;

const PIPELINE: &str = r#"Pipeline(name: "scores", stages: {
    "real": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 40, seed: 0))), split: Test),
    "drawn": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 30, seed: 1))), split: Test),
    "real-pixels": Features(data: "real", network: Pixels),
    "drawn-pixels": Features(data: "drawn", network: Pixels),
    "of-features": Frechet(real: "real-pixels", generated: "drawn-pixels",
                           kid: Kid(subsets: 3, subset_size: 20, seed: 0)),
    "of-images": Frechet(real: "real", generated: "drawn"),
    "of-the-same": Frechet(real: "real", generated: "real"),
})"#;

fn record(sandbox: &Sandbox, stage: &str) -> Value {
    sandbox.call(&["export", stage, stage]).ok();
    serde_json::from_str(&sandbox.read(&format!("{stage}/record.json"))).unwrap()
}

#[test]
fn a_frechet_distance_of_pixels_says_so_and_warns_of_few_samples() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    let of_features = record(&sandbox, "of-features");
    assert_eq!(of_features["features"], "Pixels");
    assert_eq!((&of_features["samples"], &of_features["real_samples"]), (&30.into(), &40.into()));
    assert!(of_features["kid_spread"].as_f64().unwrap() > 0.0);
    assert!(of_features["kid"].is_number());
    let distance = |record: &Value| record["frechet_distance"].as_f64().unwrap();
    assert!(distance(&of_features) > 0.1);
    let of_images = record(&sandbox, "of-images");
    assert_eq!(of_images["features"], "not known");
    assert!((distance(&of_images) / distance(&of_features) - 1.0).abs() < 1e-12);
    assert!(of_images.get("kid").is_none());
    assert!(distance(&record(&sandbox, "of-the-same")) < 1e-9);
    let log = sandbox.call(&["log", "of-features"]).ok().stdout;
    for told in ["warning: 40 real samples, but", "warning: 30 generated samples, but"] {
        assert!(log.contains(told), "{log}");
    }
}

#[test]
fn weights_of_another_network_are_told_by_the_array_that_is_missing() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "scores", stages: {
        "real": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 4, seed: 0)))),
        "features": Features(data: "real", network: Inception(path: "weights.pth", resize: Clean)),
    })"#,
    );
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/pytorch/tiny.pth");
    fs::copy(tiny, sandbox.path().join("weights.pth")).unwrap();
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    let told = "the model needs an array `Conv2d_1a_3x3.conv.weight`, which is missing";
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
    sandbox.write("weights.pth", "hello");
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    let told = "weights.pth: this is neither a PyTorch file nor a safetensors file";
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
}
