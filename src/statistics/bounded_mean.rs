//! The mean of values of a known range, from few of them and whatever their distribution.
//!
//! A test by betting (Waudby-Smith and Ramdas, 2024): whoever holds that the mean is at least `m`
//! pays fair or worse odds on each run, so a bettor who starts with 1 has at most 1 on average, and
//! by Markov's inequality more than 1 / alpha with a chance of at most alpha. A full stake is what
//! can't be lost as long as values keep to the range. On `n` equal values it gives the bound of
//! Clopper and Pearson on the share of runs that were not seen, times the distance to the end of
//! the range. A run at that end takes a full stake, so a tenth of the money stakes half.

/// The range of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedMean {
    /// The least value there can be.
    pub low: f64,
    /// The largest value there can be.
    pub high: f64,
}

/// Stakes, as shares of the full one, and the money on each.
const STAKES: [(f64, f64); 2] = [(1.0, 0.9), (0.5, 0.1)];

impl BoundedMean {
    /// Returns whether all values keep to the range.
    pub fn holds(&self, values: &[f64]) -> bool {
        values.iter().all(|value| (self.low..=self.high).contains(value))
    }

    /// Returns the p-value of equivalence: that the mean is strictly within `margin` of `center`.
    pub fn equivalence_p(&self, values: &[f64], center: f64, margin: f64) -> f64 {
        self.equivalence_p_repeated(values, center, margin, 1.0)
    }

    /// Returns the same as if there were that many times as many values, distributed alike.
    pub(super) fn equivalence_p_repeated(
        &self,
        values: &[f64],
        center: f64,
        margin: f64,
        times: f64,
    ) -> f64 {
        let above = self.at_least_p(values, center + margin, times);
        above.max(self.mirrored().at_least_p(&negated(values), margin - center, times))
    }

    /// Returns an interval that holds the mean; each end is wrong with a chance of at most alpha.
    pub fn interval(&self, values: &[f64], alpha: f64) -> (f64, f64) {
        let mirrored = self.mirrored().upper_end(&negated(values), alpha);
        (-mirrored, self.upper_end(values, alpha))
    }

    /// Returns the least mean that is too large for the values.
    fn upper_end(&self, values: &[f64], alpha: f64) -> f64 {
        let (mut low, mut high) = (self.low, self.high);
        loop {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                return high;
            }
            if self.at_least_p(values, middle, 1.0) > alpha {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// Returns the p-value of the hypothesis that the mean is `mean` or more.
    fn at_least_p(&self, values: &[f64], mean: f64, times: f64) -> f64 {
        if mean > self.high {
            return 0.0;
        }
        let room = self.high - mean;
        let gain = |value: f64, stake: f64| {
            let distance = mean - value;
            // No room is left only for the mean at the very end, which every lower value refutes.
            let odds = if room > 0.0 { distance / room } else { f64::INFINITY };
            if distance == 0.0 { 0.0 } else { (stake * odds).ln_1p() }
        };
        let wealth = |stake: f64| {
            (times * values.iter().map(|value| gain(*value, stake)).sum::<f64>()).exp()
        };
        let wealth: f64 = STAKES.iter().map(|(stake, money)| money * wealth(*stake)).sum();
        wealth.recip().min(1.0)
    }

    fn mirrored(&self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
}

fn negated(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: BoundedMean = BoundedMean { low: 1.0, high: 16.0 };

    #[test]
    fn few_equal_counts_show_nothing_and_many_do() {
        let p = |runs: usize| COUNTS.equivalence_p(&vec![4.0; runs], 4.0, 0.5);
        assert!(p(2) > 0.5 && p(5) > 0.5 && p(20) > 0.05, "{} {} {}", p(2), p(5), p(20));
        assert!(p(80) <= 0.05, "{}", p(80));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "a bet that gains nothing is exactly even")]
    fn a_difference_of_the_whole_margin_is_never_within_it() {
        assert_eq!(COUNTS.equivalence_p(&[11.0; 1000], 10.0, 1.0), 1.0);
        assert_eq!(COUNTS.equivalence_p(&[9.0; 1000], 10.0, 1.0), 1.0);
        assert!(COUNTS.equivalence_p(&[10.9; 1000], 10.0, 1.0) < 0.05);
    }

    #[test]
    fn the_ends_of_the_range_need_no_proof_and_give_none() {
        // No mean is above 16: only the lower side has to be shown.
        let wide = COUNTS.equivalence_p(&[15.0; 5], 14.0, 3.0);
        let lower = COUNTS.mirrored().at_least_p(&[-15.0; 5], -11.0, 1.0);
        assert!((wide - lower).abs() < 1e-15);
        // A mean of 16 means that all runs are 16.
        assert!(COUNTS.at_least_p(&[15.0], 16.0, 1.0) <= 0.0);
        assert!(COUNTS.at_least_p(&[16.0], 16.0, 1.0) >= 1.0);
    }

    #[test]
    fn one_run_at_the_far_end_does_not_end_the_test() {
        let mut values = vec![4.0; 400];
        values[0] = 16.0;
        let p = COUNTS.equivalence_p(&values, 4.0, 0.5);
        assert!(p < 0.05, "{p}");
    }

    #[test]
    fn the_interval_lies_in_the_margin_exactly_if_the_means_are_equivalent() {
        for values in [vec![4.0; 75], vec![4.0; 60], [vec![4.0; 70], vec![5.0; 5]].concat()] {
            let (low, high) = COUNTS.interval(&values, 0.05);
            let within = 3.5 < low && high < 4.5;
            assert_eq!(within, COUNTS.equivalence_p(&values, 4.0, 0.5) < 0.05, "{low} {high}");
        }
    }
}
