//! How many leading coordinates reach a share of the variance: per run, then mean and spread.
//!
//! What: the smallest k whose first k coordinates hold at least the threshold's share.
//! Reference: PCAE paper, section 5.1; the same rule and arithmetic as the dimension estimator,
//! so that a figure and a table of the same runs tell the same numbers.
//! Assumptions: the mean of counts is not the count of the mean spectrum; only the former is
//! shown, because runs that disagree are what a reader must see.
//! Checked against: hand-computed counts in the tests below.

use serde::{Deserialize, Serialize};

use crate::report::tables::cell::Rounded;

/// Decimals of a mean count.
const DIGITS: usize = 1;

/// The coordinates that the runs of one series need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateCount {
    /// The count of every run, in record order.
    pub runs: Vec<usize>,
    /// Mean of the counts.
    pub mean: f64,
    /// Standard deviation of the counts; none for a single run.
    pub std: Option<f64>,
}

/// Which runs need a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// All of them.
    Every,
    /// Some, but not all.
    Some,
    /// None of them.
    None,
}

impl CoordinateCount {
    /// Returns which runs need the coordinate with this index.
    pub(crate) fn demand(&self, index: usize) -> Demand {
        match self.runs.iter().filter(|needed| index < **needed).count() {
            0 => Demand::None,
            count if count == self.runs.len() => Demand::Every,
            _ => Demand::Some,
        }
    }

    /// Writes the count on which all runs agree, or else mean and spread.
    pub(crate) fn text(&self) -> String {
        match self.runs.split_first() {
            Some((first, others)) if others.iter().all(|other| other == first) => first.to_string(),
            _ => Rounded::new(self.mean, self.std, DIGITS).joined("±"),
        }
    }
}

/// Counts the leading coordinates of one run that hold at least the threshold's share.
pub(crate) fn count(variances: &[f64], threshold: f64) -> usize {
    // Compared with the sum itself rather than with shares, which round differently.
    let enough = threshold * variances.iter().sum::<f64>();
    let mut cumulative = 0.0;
    let reaches = |variance: &f64| {
        cumulative += variance;
        cumulative >= enough
    };
    variances.iter().position(reaches).map_or(variances.len(), |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_count_that_reaches_the_threshold_is_taken() {
        let counts = |variances: &[f64]| [0.0, 0.6, 0.9, 1.0].map(|t| count(variances, t));
        assert_eq!(counts(&[6.0, 3.0, 1.0]), [1, 1, 2, 3]);
        assert_eq!(counts(&[0.0, 1.0, 0.0]), [1, 2, 2, 2]);
    }

    #[test]
    fn ten_equal_tenths_reach_the_whole_despite_rounding() {
        assert_eq!(count(&[0.1; 10], 1.0), 10);
    }

    #[test]
    fn runs_that_agree_need_a_whole_number_and_others_a_mean_with_spread() {
        let text =
            |runs: &[usize], mean, std| CoordinateCount { runs: runs.into(), mean, std }.text();
        assert_eq!(text(&[4, 4, 4], 4.0, Some(0.0)), "4");
        assert_eq!(text(&[7], 7.0, None), "7");
        // Squared deviations 9, 9 and 0: sqrt(18 / 3) = 2.449.
        assert_eq!(text(&[7, 13, 10], 10.0, Some(6.0_f64.sqrt())), "10.0 ± 2.4");
    }

    #[test]
    fn a_coordinate_is_needed_by_the_runs_whose_count_passes_it() {
        let needed = CoordinateCount { runs: vec![1, 2], mean: 1.5, std: Some(0.5) };
        assert_eq!(
            [0, 1, 2].map(|k| needed.demand(k)),
            [Demand::Every, Demand::Some, Demand::None]
        );
    }
}
