//! Runs of which only the mean and the spread are printed, and whether others differ from them.
//!
//! The hypothesis is that published and measured runs have the same distribution, whichever it is:
//! then every way to divide all of them into the two is equally likely. Whole numbers can be
//! recovered from a printed mean and spread, so a permutation test of the means is possible; where
//! several samples fit, the least significant counts. Of other values it is known only where all of
//! them must lie (the inequality of Samuelson), so that the measured runs beyond it can be counted.

use super::permutation::mean_difference_p;
use super::whole_numbers::{PrintedSpread, whole_number_samples};

/// What is known of the published runs.
#[derive(Clone, Debug, PartialEq)]
pub enum PublishedRuns {
    /// Every sample of whole numbers that has the printed mean and spread.
    Whole(Vec<Vec<i64>>),
    /// Where all of the runs lie.
    Within {
        /// No run is below it.
        low: f64,
        /// No run is above it.
        high: f64,
        /// How many there are.
        runs: usize,
    },
}

impl PublishedRuns {
    /// Takes over whole numbers; nothing if none have this mean and spread.
    pub fn whole(mean: f64, spread: f64, runs: usize, decimals: usize) -> Option<Self> {
        let samples = whole_number_samples(mean, spread, runs, decimals);
        match (samples, super::printed_spread(mean, spread, runs, decimals)) {
            (_, PrintedSpread::Neither) => None,
            (Some(samples), _) => Some(Self::Whole(samples)),
            // Too many to list: where they lie is known all the same.
            (None, PrintedSpread::Deviation) => Some(Self::real(mean, spread, runs, decimals)),
            (None, PrintedSpread::Variance) => {
                Some(Self::real(mean, spread.sqrt(), runs, decimals))
            }
        }
    }

    /// Takes over any numbers, given their mean and standard deviation (divisor n), both rounded.
    /// A deviation with the divisor n - 1 is larger, and so only makes a difference harder to find.
    pub fn real(mean: f64, deviation: f64, runs: usize, decimals: usize) -> Self {
        let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX));
        // One run may be as far from the mean as this, if all others are equal.
        let reach = half + (deviation + half) * (runs as f64 - 1.0).max(0.0).sqrt();
        Self::Within { low: mean - reach, high: mean + reach, runs }
    }

    /// Returns the p-value of the two-sided test of a difference.
    pub fn difference_p(&self, measured: &[f64]) -> f64 {
        let whole = || measured.iter().map(|value| whole(*value)).collect::<Option<Vec<i64>>>();
        match self {
            Self::Whole(samples) => match whole() {
                Some(measured) => largest(samples.iter().map(|own| {
                    mean_difference_p(&measured, own)
                        .unwrap_or_else(|| exceedance(own, &measured).p_value())
                })),
                // Whole numbers and others can't have the same distribution, but may be rounded.
                None => largest(samples.iter().map(|own| {
                    let own: Vec<f64> = own.iter().map(|value| *value as f64).collect();
                    exceedance(&own, measured).p_value()
                })),
            },
            Self::Within { low, high, runs } => {
                let beyond = |is: &dyn Fn(f64) -> bool| measured.iter().filter(|v| is(**v)).count();
                Exceedance {
                    above: beyond(&|value| value > *high),
                    below: beyond(&|value| value < *low),
                    measured: measured.len(),
                    published: *runs,
                }
                .p_value()
            }
        }
    }

    /// Returns the fewest measured runs with which the test can find a difference at a level: if
    /// all of them are beyond all of the published ones.
    pub fn fewest_runs(published: usize, level: f64) -> Option<usize> {
        let separate = |measured| Exceedance { above: measured, below: 0, measured, published };
        (1..=super::MOST_RUNS).find(|measured| separate(*measured).p_value() <= level)
    }

    /// Returns how many runs are published.
    pub fn runs(&self) -> usize {
        match self {
            Self::Whole(samples) => samples.first().map_or(0, Vec::len),
            Self::Within { runs, .. } => *runs,
        }
    }
}

/// Returns a number as a whole one if it is.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() < EXACT).then_some(value as i64)
}

fn largest(p_values: impl Iterator<Item = f64>) -> f64 {
    p_values.fold(0.0, f64::max)
}

/// How many measured runs are beyond all published ones.
struct Exceedance {
    above: usize,
    below: usize,
    measured: usize,
    published: usize,
}

fn exceedance<T: PartialOrd>(published: &[T], measured: &[T]) -> Exceedance {
    let above = measured.iter().filter(|value| published.iter().all(|own| *value > own));
    let below = measured.iter().filter(|value| published.iter().all(|own| *value < own));
    Exceedance {
        above: above.count(),
        below: below.count(),
        measured: measured.len(),
        published: published.len(),
    }
}

impl Exceedance {
    /// Returns twice the chance that the outermost runs on one side are all measured ones.
    fn p_value(&self) -> f64 {
        let outermost = self.above.max(self.below) as f64;
        let all = (self.measured + self.published) as f64;
        let places = (0..self.published).map(|taken| taken as f64);
        let chance: f64 = places.map(|taken| (all - outermost - taken) / (all - taken)).product();
        (2.0 * chance).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn whole_numbers_are_recovered_and_the_least_significant_sample_counts() {
        let published = PublishedRuns::whole(7.4, 0.49, 5, 2).unwrap();
        assert_eq!(published, PublishedRuns::Whole(vec![vec![8, 8, 7, 7, 7]]));
        // All three 7s among the five of 25: C(22, 2) / C(25, 5).
        close(published.difference_p(&[8.0; 20]), 2.0 * 231.0 / 53130.0);
        let several = PublishedRuns::whole(54.0, 8.0, 5, 2).unwrap();
        let PublishedRuns::Whole(samples) = &several else { panic!("{several:?}") };
        assert!(samples.len() > 1);
        let alone = |own: &Vec<i64>| {
            PublishedRuns::Whole(vec![own.clone()]).difference_p(&[64.0, 63.0, 64.0])
        };
        let least = samples.iter().map(alone).fold(0.0, f64::max);
        close(several.difference_p(&[64.0, 63.0, 64.0]), least);
    }

    #[test]
    fn other_numbers_differ_by_the_runs_beyond_what_can_have_been_published() {
        let published = PublishedRuns::real(4.1, 0.08, 5, 2);
        close(published.difference_p(&[9.0, 9.1, 9.2]), 2.0 / 56.0);
        close(published.difference_p(&[9.0, 9.1, 4.1]), 2.0 * 6.0 / 56.0);
        close(published.difference_p(&[4.2, 4.0, 4.1]), 1.0);
        let PublishedRuns::Within { low, high, .. } = published else { panic!("{published:?}") };
        close(low, 4.1 - 0.005 - 2.0 * 0.085);
        close(high, 4.1 + 0.005 + 2.0 * 0.085);
    }

    #[test]
    fn whole_numbers_that_are_too_many_to_list_are_known_to_lie_somewhere() {
        let published = PublishedRuns::whole(54.0, 8.0, 50, 2).unwrap();
        assert!(matches!(published, PublishedRuns::Within { runs: 50, .. }), "{published:?}");
        assert_eq!(PublishedRuns::whole(4.1, 0.3, 5, 2), None);
    }

    #[test]
    fn a_difference_takes_at_least_so_many_runs() {
        assert_eq!(PublishedRuns::fewest_runs(5, 0.05), Some(3));
        assert_eq!(PublishedRuns::fewest_runs(5, 0.05 / 45.0), Some(9));
        assert_eq!(PublishedRuns::fewest_runs(1, 0.05), Some(39));
        assert_eq!(PublishedRuns::fewest_runs(1, 0.0001), None);
    }
}
