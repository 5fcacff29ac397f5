//! Smoothness: whether equal steps in the code are equal steps in what is decoded.
//!
//! What: codes on the straight line between two samples, m + 1 of them with both ends, are decoded;
//! the m distances between consecutive decodings have a variance, which is averaged over N pairs.
//! Reference: the paper, appendix "Computation of Smoothness"; its table is in percent.
//! Assumptions: the paper gives neither N nor m (`pairs` and `steps` here), nor the divisor of the
//! variance, which is the number of steps here. For fixed images the value falls with the square of
//! m, and it has the unit of squared pixels: numbers compare only at equal settings and data.
//! Checked against: hand-computed cases below, and tests/reference/quality.json (NumPy).

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::QualityError;
use super::random_pairs;
use crate::geometry::euclidean;
use crate::numerics::{Points, Seed};

/// Pairs decoded together; bounds memory.
const CHUNK: usize = 64;

/// Settings of the smoothness, for instance `Smoothness(pairs: 1000, steps: 10, seed: 0)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Smoothness {
    /// Number of random pairs of samples.
    #[serde(default = "default_pairs")]
    pub pairs: NonZeroUsize,
    /// Number of equal steps from one sample of a pair to the other.
    #[serde(default = "default_steps")]
    pub steps: NonZeroUsize,
    /// Random seed for choosing the pairs.
    pub seed: Seed,
}

const fn default_pairs() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
    DEFAULT
}

const fn default_steps() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(10).unwrap();
    DEFAULT
}

/// What the steps of all paths amount to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathSteps {
    /// Mean over paths of the variance of their steps.
    pub variance: f64,
    /// Standard deviation over paths of that variance.
    pub spread: f64,
    /// Mean length of a step.
    pub length: f64,
}

impl Smoothness {
    /// Decodes paths between random codes and measures their steps.
    pub fn measure(
        &self,
        codes: &Points,
        decode: &mut dyn FnMut(&Points) -> Points,
    ) -> Result<PathSteps, QualityError> {
        let pairs = random_pairs(codes.rows(), self.pairs.get(), self.seed)?;
        let mut paths = Vec::with_capacity(pairs.len());
        for chunk in pairs.chunks(CHUNK) {
            let decoded = decode(&self.paths(codes, chunk));
            paths.extend(step_statistics(&decoded, self.steps.get()));
        }
        Ok(PathSteps::of(&paths))
    }

    /// Returns the codes on the way from one sample of each pair to the other, both included.
    fn paths(&self, codes: &Points, pairs: &[(usize, usize)]) -> Points {
        let steps = self.steps.get();
        let mut values = Vec::with_capacity(pairs.len() * (steps + 1) * codes.width());
        for &(from, to) in pairs {
            for step in 0..=steps {
                let share = step as f64 / steps as f64;
                let ends = codes.row(from).iter().zip(codes.row(to));
                let between = |(&from, &to): (&f32, &f32)| {
                    ((1.0 - share) * f64::from(from) + share * f64::from(to)) as f32
                };
                values.extend(ends.map(between));
            }
        }
        Points::from_rows(codes.width(), values)
    }
}

/// Returns the mean and the variance of the steps of each path, given its decodings one after the
/// other.
pub(super) fn step_statistics(decoded: &Points, steps: usize) -> Vec<(f64, f64)> {
    let of_path = |path: usize| {
        let first = path * (steps + 1);
        let length =
            |step: usize| euclidean(decoded.row(first + step), decoded.row(first + step + 1));
        let lengths: Vec<f64> = (0..steps).map(length).collect();
        mean_and_variance(&lengths)
    };
    (0..decoded.rows() / (steps + 1)).map(of_path).collect()
}

impl PathSteps {
    pub(super) fn of(paths: &[(f64, f64)]) -> Self {
        let lengths: Vec<f64> = paths.iter().map(|(length, _)| *length).collect();
        let variances: Vec<f64> = paths.iter().map(|(_, variance)| *variance).collect();
        let (variance, spread) = mean_and_variance(&variances);
        Self { variance, spread: spread.sqrt(), length: mean_and_variance(&lengths).0 }
    }
}

/// Returns the mean and the biased variance.
fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smoothness(pairs: usize, steps: usize) -> Smoothness {
        let count = |count| NonZeroUsize::new(count).unwrap();
        Smoothness { pairs: count(pairs), steps: count(steps), seed: Seed(1) }
    }

    #[test]
    fn a_linear_decoder_is_perfectly_smooth() {
        let codes = Points::from_rows(1, vec![0.0, 1.0, 4.0]);
        let mut decode = |codes: &Points| {
            let values = codes.values().iter().flat_map(|&code| [3.0 * code, 4.0 * code + 1.0]);
            Points::from_rows(2, values.collect())
        };
        let found = smoothness(100, 4).measure(&codes, &mut decode).unwrap();
        assert!(found.variance < 1e-12 && found.spread < 1e-12, "{found:?}");
        // Pairs are 1, 3 or 4 apart, and a step is a quarter of five times that.
        assert!(found.length > 1.25 && found.length < 5.0);
    }

    #[test]
    fn the_variance_of_steps_is_averaged_over_pairs() {
        // Two codes, 0 and 2, in two steps; squares are 0, 1, 4 either way: steps 1 and 3.
        let codes = Points::from_rows(1, vec![0.0, 2.0]);
        let mut decode =
            |codes: &Points| Points::from_rows(1, codes.values().iter().map(|c| c * c).collect());
        let found = smoothness(70, 2).measure(&codes, &mut decode).unwrap();
        assert_eq!(found, PathSteps { variance: 1.0, spread: 0.0, length: 2.0 });
        // Paths with variances 1 and 4: mean 2.5, standard deviation 1.5.
        let found = PathSteps::of(&[(1.0, 1.0), (3.0, 4.0)]);
        assert_eq!(found, PathSteps { variance: 2.5, spread: 1.5, length: 2.0 });
    }

    #[test]
    fn a_path_goes_from_one_code_to_the_other_in_equal_steps() {
        let codes = Points::from_rows(2, vec![0.0, 1.0, 4.0, -1.0]);
        let found = smoothness(1, 4).paths(&codes, &[(0, 1)]);
        assert_eq!(found.values(), [0.0, 1.0, 1.0, 0.5, 2.0, 0.0, 3.0, -0.5, 4.0, -1.0]);
    }
}
