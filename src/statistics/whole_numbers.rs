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
    let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
    // Printed numbers may have been rounded half up, down or to even.
    let half = 0.5 * 10_f64.powi(-decimals) * (1.0 + 1e-9);
    let (low, high) = ((spread - half).max(0.0), spread + half);
    if is_attainable(mean, half, (low * low, high * high), runs) {
        PrintedSpread::Deviation
    } else if is_attainable(mean, half, (low, high), runs) {
        PrintedSpread::Variance
    } else {
        PrintedSpread::Neither
    }
}

/// Returns whether some whole numbers have a mean and a variance (divisor n) in these ranges.
fn is_attainable(mean: f64, half: f64, variance: (f64, f64), runs: usize) -> bool {
    if runs == 0 {
        return false;
    }
    let count = runs as f64;
    let whole = |low: f64, high: f64| (low.ceil() as i64)..=(high.floor() as i64);
    whole((mean - half) * count, (mean + half) * count).any(|sum| {
        // Moving all numbers by the same whole number changes no variance.
        let sum = sum.rem_euclid(runs as i64);
        let of_mean = (sum * sum) as f64 / count;
        let squares = |variance: f64| variance * count + of_mean;
        // Rounding of this arithmetic must not lose an exact hit.
        let (low, high) = (squares(variance.0) - 1e-9, squares(variance.1) + 1e-9);
        whole(low, high).any(|squares| exist(runs, sum, squares))
    })
}

/// Returns whether `count` whole numbers have this sum and this sum of squares.
fn exist(count: usize, sum: i64, squares: i64) -> bool {
    /// Beyond this many numbers the necessary conditions suffice.
    const SEARCHED: usize = 5;
    let numbers = count as i64;
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
