//! Distances along graphs: of images and of vectors, between all samples or by way of anchors.

use crate::sandbox::Sandbox;

/// Twelve vectors on a line, in two groups far apart.
fn two_groups() -> String {
    let rows = (0..12).map(|row| format!("{},0\n", if row < 6 { row } else { 100 + row }));
    format!("x,y\n{}", rows.collect::<String>())
}

const PIPELINE: &str = r#"Pipeline(name: "p", stages: {
    "vectors": Dataset(
        source: Table(columns: ["x", "y"]), path: "data.csv", split: Train,
        division: Shares(train: 1, validation: 0, test: 0, seed: 0),
    ),
    "images": Dataset(
        source: Dsprites(Render(size: 16, factors: Continuous(samples: 40, seed: 0))), split: Train,
    ),
    "all": Geodesic(data: "vectors", neighbors: 2),
    "few": Geodesic(
        data: "vectors", neighbors: 2, anchors: Anchors(count: 11, seed: 0, link: StraightInCell),
    ),
    "images-few": Geodesic(
        data: "images", neighbors: 3, anchors: Anchors(count: 10, seed: 0, link: ViaAnchor),
    ),
})"#;

fn exported(sandbox: &Sandbox, stage: &str) -> (Vec<String>, serde_json::Value) {
    let files = sandbox.call(&["export", stage, stage]).ok().stdout;
    let about = serde_json::from_str(&sandbox.read(&format!("{stage}/about.json"))).unwrap();
    (files.lines().map(str::to_owned).collect(), about)
}

#[test]
fn a_stage_says_what_its_graph_is_like_and_stores_what_its_distances_need() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.write("data.csv", &two_groups());
    sandbox.run().ok();
    let log = |stage: &str| sandbox.call(&["log", stage]).ok().stdout;
    assert!(log("all").contains("12 points with 2 coordinates, 2 neighbors each\n"));
    let parts = "the graph has 2 connected components, joined at their closest points; \
                 0 of 1 links could have been another of the same length\n";
    assert!(log("all").contains(parts), "{}", log("all"));
    let anchors = "12 points with 2 coordinates, 11 of them anchors with 2 neighbors each\n";
    assert!(log("few").contains(anchors), "{}", log("few"));

    let (files, about) = exported(&sandbox, "all");
    assert_eq!(files, ["all/about.json", "all/distances.npy", "all/samples.blake3"]);
    assert_eq!((&about["components"], &about["anchors"]), (&2.into(), &().into()));
    let (files, about) = exported(&sandbox, "few");
    assert_eq!(files[1..], ["few/distances.npy", "few/nearest.npy", "few/samples.blake3"]);
    assert_eq!(about["anchors"], "StraightInCell");
    let (files, about) = exported(&sandbox, "images-few");
    assert!(files.contains(&"images-few/legs.npy".to_owned()), "{files:?}");
    assert_eq!(about["anchors"], "ViaAnchor");
}

#[test]
fn more_anchors_than_samples_are_refused_in_one_line() {
    let sandbox = Sandbox::new(&PIPELINE.replace("count: 11", "count: 12"));
    sandbox.write("data.csv", &two_groups());
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    let told = "12 anchors can't be chosen from 12 points: leave `anchors` out";
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
}
