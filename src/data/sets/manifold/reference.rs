//! Compares shapes with scikit-dimension 0.5.0: formulas, kept draws, mean and spread; and
//! dimensions with two simple estimators.

use std::num::NonZeroUsize;

use serde::Deserialize;

use super::draws::Row;
use super::{Manifold, ManifoldShape, Noise, lorenz};
use crate::data::{DataSet, Files, Samples, Vectors};
use crate::numerics::{Points, Seed};

#[derive(Deserialize)]
struct Reference {
    benchmark: Vec<(String, usize, usize)>,
    lorenz: LorenzPath,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct LorenzPath {
    duration: f64,
    states: Vec<[f64; 3]>,
}

#[derive(Deserialize)]
struct Case {
    shape: String,
    count: usize,
    rows: Vec<ReferenceRow>,
    candidates: Vec<Candidate>,
    moments: Moments,
}

#[derive(Deserialize)]
struct ReferenceRow {
    index: usize,
    draws: Vec<f64>,
    point: Vec<f64>,
}

#[derive(Deserialize)]
struct Candidate {
    draws: Vec<f64>,
    uniform: f64,
    kept: bool,
}

#[derive(Deserialize)]
struct Moments {
    count: usize,
    mean: Vec<f64>,
    deviation: Vec<f64>,
    deviation_error: Vec<f64>,
}

impl Case {
    fn shape(&self) -> ManifoldShape {
        let known = ManifoldShape::benchmark().into_iter().find(|(name, _)| *name == self.shape);
        known.map_or_else(|| ron::from_str(&self.shape).unwrap(), |(_, shape)| shape)
    }
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../tests/reference/manifolds.json")).unwrap()
}

fn vectors(shape: ManifoldShape, samples: usize, seed: u64) -> Vectors {
    let samples = NonZeroUsize::new(samples).unwrap();
    let manifold = Manifold { shape, samples, seed: Seed(seed), noise: Noise::None, embed: None };
    let Samples::Vectors(vectors, None) = manifold.open(&Files::default()).unwrap() else {
        panic!("points have no images")
    };
    vectors
}

#[test]
fn the_benchmark_set_has_the_same_names_dimensions_and_coordinates() {
    let ours: Vec<_> = ManifoldShape::benchmark()
        .into_iter()
        .map(|(name, shape)| (name.to_owned(), shape.dimension(), shape.ambient()))
        .collect();
    assert_eq!(ours, reference().benchmark);
}

#[test]
fn the_same_draws_give_the_same_points() {
    let cases = reference().cases;
    assert_eq!(cases.len(), 38);
    for case in cases {
        let shape = case.shape();
        for row in &case.rows {
            assert_eq!(row.draws.len(), shape.draw_count(), "{}", case.shape);
            let mut point = vec![0.0; shape.ambient()];
            shape.place(Row { index: row.index, count: case.count }, &row.draws, &mut point);
            assert_eq!(point.len(), row.point.len(), "{}", case.shape);
            for (found, expected) in point.iter().zip(&row.point) {
                let apart = (found - expected).abs();
                assert!(apart < 1e-6 * expected.abs().max(1.0), "{}: {point:?}", case.shape);
            }
        }
    }
}

#[test]
fn the_same_draws_are_kept_and_refused() {
    let mut refused = 0;
    for case in reference().cases {
        let shape = case.shape();
        let row = Row { index: 0, count: case.count };
        for candidate in &case.candidates {
            let probability = shape.acceptance(row, &candidate.draws).unwrap_or(1.0);
            let kept = candidate.uniform < probability;
            assert_eq!(kept, candidate.kept, "{} {:?}", case.shape, candidate.draws);
            refused += usize::from(!kept);
        }
    }
    assert!(refused > 60, "only {refused} draws were refused");
}

#[test]
fn the_lorenz_path_is_the_solution_of_the_same_equations() {
    let expected = reference().lorenz;
    let found = lorenz::path(expected.duration, expected.states.len());
    for (found, expected) in found.iter().flatten().zip(expected.states.iter().flatten()) {
        assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
    }
}

#[test]
fn mean_and_spread_of_every_coordinate_agree_within_five_standard_errors() {
    for case in reference().cases {
        let shape = case.shape();
        let Moments { count, mean, deviation, deviation_error } = &case.moments;
        let points = vectors(shape, *count, 11);
        let points = points.points();
        // Both samples have the same size, so a difference has sqrt(2) standard errors of one;
        // single precision and the six digits of the reference add to that.
        let rounding = |size: f64| 1e-5 * size.abs().max(1.0);
        for (column, variance) in points.variances().into_iter().enumerate() {
            let found =
                (0..points.rows()).map(|row| f64::from(points.row(row)[column])).sum::<f64>()
                    / points.rows() as f64;
            let allowed = 5.0 * (2.0 / *count as f64).sqrt() * deviation[column];
            let apart = (found - mean[column]).abs();
            assert!(apart < allowed + rounding(found), "{} mean {column}: {apart}", case.shape);
            let allowed = 5.0 * 2.0_f64.sqrt() * deviation_error[column];
            let apart = (variance.sqrt() - deviation[column]).abs();
            assert!(
                apart < allowed + rounding(variance),
                "{} spread {column}: {apart}",
                case.shape
            );
        }
    }
}

/// Squared distances to the nearest points, ascending, with their rows.
fn nearest(points: &Points, row: usize, count: usize) -> Vec<(f64, usize)> {
    let here = points.row(row);
    let mut near: Vec<(f64, usize)> = (0..points.rows())
        .filter(|&other| other != row)
        .map(|other| {
            let apart = here.iter().zip(points.row(other)).map(|(a, b)| f64::from(a - b).powi(2));
            (apart.sum(), other)
        })
        .collect();
    let by_distance = |left: &(f64, usize), right: &(f64, usize)| left.0.total_cmp(&right.0);
    near.select_nth_unstable_by(count, by_distance);
    near.truncate(count);
    near.sort_by(by_distance);
    near
}

/// The maximum-likelihood form of TwoNN: the inverse mean logarithm of second over first distance.
fn two_nn(points: &Points) -> f64 {
    let logarithms: f64 = (0..points.rows())
        .map(|row| {
            let near = nearest(points, row, 2);
            (near[1].0 / near[0].0).ln() / 2.0
        })
        .sum();
    points.rows() as f64 / logarithms
}

/// The number of directions that the neighbors of a point spread along: how many coordinates
/// Gram-Schmidt with the longest remainder first takes until 5 % of the square lengths are left.
fn local_directions(points: &Points, row: usize, count: usize) -> usize {
    let here = points.row(row);
    let mut offsets: Vec<Vec<f64>> = nearest(points, row, count)
        .iter()
        .map(|&(_, near)| {
            here.iter().zip(points.row(near)).map(|(a, b)| f64::from(b - a)).collect()
        })
        .collect();
    let square = |offset: &[f64]| offset.iter().map(|value| value * value).sum::<f64>();
    let total: f64 = offsets.iter().map(|offset| square(offset)).sum();
    for taken in 0.. {
        if offsets.iter().map(|offset| square(offset)).sum::<f64>() <= 0.05 * total {
            return taken;
        }
        let longest =
            offsets.iter().max_by(|a, b| square(a).total_cmp(&square(b))).unwrap().clone();
        for offset in &mut offsets {
            let along =
                offset.iter().zip(&longest).map(|(a, b)| a * b).sum::<f64>() / square(&longest);
            offset.iter_mut().zip(&longest).for_each(|(value, part)| *value -= along * part);
        }
    }
    unreachable!("every direction takes something away")
}

fn shape(text: &str) -> ManifoldShape {
    ron::from_str(text).unwrap()
}

#[test]
fn an_estimator_finds_about_the_stated_dimension() {
    // Not the Lorenz path: its points are not independent, so neighbors are mostly in step.
    // The standard error of 2,000 independent ratios is 2.2 %; curvature and edges add a bias,
    // downward and larger in many dimensions.
    for (text, tolerance) in [
        ("Sphere(dimension: 5, ambient: 10)", 0.12),
        ("Ball(dimension: 3, ambient: 3)", 0.12),
        ("Cube(dimension: 2, ambient: 2)", 0.12),
        ("SwissRoll", 0.12),
        ("SCurve", 0.12),
        ("Moebius", 0.12),
        ("Spiral(ambient: 13)", 0.12),
        ("Helix", 0.12),
        ("AffineThreeInFive", 0.12),
        ("Torus()", 0.12),
        ("Paraboloid(dimension: 3)", 0.15),
        ("Product(first: Torus(), second: Cube(dimension: 1, ambient: 1))", 0.15),
        ("CubeSurface(dimension: 10, ambient: 11)", 0.25),
    ] {
        let shape = shape(text);
        let dimension = shape.dimension() as f64;
        let found = two_nn(vectors(shape, 2000, 5).points());
        assert!((found / dimension - 1.0).abs() < tolerance, "{text}: {found} for {dimension}");
    }
}

#[test]
fn neighbors_spread_along_as_many_directions_as_the_dimension_says() {
    for text in [
        "SwissRoll",
        "SCurve",
        "Sphere(dimension: 2, ambient: 6)",
        "Torus(tube: 0.5)",
        "AffineThreeInFive",
    ] {
        let shape = shape(text);
        let dimension = shape.dimension();
        let points = vectors(shape, 2000, 5);
        let right = (0..200).filter(|&row| local_directions(points.points(), row, 10) == dimension);
        let right = right.count();
        assert!(right > 180, "{text}: {right} of 200 neighborhoods");
    }
}
