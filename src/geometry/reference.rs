//! Checks neighbors, graphs, shortest paths and anchors against scikit-learn and SciPy: see
//! tests/reference/geodesic.py.

use std::num::NonZeroUsize;

use serde::Deserialize;

use super::anchors::by_way_of;
use super::{AnchorLink, Distances, GeodesicSpec, Rescale, euclidean};
use crate::numerics::Points;

#[derive(Deserialize)]
struct Case {
    rows: usize,
    width: usize,
    neighbors: usize,
    points: Vec<f32>,
    components: usize,
    distances: Vec<f64>,
}

#[derive(Deserialize)]
struct Anchored {
    rows: usize,
    width: usize,
    neighbors: usize,
    points: Vec<f32>,
    anchors: Vec<usize>,
    nearest: Vec<u32>,
    components: usize,
    as_anchor: Vec<f64>,
    straight_in_cell: Vec<f64>,
    via_anchor: Vec<f64>,
}

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
    anchored: Vec<Anchored>,
}

fn reference() -> Reference {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/geodesic.json"));
    serde_json::from_str(text).unwrap()
}

fn spec(neighbors: usize) -> GeodesicSpec {
    let neighbors = NonZeroUsize::new(neighbors).unwrap();
    GeodesicSpec { data: (), neighbors, rescale: Rescale::None, anchors: None }
}

#[test]
fn distances_agree_with_scikit_learn_and_scipy() {
    let cases = reference().cases;
    assert_eq!(cases.len(), 2);
    for case in cases {
        let points = Points::new(case.rows, case.width, case.points).unwrap();
        let found = Distances::geodesic(&points, &spec(case.neighbors), &mut |_, _| ()).unwrap();
        assert_eq!(found.parts().unwrap().components, case.components);
        for (&found, &expected) in found.values().iter().zip(&case.distances) {
            assert!((f64::from(found) - expected).abs() <= 1e-6 * expected);
        }
    }
}

#[test]
fn distances_by_way_of_anchors_agree_with_scikit_learn_and_scipy() {
    let cases = reference().anchored;
    assert_eq!(cases.len(), 2);
    for case in cases {
        let points = Points::new(case.rows, case.width, case.points).unwrap();
        let everyone: Vec<usize> = (0..case.rows).collect();
        let all = [
            (AnchorLink::AsAnchor, case.as_anchor),
            (AnchorLink::StraightInCell, case.straight_in_cell),
            (AnchorLink::ViaAnchor, case.via_anchor),
        ];
        for (link, expected) in all {
            let settings = spec(case.neighbors);
            let found = by_way_of(&points, &case.anchors, &settings, link, &mut |_, _| ()).unwrap();
            assert_eq!(found.parts().unwrap().components, case.components);
            assert_eq!(found.links().unwrap().nearest, case.nearest);
            let mean = expected.iter().sum::<f64>() / expected.len() as f64;
            assert!((found.mean_before_scaling() / mean - 1.0).abs() < 1e-7, "{link:?}");
            let euclid = |a: usize, b: usize| euclidean(points.row(a), points.row(b));
            for (square, expected) in found.squared_between(&everyone, &euclid).iter().zip(expected)
            {
                let difference = f64::from(*square).sqrt() - expected;
                assert!(difference.abs() <= 1e-6 * expected, "{link:?}");
            }
        }
    }
}
