use crate::sandbox::Sandbox;

/// Records of estimates, counts and errors, as the stages of a real pipeline leave them.
const RECORDED: &str = r#"Pipeline(
    name: "own",
    axes: {
        "estimator": {"mle": "4.1", "two-nn": "3.9"},
        "model": {"pcae": "4", "hae": "16", "pca": "9"},
        "seed": [0, 1],
    },
    stages: {
        "dimension-{estimator}": Command(
            args: ["sh", "-c", "printf '{\"dimension\": %s, \"spread\": 0.1, \"points_used\": 3000, \"interval_low\": 3.4, \"interval_high\": 4.6}' $0 > record.json", Axis(estimator)],
            outputs: ["record.json"], yields: "record",
        ),
        "count-{model}-{seed}": Command(
            args: ["sh", "-c", "printf '{\"dimension\": %s, \"total_variance\": 9, \"variances\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}' $0 > record.json", Axis(model)],
            outputs: ["record.json"], yields: "record",
        ),
        "error-{model}-{seed}": Command(
            args: ["sh", "-c", "printf '{\"squared_error\": 0.%s}' $0 > record.json", Axis(model)],
            outputs: ["record.json"], yields: "record",
        ),
        "t": Table(records: [Each("count-{model}-{seed}")], caption: "c", label: "Counts", rows: ["model"],
                   over: ["seed"], values: [Value(field: "dimension", title: "D")]),
        "answer": Conclusion(
            estimates: [Each("dimension-{estimator}")], counts: [Each("count-{model}-{seed}")],
            errors: [Each("error-{model}-{seed}")], titles: {"pcae": "PCAE", "hae": "HAE", "pca": "PCA"},
        ),
    },
)"#;

#[test]
fn a_run_ends_and_a_report_opens_with_the_conclusion() {
    let sandbox = Sandbox::new(RECORDED);
    let run = sandbox.call(&["pipeline.ron"]).ok();
    assert!(
        run.stderr.contains("wrote reports/own: index.html and 10 other files\n"),
        "{}",
        run.stderr
    );
    let told = run.stdout;
    assert!(told.starts_with("Conclusion. The intrinsic dimension is about 4: 2 of 2 "), "{told}");
    assert!(told.lines().take(8).all(|line| line.chars().count() <= 100), "{told}");
    assert!(told.contains("- Raise `latent`, for instance to 32."), "{told}");
    assert!(told.find("Next:").unwrap() < told.find("Counts. c").unwrap(), "{told}");
    let page = sandbox.read("reports/own/index.html");
    assert!(page.find("id=\"conclusion\"").unwrap() < page.find("id=\"tables\"").unwrap());
    assert!(page.contains("HAE counts all 16 coordinates of the code"));
    let document = sandbox.read("reports/own/report.tex");
    let place = |text: &str| document.find(text).unwrap_or_else(|| panic!("{text}: {document}"));
    assert!(place(r"\section{Conclusion}") < place(r"\section{Tables}"));
    assert!(!document.contains(r"\section{Runs}"), "stages and keys are in the appendix");
    assert!(sandbox.read("reports/own/appendix.tex").contains(r"\section{Runs}"));
    assert!(sandbox.read("reports/own/answer.md").starts_with("**Conclusion.** The intrinsic"));
}

#[test]
fn the_conclusion_is_an_event_before_the_summary() {
    let sandbox = Sandbox::new(RECORDED);
    let events = sandbox.run().ok().events();
    assert_eq!(events.last().unwrap()["event"], "summary");
    let event = events.iter().find(|event| event["event"] == "conclusion").unwrap();
    assert_eq!(event["stage"], "answer");
    assert_eq!((event["low"].as_f64(), event["high"].as_f64()), (Some(3.4), Some(4.6)));
    let rules: Vec<&str> =
        event["rules"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
    assert_eq!(rules, ["counts-agree", "linear-count", "at-limit"]);
}

/// Shapes of known dimension, with the estimators and the numbers of neighbors that `init` chooses.
const SHAPES: &str = r#"Pipeline(
    name: "shapes",
    axes: {
        "shape": {
            "roll-2": Manifold(shape: SwissRoll, samples: 1500, seed: 3),
            "sphere-5": Manifold(shape: Sphere(dimension: 5, ambient: 8), samples: 1500, seed: 3),
            "ellipses-4": Dsprites(Render(size: 16, supersampling: 4, factors: Continuous(samples: 1500, seed: 3))),
            "gaussian-10": Manifold(shape: Gaussian(dimension: 10, ambient: 20), samples: 1500, seed: 3),
        },
        "estimator": {
            "mle": Mle(neighbors: 20, form: MacKayGhahramani),
            "two-nn": TwoNn(discard: 0.1),
            "local-pca": LocalPca(neighbors: 50, rule: FukunagaOlsen()),
            "correlation": CorrelationDimension(near: 10, far: 20),
            "moments": Mom(neighbors: 20),
        },
    },
    stages: {
        "points-{shape}": Dataset(source: Axis(shape)),
        "near-{shape}": Neighbors(data: "points-{shape}", count: 50),
        "dimension-{shape}-{estimator}": Estimate(
            points: "points-{shape}", neighbors: "near-{shape}", estimator: Axis(estimator),
        ),
        "conclusion-{shape}": Conclusion(estimates: [Each("dimension-{shape}-{estimator}")]),
    },
)"#;

#[test]
fn the_range_holds_the_true_dimension_of_known_shapes() {
    let sandbox = Sandbox::new(SHAPES);
    let events = sandbox.run().ok().events();
    let mut seen = 0;
    for event in events.iter().filter(|event| event["event"] == "conclusion") {
        let stage = event["stage"].as_str().unwrap();
        let truth: f64 = stage.rsplit('-').next().unwrap().parse().unwrap();
        let low = event["low"].as_f64().unwrap();
        let high = event["high"].as_f64().unwrap_or(f64::INFINITY);
        assert!(low <= truth && truth <= high, "{stage}: {event}");
        assert!(low >= truth - 3.0 && (high <= 2.0 * truth || truth > 6.0), "{stage}: {event}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}
