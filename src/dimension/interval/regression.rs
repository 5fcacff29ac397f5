//! From what is seen of references to the dimension of the data: a linear regression and the
//! quantiles of its residuals.
//!
//! What: of all cases, those whose estimate is nearest to that of the data; log dimension is
//! regressed on what is seen of them, relative to the data, so that the constant is the prediction.
//! Each residual is that of a regression without its own case.
//! Assumptions: within these cases the relation is nearly linear in logarithms.

use super::{CASE, FEWEST_CASES};

/// A reference: what is seen of it, and the logarithm of its dimension.
pub(super) struct Case {
    pub(super) seen: [f64; CASE],
    pub(super) dimension: f64,
}

/// Logarithms of the dimension that is predicted, and of the ends of its interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prediction {
    pub(super) low: f64,
    pub(super) middle: f64,
    pub(super) high: f64,
}

/// The share of cases that are near.
const NEAR: f64 = 0.7;
/// Keeps the regression possible where a number hardly varies, as when two estimates are the same.
const RIDGE: f64 = 1e-3;
/// Coefficients: the constant, and one for each number.
const TERMS: usize = CASE + 1;

/// Predicts the dimension of what is seen, with an interval of a level; `spread` is the standard
/// deviation of the estimate's logarithm over samples. Nothing if there are too few cases.
pub(super) fn predict(
    cases: &[Case],
    own: [f64; CASE],
    spread: f64,
    level: f64,
) -> Option<Prediction> {
    if cases.len() < FEWEST_CASES {
        return None;
    }
    let mut near: Vec<&Case> = cases.iter().collect();
    let far = |case: &Case| (case.seen[0] - own[0]).abs();
    near.sort_by(|one, other| far(one).total_cmp(&far(other)));
    near.truncate((NEAR * near.len() as f64) as usize);
    let count = near.len() as f64;

    let terms = |case: &Case| {
        let mut terms = [1.0; TERMS];
        for (term, (seen, own)) in terms[1..].iter_mut().zip(case.seen.iter().zip(&own)) {
            *term = seen - own;
        }
        terms
    };
    let rows: Vec<([f64; TERMS], f64)> =
        near.iter().map(|case| (terms(case), case.dimension)).collect();
    let mut products = [[0.0; TERMS]; TERMS];
    for (row, _) in &rows {
        for (line, one) in products.iter_mut().zip(row) {
            line.iter_mut().zip(row).for_each(|(sum, other)| *sum += one * other);
        }
    }
    for (at, line) in products.iter_mut().enumerate().skip(1) {
        line[at] += RIDGE * count;
    }
    let inverse = inverted(products)?;
    let apply = |vector: [f64; TERMS]| inverse.map(|line| dot(line, vector));
    let mut right = [0.0; TERMS];
    for (row, dimension) in &rows {
        right.iter_mut().zip(row).for_each(|(sum, term)| *sum += term * dimension);
    }
    let coefficients = apply(right);
    let mut residuals: Vec<f64> = rows
        .iter()
        .map(|(row, dimension)| {
            let leverage = dot(*row, apply(*row)).min(0.5);
            (dimension - dot(*row, coefficients)) / (1.0 - leverage)
        })
        .collect();
    residuals.sort_by(f64::total_cmp);
    // The prediction itself is uncertain, too, the more so the farther the data are from the cases.
    let wider = (1.0 + inverse[0][0]).sqrt();
    let tail = (1.0 - level) / 2.0;
    let sampling = coefficients[1] * spread * normal_quantile(1.0 - tail);
    let middle = coefficients[0];
    Some(Prediction {
        low: middle - (wider * -quantile(&residuals, tail)).max(0.0).hypot(sampling),
        middle,
        high: middle + (wider * quantile(&residuals, 1.0 - tail)).max(0.0).hypot(sampling),
    })
}

fn dot(one: [f64; TERMS], other: [f64; TERMS]) -> f64 {
    one.iter().zip(&other).map(|(a, b)| a * b).sum()
}

/// Returns a quantile of sorted numbers, between two of them in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (before, after) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    before + (after - before) * place.fract()
}

/// Returns the number that a normal one is below with a probability of at least a half (Abramowitz
/// and Stegun 26.2.23, to 0.0005).
fn normal_quantile(probability: f64) -> f64 {
    let t = (-2.0 * (1.0 - probability).clamp(1e-12, 0.5).ln()).sqrt();
    let above = 0.010_328_f64.mul_add(t, 0.802_853).mul_add(t, 2.515_517);
    let below = 0.001_308_f64.mul_add(t, 0.189_269).mul_add(t, 1.432_788).mul_add(t, 1.0);
    t - above / below
}

/// Inverts a positive definite matrix; nothing if it is singular.
fn inverted(mut matrix: [[f64; TERMS]; TERMS]) -> Option<[[f64; TERMS]; TERMS]> {
    let mut inverse = [[0.0; TERMS]; TERMS];
    (0..TERMS).for_each(|at| inverse[at][at] = 1.0);
    for at in 0..TERMS {
        let pivot = matrix[at][at];
        if pivot.abs() < 1e-12 {
            return None;
        }
        for column in 0..TERMS {
            matrix[at][column] /= pivot;
            inverse[at][column] /= pivot;
        }
        for row in (0..TERMS).filter(|&row| row != at) {
            let factor = matrix[row][at];
            for column in 0..TERMS {
                matrix[row][column] -= factor * matrix[at][column];
                inverse[row][column] -= factor * inverse[at][column];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::numerics::Seed;

    /// Cases of a known relation, with uniform errors of up to `error`.
    fn cases(error: f64) -> Vec<Case> {
        let mut rng = Seed(0).stream("cases");
        let case = |_| {
            let seen: [f64; CASE] = std::array::from_fn(|_| rng.random::<f64>() - 0.5);
            let off = error * (2.0 * rng.random::<f64>() - 1.0);
            Case { seen, dimension: 1.0 + 2.0 * seen[0] - seen[1] + 0.5 * seen[2] + off }
        };
        (0..400).map(case).collect()
    }

    #[test]
    fn a_linear_relation_is_found_and_its_errors_make_the_interval() {
        let found = predict(&cases(0.2), [0.1, 0.0, 0.2, 0.0], 0.0, 0.9).unwrap();
        assert!((found.middle - 1.3).abs() < 0.03, "{found:?}");
        assert!((found.low - 1.12).abs() < 0.04, "{found:?}");
        assert!((found.high - 1.48).abs() < 0.04, "{found:?}");
    }

    #[test]
    fn an_estimate_that_varies_over_samples_has_a_wider_interval() {
        let width = |spread| {
            let found = predict(&cases(0.1), [0.0; CASE], spread, 0.9).unwrap();
            found.high - found.low
        };
        assert!((width(0.0) - 0.18).abs() < 0.03, "{}", width(0.0));
        // The slope is 2, and 90 % of normal numbers lie within 1.645 standard deviations.
        assert!((width(0.5) - 2.0 * 1.645).abs() < 0.1, "{}", width(0.5));
        assert!(predict(&cases(0.1)[..FEWEST_CASES - 1], [0.0; CASE], 0.0, 0.9).is_none());
    }

    #[test]
    fn normal_quantiles_are_those_of_a_table() {
        for (probability, expected) in [(0.95, 1.6449), (0.975, 1.9600), (0.5, 0.0)] {
            assert!((normal_quantile(probability) - expected).abs() < 1e-3, "{probability}");
        }
    }
}
