//! Which printed spreads are possible for means of whole numbers.
//!
//! Some papers print a variance where they announce a standard deviation. For counts this shows:
//! few deviations are possible for a given mean of a few whole numbers.

/// What a printed spread of whole numbers can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedSpread {
    /// A standard deviation (divisor n), whatever else it may be.
    Deviation,
    /// Not a standard deviation, but a variance (divisor n).
    Variance,
    /// Neither: the runs were more, or fewer, or no whole numbers.
    Neither,
}

/// Tells what a printed mean and spread of `runs` whole numbers can be, both rounded to the given
/// number of decimals.
pub fn printed_spread(mean: f64, spread: f64, runs: usize, decimals: usize) -> PrintedSpread {
    let printed = Printed::new(mean, spread, runs, decimals);
    let is_attainable =
        |variance| printed.moments(variance).any(|(sum, squares)| exist(runs, sum, squares));
    if is_attainable(printed.variance_of_deviation()) {
        PrintedSpread::Deviation
    } else if is_attainable(printed.spread) {
        PrintedSpread::Variance
    } else {
        PrintedSpread::Neither
    }
}

/// Lists every sample of `runs` whole numbers with a printed mean, and with the printed spread as
/// their standard deviation or variance (divisor n); nothing if they are too many.
pub(super) fn whole_number_samples(
    mean: f64,
    spread: f64,
    runs: usize,
    decimals: usize,
) -> Option<Vec<Vec<i64>>> {
    if spread > LARGEST_SPREAD {
        return None;
    }
    let printed = Printed::new(mean, spread, runs, decimals);
    let mut found = Search { samples: Vec::new(), steps_left: MOST_STEPS };
    for variance in [printed.variance_of_deviation(), printed.spread] {
        for (sum, squares) in printed.moments(variance) {
            found.samples_of(&mut Vec::with_capacity(runs), runs, sum, squares)?;
        }
    }
    for value in found.samples.iter_mut().flatten() {
        *value += printed.shift;
    }
    found.samples.sort_unstable();
    found.samples.dedup();
    Some(found.samples)
}

/// Of a larger spread there are too many samples to list.
const LARGEST_SPREAD: f64 = 1e4;

/// A search for samples that takes longer than this is given up.
const MOST_STEPS: usize = 100_000;

/// A printed mean and spread, as the ranges that were rounded to them.
struct Printed {
    runs: usize,
    /// A whole number near the mean: moving all numbers by it changes no variance.
    shift: i64,
    /// The mean less that.
    mean: (f64, f64),
    spread: (f64, f64),
}

impl Printed {
    fn new(mean: f64, spread: f64, runs: usize, decimals: usize) -> Self {
        let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
        // Printed numbers may have been rounded half up, down or to even.
        let half = 0.5 * 10_f64.powi(-decimals) * (1.0 + 1e-9);
        let shift = mean.round();
        Self {
            runs,
            shift: shift as i64,
            mean: (mean - shift - half, mean - shift + half),
            spread: ((spread - half).max(0.0), spread + half),
        }
    }

    fn variance_of_deviation(&self) -> (f64, f64) {
        (self.spread.0 * self.spread.0, self.spread.1 * self.spread.1)
    }

    /// Returns the sums and sums of squares of numbers, less the shift, with this mean and a
    /// variance in a range.
    fn moments(&self, variance: (f64, f64)) -> impl Iterator<Item = (i64, i64)> {
        let runs = self.runs as f64;
        let whole = |low: f64, high: f64| (low.ceil() as i64)..=(high.floor() as i64);
        let sums = if self.runs == 0 {
            whole(1.0, 0.0)
        } else {
            whole(self.mean.0 * runs, self.mean.1 * runs)
        };
        sums.flat_map(move |sum| {
            let of_mean = (sum * sum) as f64 / runs;
            let squares = |variance: f64| variance * runs + of_mean;
            // Rounding of this arithmetic must not lose an exact hit.
            whole(squares(variance.0) - 1e-9, squares(variance.1) + 1e-9)
                .map(move |squares| (sum, squares))
        })
    }
}

/// Samples found so far, each in decreasing order.
struct Search {
    samples: Vec<Vec<i64>>,
    steps_left: usize,
}

impl Search {
    /// Adds all samples that begin with `chosen` and go on with `left` numbers of this sum and sum
    /// of squares; nothing if that takes too long.
    fn samples_of(
        &mut self,
        chosen: &mut Vec<i64>,
        left: usize,
        sum: i64,
        squares: i64,
    ) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        if left == 0 {
            if sum == 0 && squares == 0 {
                self.samples.push(chosen.clone());
            }
            return Some(());
        }
        let numbers = i64::try_from(left).ok()?;
        if squares < 0 || sum * sum > squares * numbers {
            return Some(());
        }
        let reach = squares.isqrt();
        let largest = chosen.last().map_or(reach, |last| reach.min(*last));
        // The largest of the numbers is not below their mean.
        for next in sum.div_euclid(numbers).max(-reach)..=largest {
            if next * numbers < sum {
                continue;
            }
            chosen.push(next);
            self.samples_of(chosen, left - 1, sum - next, squares - next * next)?;
            chosen.pop();
        }
        Some(())
    }
}

/// Returns whether `count` whole numbers have this sum and this sum of squares.
fn exist(count: usize, sum: i64, squares: i64) -> bool {
    /// Beyond this many numbers the necessary conditions suffice.
    const SEARCHED: usize = 5;
    let numbers = i64::try_from(count).unwrap_or(i64::MAX);
    // The most even numbers of this sum have the least squares; a number and its square are even
    // together.
    let (quotient, rest) = (sum.div_euclid(numbers), sum.rem_euclid(numbers));
    let least = numbers * quotient * quotient + rest * (2 * quotient + 1);
    if squares < least || (squares - sum) % 2 != 0 {
        return false;
    }
    match count {
        1 => sum * sum == squares,
        // Two numbers: their difference is the root of twice the squares less that of the sum.
        2 => {
            let square = 2 * squares - sum * sum;
            let root = square.isqrt();
            root * root == square
        }
        _ if count > SEARCHED => true,
        _ => {
            let reach = squares.isqrt();
            (-reach..=reach).any(|first| exist(count - 1, sum - first, squares - first * first))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_of_real_runs_are_recognized() {
        for runs in [[4, 4, 4, 4, 4], [4, 5, 4, 5, 4], [7, 9, 8, 8, 30], [-3, 0, 2, 11, 5]] {
            let mean = f64::from(runs.iter().sum::<i32>()) / 5.0;
            let squares = runs.iter().map(|run| (f64::from(*run) - mean).powi(2)).sum::<f64>();
            let printed = |value: f64| format!("{value:.2}").parse::<f64>().unwrap();
            let (mean, spread) = (printed(mean), printed((squares / 5.0).sqrt()));
            assert_eq!(printed_spread(mean, spread, 5, 2), PrintedSpread::Deviation, "{runs:?}");
        }
    }

    #[test]
    fn all_samples_of_a_printed_mean_and_spread_are_listed() {
        let found = |mean, spread| whole_number_samples(mean, spread, 5, 2).unwrap();
        assert_eq!(found(4.0, 0.0), [[4; 5]]);
        assert_eq!(found(5.8, 0.4), [[6, 6, 6, 6, 5]]);
        assert_eq!(found(-3.2, 0.4), [[-3, -3, -3, -3, -4]]);
        assert_eq!(found(4.1, 0.3), [[0; 5]; 0]);
        // Against all samples there are around a mean.
        let mut all = Vec::new();
        for code in 0..11_i64.pow(5) {
            let sample: Vec<i64> = (0..5).map(|at| 30 + code / 11_i64.pow(at) % 11).collect();
            let descending = sample.is_sorted_by(|a, b| a >= b);
            let squares: i64 = sample.iter().map(|value| (value - 35).pow(2)).sum();
            let off = sample.iter().sum::<i64>() - 174;
            // A variance of 6.56 about the mean of 34.8 is a sum of 33 about 35.
            if descending && off == 0 && squares == 33 {
                all.push(sample);
            }
        }
        all.sort_unstable();
        assert!(all.len() > 1);
        assert_eq!(found(34.8, 6.56), all);
    }

    #[test]
    fn what_fits_both_stays_a_deviation() {
        assert_eq!(printed_spread(54.0, 8.0, 5, 2), PrintedSpread::Deviation);
        assert_eq!(printed_spread(4.0, 0.0, 5, 2), PrintedSpread::Deviation);
    }

    #[test]
    fn what_fits_nothing_is_said_so() {
        assert_eq!(printed_spread(4.1, 0.3, 5, 2), PrintedSpread::Neither, "no mean of five");
        assert_eq!(printed_spread(4.0, 0.5, 5, 2), PrintedSpread::Neither);
        assert_eq!(printed_spread(4.0, 0.1, 1, 2), PrintedSpread::Neither);
    }
}
