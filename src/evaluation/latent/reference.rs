//! Every measure against NumPy, SciPy and scikit-learn: tests/reference/quality.json.

use std::num::NonZeroUsize;

use serde::Deserialize;

use super::smoothness::step_statistics;
use super::{Factors, IsometryFit, PathSteps};
use crate::numerics::Points;

#[derive(Deserialize)]
struct Reference {
    factors: Known,
    isometry: Lengths,
    paths: Paths,
}

#[derive(Deserialize)]
struct Known {
    width: usize,
    codes: Vec<f32>,
    neighbors: NonZeroUsize,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    first: NonZeroUsize,
    fits: Vec<Fit>,
}

#[derive(Deserialize)]
struct Fit {
    name: String,
    values: Vec<f64>,
    coordinate: usize,
    pearson: f64,
    spearman: f64,
    linear: f64,
    neighbors: f64,
}

#[derive(Deserialize)]
struct Lengths {
    data: Vec<f64>,
    code: Vec<f64>,
    error: f64,
    scaled_error: f64,
    correlation: f64,
    scale: f64,
    stress: f64,
}

#[derive(Deserialize)]
struct Paths {
    steps: usize,
    width: usize,
    decoded: Vec<f32>,
    variance: f64,
    spread: f64,
    length: f64,
}

fn reference() -> Reference {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/quality.json"));
    serde_json::from_str(text).unwrap()
}

fn assert_close(pairs: &[(f64, f64)], tolerance: f64) {
    for (place, (found, expected)) in pairs.iter().enumerate() {
        let difference = (found - expected).abs();
        assert!(difference <= tolerance, "{place}: {found} against {expected}");
    }
}

#[test]
fn correlations_and_fits_are_those_of_scipy_and_scikit_learn() {
    let Known { width, codes, neighbors, cases } = reference().factors;
    let codes = Points::from_rows(width, codes);
    assert_eq!(cases.len(), 2);
    for case in cases {
        let known: Vec<_> =
            case.fits.iter().map(|fit| (fit.name.clone(), fit.values.clone())).collect();
        let first = Some(case.first).filter(|first| first.get() < width);
        let found = Factors { neighbors, first }.measure(&codes, &known).unwrap().fits;
        assert_eq!(found.len(), 2);
        for (found, expected) in found.iter().zip(&case.fits) {
            assert_eq!((&found.name, found.coordinate), (&expected.name, expected.coordinate));
            let pairs = [
                (found.pearson, expected.pearson),
                (found.spearman, expected.spearman),
                (found.linear, expected.linear),
                (found.neighbors, expected.neighbors),
            ];
            assert_close(&pairs, 1e-10);
        }
    }
}

#[test]
fn scale_and_stress_are_those_of_scipy() {
    let expected = reference().isometry;
    let pairs: Vec<_> = expected.data.iter().copied().zip(expected.code).collect();
    let found = IsometryFit::of(&pairs).unwrap();
    let pairs = [
        (found.error, expected.error),
        (found.scaled_error, expected.scaled_error),
        (found.correlation, expected.correlation),
        (found.scale, expected.scale),
        (found.stress, expected.stress),
    ];
    // The scale there is searched for, not solved for.
    assert_close(&pairs, 1e-6);
}

#[test]
fn the_variance_of_steps_is_that_of_numpy() {
    let expected = reference().paths;
    let decoded = Points::from_rows(expected.width, expected.decoded);
    let found = PathSteps::of(&step_statistics(&decoded, expected.steps));
    let pairs = [
        (found.variance, expected.variance),
        (found.spread, expected.spread),
        (found.length, expected.length),
    ];
    assert_close(&pairs, 1e-10);
}
