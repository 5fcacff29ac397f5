//! Checks the estimators against scikit-dimension (see tests/reference/estimators.py), and what
//! every one of them promises: the dimension of a ball, whatever its size and place.

use std::collections::BTreeMap;

use rand::{Rng, RngExt};
use serde::Deserialize;

use super::{EstimateError, EstimatorSpec, Finding, LocalEstimate};
use crate::geometry::Neighbors;
use crate::numerics::{Points, Seed};

#[derive(Deserialize)]
struct Reference {
    scale: f32,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    width: usize,
    points: Vec<f32>,
    mle: BTreeMap<String, BTreeMap<String, f64>>,
    two_nn: BTreeMap<String, f64>,
    local_pca: BTreeMap<String, Axes>,
    correlation: f64,
    correlation_near: f64,
    moments: f64,
}

#[derive(Deserialize)]
struct Axes {
    all: f64,
    each: f64,
}

fn reference() -> Reference {
    let text =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/estimators.json"));
    serde_json::from_str(text).unwrap()
}

fn spec(text: &str) -> EstimatorSpec {
    let options = ron::Options::default()
        .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
        .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES);
    options.from_str(text).unwrap()
}

fn local(text: &str, points: &Points) -> Result<LocalEstimate, EstimateError> {
    match spec(text).estimate(points, None)? {
        Finding::Local(found) => Ok(found),
        Finding::Count(..) => panic!("{text} counts"),
    }
}

#[test]
fn every_estimator_agrees_with_scikit_dimension() {
    let Reference { scale, cases } = reference();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let values = case.points.iter().map(|value| value / scale).collect();
        let points = Points::from_rows(case.width, values);
        let check = |text: &str, expected: f64| {
            let found = local(text, &points).unwrap();
            let apart = (found.dimension - expected).abs();
            assert!(
                apart <= 1e-6 * expected.max(1.0),
                "{} {text}: {found:?} {expected}",
                case.name
            );
            assert!(found.spread.is_finite() && found.duplicates == 0, "{text}");
        };
        for (neighbors, forms) in &case.mle {
            for (form, &expected) in forms {
                check(&format!("Mle(neighbors: {neighbors}, form: {form})"), expected);
            }
        }
        check("TwoNn()", case.two_nn["line"]);
        check("TwoNn(discard: 0.02)", case.two_nn["line_of_more"]);
        check("TwoNn(fit: Likelihood)", case.two_nn["likelihood"]);
        check("TwoNn(discard: 0, fit: Likelihood)", case.two_nn["likelihood_of_all"]);
        for (rule, Axes { all, each }) in &case.local_pca {
            let rule = match rule.as_str() {
                "FukunagaOlsen" | "Fan" => format!("{rule}()"),
                "Ratio" => "Ratio(share: 0.9)".to_owned(),
                _ => rule.clone(),
            };
            check(&format!("LocalPca(rule: {rule})"), *all);
            check(&format!("LocalPca(neighbors: 15, rule: {rule})"), *each);
        }
        check("CorrelationDimension()", case.correlation);
        check("CorrelationDimension(near: 3, far: 9)", case.correlation_near);
        check("Mom(neighbors: 20)", case.moments);
    }
}

/// Estimators with how far off they may be, in hundredths, on a ball of dimension 3.
///
/// The edge of the ball makes those that look far come out low, and Pope's form at k = 5 lies at
/// 3/4 of the truth by its very definition.
const CONTRACT: [(&str, f64); 10] = [
    ("Mle(neighbors: 20, form: LevinaBickel)", 5.0),
    ("Mle(neighbors: 20, form: Unbiased)", 10.0),
    ("Mle(neighbors: 20, form: MacKayGhahramani)", 10.0),
    ("Mle(neighbors: 20, form: Pope)", 15.0),
    ("TwoNn()", 8.0),
    ("TwoNn(fit: Likelihood)", 8.0),
    ("Gride(neighbors: 32)", 8.0),
    ("LocalPca(neighbors: 30, rule: FukunagaOlsen())", 2.0),
    ("CorrelationDimension()", 12.0),
    ("Mom(neighbors: 20)", 12.0),
];

/// Draws points of the unit ball of dimension 3, in the first of 6 coordinates.
fn ball(rows: usize) -> Points {
    let mut rng = Seed(3).stream("ball");
    let mut values = Vec::new();
    while values.len() < 6 * rows {
        let place: [f32; 3] = std::array::from_fn(|_| 2.0 * rng.random::<f32>() - 1.0);
        if place.iter().map(|value| value * value).sum::<f32>() <= 1.0 {
            values.extend(place);
            values.extend([0.0; 3]);
        }
    }
    Points::from_rows(6, values)
}

/// Turns points at random, by reflections, and makes them larger.
fn turned(points: &Points, scale: f32, rng: &mut impl Rng) -> Points {
    let mirrors: Vec<[f64; 6]> =
        (0..4).map(|_| std::array::from_fn(|_| rng.random::<f64>() - 0.5)).collect();
    let turn = |row: &[f32]| {
        let mut place: [f64; 6] = std::array::from_fn(|at| f64::from(row[at]));
        for mirror in &mirrors {
            let along: f64 = place.iter().zip(mirror).map(|(a, b)| a * b).sum();
            let square: f64 = mirror.iter().map(|value| value * value).sum();
            place = std::array::from_fn(|at| place[at] - 2.0 * along / square * mirror[at]);
        }
        place.map(|value| scale * value as f32)
    };
    Points::from_rows(6, (0..points.rows()).flat_map(|row| turn(points.row(row))).collect())
}

#[test]
fn a_ball_has_its_dimension_whatever_its_size_and_direction() {
    let ball = ball(2000);
    let other = turned(&ball, 1000.0, &mut Seed(4).stream("mirrors"));
    for (text, hundredths) in CONTRACT {
        let found = local(text, &ball).unwrap();
        assert!((found.dimension / 3.0 - 1.0).abs() < 0.01 * hundredths, "{text}: {found:?}");
        assert!(0.0 <= found.spread && found.spread < 0.1, "{text}: {found:?}");
        let again = local(text, &other).unwrap();
        // Points are rounded to single precision after they were turned.
        assert!((again.dimension / found.dimension - 1.0).abs() < 1e-3, "{text}: {again:?}");
    }
}

#[test]
fn points_that_occur_twice_change_little_and_are_counted() {
    let once = ball(1500);
    let again = &once.values()[..6 * 100];
    let some_twice = Points::from_rows(6, [once.values(), again].concat());
    for (text, hundredths) in CONTRACT {
        let found = local(text, &some_twice).unwrap();
        assert_eq!(found.duplicates, 200, "{text}");
        assert!((found.dimension / 3.0 - 1.0).abs() < 0.02 * hundredths, "{text}: {found:?}");
    }
    // With every point twice, the second neighbor is as far as the first.
    let all_twice = Points::from_rows(6, once.values().repeat(2));
    assert_eq!(local("TwoNn()", &all_twice), Err(EstimateError::EquallyFar));
    assert_eq!(local("Mom(neighbors: 20)", &all_twice).unwrap().duplicates, 3000);
    let same = Points::from_rows(6, once.row(0).repeat(100));
    for (text, _) in CONTRACT {
        let refused = local(text, &same).unwrap_err();
        assert!(matches!(refused, EstimateError::FewDistinct { .. }), "{text}: {refused}");
    }
}

#[test]
fn points_on_a_lattice_give_a_number_or_say_why_not() {
    // Every corner of a cube has three neighbors, all equally far.
    let corners = (0..8_u8).flat_map(|n| [n & 1, n >> 1 & 1, n >> 2].map(f32::from)).collect();
    let cube = Points::from_rows(3, corners);
    for text in [
        "Mle(neighbors: 3, form: Pope)",
        "Mle(neighbors: 3, form: LevinaBickel)",
        "TwoNn()",
        "Mom(neighbors: 3)",
        "CorrelationDimension(near: 1, far: 3)",
    ] {
        assert_eq!(local(text, &cube), Err(EstimateError::EquallyFar), "{text}");
    }
    let found = local("Mle(neighbors: 7, form: LevinaBickel)", &cube).unwrap();
    assert!(found.dimension.is_finite() && found.points_used == 8);
}

#[test]
fn neighbors_of_another_stage_give_the_same_as_a_search() {
    let points = ball(600);
    let known = Neighbors::of(&points, 40).unwrap();
    for (text, _) in CONTRACT {
        let shared = spec(text).estimate(&points, Some(&known)).unwrap();
        assert_eq!(shared, spec(text).estimate(&points, None).unwrap(), "{text}");
    }
    let few = Neighbors::of(&points, 10).unwrap();
    let refused = spec("Mom(neighbors: 20)").estimate(&points, Some(&few)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "20 neighbors of each point are needed, but the `neighbors` stage has 10: raise its `count`"
    );
}

#[derive(Deserialize)]
struct GrideReference {
    scale: f32,
    cases: Vec<GrideCase>,
}

#[derive(Deserialize)]
struct GrideCase {
    name: String,
    width: usize,
    points: Vec<f32>,
    dimensions: Vec<f64>,
    spreads: Vec<f64>,
    distances: Vec<f64>,
}

#[test]
fn the_dimension_from_scale_to_scale_agrees_with_dadapy() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/gride.json"));
    let GrideReference { scale, cases } = serde_json::from_str(text).unwrap();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let values = case.points.iter().map(|value| value / scale).collect();
        let found = local("Gride(neighbors: 64)", &Points::from_rows(case.width, values)).unwrap();
        assert_eq!(found.scales.len(), 6);
        for (at, scale) in found.scales.iter().enumerate() {
            let pairs = [
                (scale.dimension, case.dimensions[at]),
                (scale.spread, case.spreads[at]),
                (scale.distance, case.distances[at]),
            ];
            for (ours, theirs) in pairs {
                assert!((ours / theirs - 1.0).abs() < 1e-4, "{} {scale:?} {theirs}", case.name);
            }
        }
    }
}
