//! Random manifolds of known dimension, on which estimators are calibrated.
//!
//! What: points with independent coordinates of one distribution (uniform, normal, a power of
//! uniform, gamma, log-normal), or of a ball or a sphere; then, at random, stretched along the
//! axes; then, at random, embedded with curvature: waves over it, every coordinate wound around a
//! circle, or one coordinate rolled up. All strengths are random, too.
//! None of the benchmark shapes is among them with its own parameters: only the uniform cube, the
//! normal distribution and the sphere, which have no parameters, are in both.
//! Assumptions: scales are arbitrary, since no estimator depends on them.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, StandardNormal};

use crate::numerics::Points;

/// Noise that is added to points.
#[derive(Clone, Copy)]
pub(super) struct Noise {
    /// Its standard deviation relative to that of the points, all coordinates together.
    pub(super) share: f64,
    /// Number of coordinates that have noise.
    pub(super) width: usize,
}

/// Coordinates with noise, at most: more change distances little, and take long.
const WIDEST_NOISE: usize = 128;

/// A table of numbers, row by row.
struct Rows {
    width: usize,
    values: Vec<f64>,
}

/// Draws points of a random manifold.
pub(super) fn draw(dimension: usize, rows: usize, noise: Noise, rng: &mut impl Rng) -> Points {
    let mut drawn = flat(dimension, rows, rng);
    if rng.random::<f64>() < 0.4 {
        stretch(&mut drawn, rng);
    }
    if rng.random::<f64>() < 0.6 {
        drawn = match rng.random_range(0..3_u8) {
            0 => waved(&drawn, rng),
            1 => wound(&drawn, rng),
            _ => rolled(&drawn, rng),
        };
    }
    if noise.share > 0.0 {
        drawn = noisy(&drawn, noise, rng);
    }
    Points::from_rows(drawn.width, drawn.values.into_iter().map(|value| value as f32).collect())
}

/// Draws a number whose logarithm is uniform.
fn between(low: f64, high: f64, rng: &mut impl Rng) -> f64 {
    (low.ln() + rng.random::<f64>() * (high / low).ln()).exp()
}

/// Draws points of a flat manifold or a sphere, with a standard deviation of about 1 along each axis.
fn flat(dimension: usize, rows: usize, rng: &mut impl Rng) -> Rows {
    let kind = rng.random_range(0..7_u8);
    let width = if kind == 3 { dimension + 1 } else { dimension };
    let mut values: Vec<f64> = match kind {
        0 => (0..rows * width).map(|_| (rng.random::<f64>() - 0.5) * 12_f64.sqrt()).collect(),
        4 => {
            let power = rng.random_range(1.0..5.0);
            (0..rows * width).map(|_| rng.random::<f64>().powf(power)).collect()
        }
        5 => {
            let shape = between(0.4, 3.0, rng);
            let gamma = Gamma::new(shape, 1.0).unwrap_or_else(|_| unreachable!("a positive shape"));
            (0..rows * width).map(|_| gamma.sample(rng)).collect()
        }
        _ => (0..rows * width).map(|_| StandardNormal.sample(rng)).collect(),
    };
    match kind {
        1 | 3 => {
            for row in values.chunks_exact_mut(width) {
                let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
                let radius = match kind {
                    1 => rng.random::<f64>().powf(1.0 / width as f64) * (width as f64 + 2.0).sqrt(),
                    _ => (width as f64).sqrt(),
                };
                for value in row {
                    *value *= radius / length;
                }
            }
        }
        4 | 5 => standardize(&mut values),
        6 => {
            let strength = rng.random_range(0.3..1.2);
            for value in &mut values {
                *value = (strength * *value).exp();
            }
            standardize(&mut values);
        }
        _ => {}
    }
    Rows { width, values }
}

/// Divides by the standard deviation of all numbers together.
fn standardize(values: &mut [f64]) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let spread = variance.sqrt().max(f64::MIN_POSITIVE);
    for value in values {
        *value /= spread;
    }
}

/// Makes axes shorter, each by a factor of its own.
fn stretch(drawn: &mut Rows, rng: &mut impl Rng) {
    let strength = rng.random_range(0.0..1.6);
    let factors: Vec<f64> =
        (0..drawn.width).map(|_| (-strength * rng.random::<f64>()).exp()).collect();
    for row in drawn.values.chunks_exact_mut(drawn.width) {
        row.iter_mut().zip(&factors).for_each(|(value, factor)| *value *= factor);
    }
}

/// Makes new rows from old ones.
fn mapped(drawn: &Rows, width: usize, mut map: impl FnMut(&[f64], &mut Vec<f64>)) -> Rows {
    let mut values = Vec::with_capacity(drawn.values.len() / drawn.width * width);
    for row in drawn.values.chunks_exact(drawn.width) {
        map(row, &mut values);
    }
    Rows { width, values }
}

/// Adds waves in random directions, each in a coordinate of its own.
fn waved(drawn: &Rows, rng: &mut impl Rng) -> Rows {
    let frequency = between(0.3, 3.0, rng);
    let height = rng.random_range(0.3..1.2);
    let width = drawn.width;
    let scale = frequency / (width as f64).sqrt();
    let directions: Vec<f64> = (0..width * width)
        .map(|_| {
            let normal: f64 = StandardNormal.sample(rng);
            normal * scale
        })
        .collect();
    let phases: Vec<f64> = (0..width).map(|_| rng.random_range(0.0..7.0)).collect();
    mapped(drawn, 2 * width, |row, values| {
        values.extend(row);
        for (direction, phase) in directions.chunks_exact(width).zip(&phases) {
            let along: f64 = row.iter().zip(direction).map(|(value, part)| value * part).sum();
            values.push(height * (along + phase).sin());
        }
    })
}

/// Winds every coordinate around a circle, whose radius may depend on the one before.
fn wound(drawn: &Rows, rng: &mut impl Rng) -> Rows {
    let angle = between(0.3, 3.0, rng);
    let width = drawn.width;
    let varies = width > 1 && rng.random::<bool>();
    mapped(drawn, 2 * width, |row, values| {
        for (at, value) in row.iter().enumerate() {
            let before = row[(at + width - 1) % width];
            let radius = if varies { 1.0 + 0.5 * before.tanh() } else { 1.0 };
            let (sine, cosine) = (angle * value).sin_cos();
            values.extend([radius * cosine / angle, radius * sine / angle]);
        }
    })
}

/// Rolls the first coordinate up, as a circle, a spiral or a helix.
fn rolled(drawn: &Rows, rng: &mut impl Rng) -> Rows {
    let turns = between(0.5, 8.0, rng);
    let radius = rng.random_range(0.3..1.0);
    let growth = rng.random_range(0.0..0.3);
    let pitch = if rng.random::<bool>() { 0.2 } else { 0.0 };
    mapped(drawn, drawn.width + 2, |row, values| {
        let angle = row[0] * turns;
        let (sine, cosine) = angle.sin_cos();
        let from_axis = radius + growth * angle.abs();
        values.extend([from_axis * cosine, from_axis * sine, pitch * angle]);
        values.extend(&row[1..]);
    })
}

/// Adds normal noise to all coordinates, of which there may be more than before.
fn noisy(drawn: &Rows, noise: Noise, rng: &mut impl Rng) -> Rows {
    let count = (drawn.values.len() / drawn.width) as f64;
    let mut total = 0.0;
    for column in 0..drawn.width {
        let values = || drawn.values.iter().skip(column).step_by(drawn.width);
        let mean = values().sum::<f64>() / count;
        total += values().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    }
    let width = noise.width.min(WIDEST_NOISE).max(drawn.width);
    // The share is of what is measured, which has the noise in it.
    let share = noise.share.min(0.99).powi(2);
    let spread = (total * share / (1.0 - share) / width as f64).sqrt();
    mapped(drawn, width, |row, values| {
        let padded = row.iter().copied().chain(std::iter::repeat(0.0)).take(width);
        values.extend(padded.map(|value| {
            let normal: f64 = StandardNormal.sample(rng);
            value + spread * normal
        }));
    })
}
