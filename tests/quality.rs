//! Measures of a code, end to end, on a model for which they can be told beforehand: a PCA.

use serde_json::Value;

use crate::sandbox::Sandbox;

const PIPELINE: &str = r#"Pipeline(name: "p", axes: {
    "form": {"code": Code, "paper": Paper}, "basis": {"own": Own, "principal": Principal},
}, stages: {
    "images": Dataset(
        source: Dsprites(Render(size: 16, factors: Continuous(samples: 120, seed: 0))), split: Train,
    ),
    "distances": Geodesic(data: "images", neighbors: 5),
    "pca": Train(model: Pca(latent: 4), data: "images", length: Steps(1), batch_size: 8,
                 optimizer: Adam(rate: 1e-3), seed: 0),
    "relevance-{form}-{basis}": Relevance(
        model: "pca", data: "images", form: Axis(form), basis: Axis(basis), images: 30,
        threshold: 0.7, also: [0.999],
    ),
    "spectrum": Estimate(points: "codes", estimator: Spectrum(threshold: 0.7)),
    "codes": Encode(model: "pca", data: "images"),
    "smoothness": Score(model: "pca", data: "images", metric: Smoothness(pairs: 70, seed: 0)),
    "isometry": Score(model: "pca", data: "images", distances: "distances",
                      metric: Isometry(pairs: 100, seed: 0)),
    "order": Score(model: "pca", data: "images", metric: Order),
    "factors": Score(model: "pca", data: "images", metric: Factors(first: 2)),
})"#;

fn record(sandbox: &Sandbox, stage: &str) -> Value {
    sandbox.call(&["export", stage, stage]).ok();
    serde_json::from_str(&sandbox.read(&format!("{stage}/record.json"))).unwrap()
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn a_pca_is_measured_as_its_formulas_say() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    let spectrum = record(&sandbox, "spectrum");
    // A list of principal axes has another name than one of coordinates.
    for (basis, prefix) in [("own", ""), ("principal", "axis_")] {
        for form in ["code", "paper"] {
            let relevance = record(&sandbox, &format!("relevance-{form}-{basis}"));
            let list = |name: &str| numbers(&relevance[format!("{prefix}{name}")]);
            // The decoder's columns are unit vectors, the same for every image.
            for weight in list("weights") {
                assert!((weight - 1.0).abs() < 1e-5, "{form}, {basis}: {weight}");
            }
            let pairs = list("scores").into_iter().zip(numbers(&spectrum["variances"]));
            for (score, variance) in pairs {
                assert!((score - variance).abs() < 1e-4 * variance, "{score} against {variance}");
            }
            assert_eq!(relevance["dimension"], spectrum["dimension"]);
            assert_eq!(relevance["dimension_99.9"], 4);
            assert_eq!(list("order"), [1.0, 2.0, 3.0, 4.0]);
        }
    }
    let smoothness = record(&sandbox, "smoothness");
    assert!(smoothness["smoothness"].as_f64().unwrap() < 1e-6, "{smoothness}");
    assert!(smoothness["step_length"].as_f64().unwrap() > 0.1, "{smoothness}");
    let order = record(&sandbox, "order");
    assert_eq!((&order["order_pairs"], &order["order_share"]), (&0.into(), &0.into()));
    let isometry = record(&sandbox, "isometry");
    assert!(isometry["isometry_correlation"].as_f64().unwrap() > 0.5, "{isometry}");
    let factors = record(&sandbox, "factors");
    assert!(factors["first_4_r2"].is_null() && factors["first_2_r2"].is_number(), "{factors}");
}

const LOSSES: &str = r#"Pipeline(name: "p", axes: {"model": {
    "pca": Pca(latent: 2),
    "ae": Ae(latent: 2, network: Conv(channels: [4]), reconstruction: SquaredError),
    "logits": Ae(latent: 2, network: Conv(channels: [4])),
}}, stages: {
    "images": Dataset(
        source: Dsprites(Render(size: 8, factors: Continuous(samples: 60, seed: 0))), split: Train,
    ),
    "train-{model}": Train(model: Axis(model), data: "images", length: Steps(3), batch_size: 8,
                           optimizer: Adam(rate: 1e-3), seed: 0),
    "loss-{model}": Score(model: "train-{model}", data: "images", metric: Reconstruction),
    "error-{model}": Score(model: "train-{model}", data: "images", metric: SquaredError),
})"#;

#[test]
fn a_reconstruction_is_scored_by_the_loss_it_was_trained_with_which_is_named() {
    let sandbox = Sandbox::new(LOSSES);
    sandbox.run().ok();
    for model in ["pca", "ae"] {
        let loss = record(&sandbox, &format!("loss-{model}"));
        let error = record(&sandbox, &format!("error-{model}"));
        assert_eq!(loss["loss"], "squared error, summed over values", "{model}");
        assert_eq!(loss["reconstruction"], error["squared_error"], "{model}");
    }
    let logits = record(&sandbox, "loss-logits");
    assert_eq!(logits["loss"], "binary cross-entropy, summed over values");
    assert_ne!(logits["reconstruction"], record(&sandbox, "error-logits")["squared_error"]);
    for (name, summed) in [("index.html", ", summed"), ("report.tex", r",\allowbreak{} summed")] {
        let report = sandbox.read(&format!("reports/p/{name}"));
        let loss = format!("The reconstruction loss is squared error{summed}");
        for words in ["Settings in words", &loss] {
            assert!(report.contains(words), "{name} lacks: {words}");
        }
    }
}

/// Samples in the order of a lattice: the first thousand have one scale and few of all places.
const SORTED: &str = r#"Pipeline(name: "p", stages: {
    "images": Dataset(source: Dsprites(Render(size: 8, factors: Lattice)), split: Train),
    "pca": Train(model: Pca(latent: 4), data: "images", length: Steps(1), batch_size: 8,
                 optimizer: Adam(rate: 1e-3), seed: 0),
    "relevance": Relevance(model: "pca", data: "images", codes: 1000, images: 5, threshold: 0.9),
    "spectrum": Estimate(points: "codes", estimator: Spectrum(threshold: 0.9)),
    "codes": Encode(model: "pca", data: "images"),
})"#;

#[test]
fn relevance_of_a_sorted_set_is_that_of_all_of_it() {
    let sandbox = Sandbox::new(SORTED);
    sandbox.run().ok();
    let (relevance, spectrum) = (record(&sandbox, "relevance"), record(&sandbox, "spectrum"));
    let pairs = numbers(&relevance["variances"]).into_iter().zip(numbers(&spectrum["variances"]));
    for (found, all) in pairs {
        assert!((found / all - 1.0).abs() < 0.2, "{found} against {all}");
    }
}

#[test]
fn distances_between_other_samples_are_refused() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.edit(r#"Geodesic(data: "images""#, r#"Geodesic(data: "others""#);
    let others = r#""others": Dataset(source: Dsprites(Render(size: 16,
        factors: Continuous(samples: 120, seed: 1))), split: Train), "distances": Geo"#;
    sandbox.edit(r#""distances": Geo"#, others);
    let failed = sandbox.call(&["pipeline.ron", "--until", "isometry"]).fails_with(1);
    assert!(
        failed.stderr.contains("the distances were not computed from `data`"),
        "{}",
        failed.stderr
    );
}
