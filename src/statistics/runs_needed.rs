//! How many runs it takes to decide a question that the present ones leave open.

use super::bounded_mean::BoundedMean;
use super::published_runs::PublishedRuns;

/// More runs than this are not worth a guess.
pub const MOST_RUNS: usize = 1000;

/// Returns about how many runs decide whether a mean is within `margin` of `center`, at the given
/// level, if further runs are like the present ones. Without any run: if all are at the center.
pub fn runs_needed(
    range: BoundedMean,
    runs: &[f64],
    center: f64,
    margin: f64,
    level: f64,
) -> Option<usize> {
    let runs = if runs.is_empty() { &[center] } else { runs };
    fewest(runs.len(), |total| {
        let times = total as f64 / runs.len() as f64;
        range.equivalence_p_repeated(runs, center, margin, times) <= level
    })
}

impl PublishedRuns {
    /// Returns about how many runs show a difference at the given level, if further runs are like
    /// the present ones. Without any run: if all are beyond the published ones.
    pub fn runs_needed(&self, runs: &[f64], level: f64) -> Option<usize> {
        if runs.is_empty() {
            return Self::fewest_runs(self.runs(), level);
        }
        fewest(runs.len(), |total| {
            let repeated: Vec<f64> = runs.iter().copied().cycle().take(total).collect();
            self.difference_p(&repeated) <= level
        })
    }
}

/// Finds the least number from `from` on for which something holds, given that it then keeps
/// holding.
fn fewest(from: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (from.max(1), MOST_RUNS);
    if low > high || !holds(high) {
        return None;
    }
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: BoundedMean = BoundedMean { low: 1.0, high: 16.0 };

    #[test]
    fn that_many_runs_do_decide_and_one_fewer_do_not() {
        for (value, margin) in [(4.0, 0.5), (4.0, 1.0), (4.2, 0.5)] {
            let needed = runs_needed(COUNTS, &[value; 5], 4.0, margin, 0.05).unwrap();
            let p = |runs: usize| COUNTS.equivalence_p(&vec![value; runs], 4.0, margin);
            assert!(p(needed) <= 0.05 && p(needed - 1) > 0.05, "{value} {margin} {needed}");
        }
        assert_eq!(runs_needed(COUNTS, &[4.5; 5], 4.0, 0.5, 0.05), None, "on the margin");
    }

    #[test]
    fn a_difference_needs_as_many_runs_as_its_test() {
        let published = PublishedRuns::whole(4.0, 0.0, 5, 2).unwrap();
        assert_eq!(published.runs_needed(&[7.0; 5], 0.05), Some(5), "decided already");
        assert_eq!(published.runs_needed(&[7.0; 5], 0.001), Some(9));
        assert_eq!(published.runs_needed(&[], 0.001), Some(9));
        assert_eq!(published.runs_needed(&[4.0; 5], 0.05), None);
        let real = PublishedRuns::real(4.1, 0.08, 5, 2);
        assert_eq!(real.runs_needed(&[9.0, 9.1, 9.2], 0.05 / 3.0), Some(4));
    }
}
