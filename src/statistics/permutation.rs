//! Exact permutation tests: every way to tell the same values apart is equally likely.

/// A table of this many numbers is still worth filling.
const LARGEST_TABLE: usize = 10_000_000;

/// Pairs of values up to which the rank-sum test is exact.
const EXACT_PAIRS: usize = 2500;

/// Returns the p-value of the two-sided test of a difference of means of whole numbers, which is
/// twice the smaller one-sided one; nothing if the numbers are too far apart to count.
pub(super) fn mean_difference_p(first: &[i64], second: &[i64]) -> Option<f64> {
    let pooled: Vec<i64> = first.iter().chain(second).copied().collect();
    let counts = SumCounts::of(&pooled, second.len())?;
    let found: i64 = second.iter().sum();
    let (above, below) = (counts.share(|sum| sum >= found), counts.share(|sum| sum <= found));
    Some((2.0 * above.min(below)).min(1.0))
}

/// Returns the p-value of the one-sided rank-sum test of Wilcoxon, Mann and Whitney: are the first
/// values larger? Exact with ties, too, unless there are more than a few dozen on both sides.
pub fn rank_sum_p(larger: &[f64], smaller: &[f64]) -> f64 {
    let mut pooled: Vec<(f64, bool)> = larger.iter().map(|value| (*value, true)).collect();
    pooled.extend(smaller.iter().map(|value| (*value, false)));
    pooled.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    // Twice the mean rank of ties is a whole number.
    let mut ranks = Vec::with_capacity(pooled.len());
    for tied in pooled.chunk_by(|(a, _), (b, _)| b <= a) {
        let rank = i64::try_from(2 * ranks.len() + tied.len() + 1).unwrap_or(i64::MAX);
        ranks.extend(tied.iter().map(|_| rank));
    }
    let own = ranks.iter().zip(&pooled).filter(|(_, (_, is_larger))| *is_larger);
    let sum: i64 = own.map(|(rank, _)| rank).sum();
    let exact = larger.len() * smaller.len() <= EXACT_PAIRS;
    match SumCounts::of(&ranks, larger.len()).filter(|_| exact) {
        Some(counts) => counts.share(|other| other >= sum),
        None => normal_p(&ranks, larger.len(), sum),
    }
}

/// Returns the chance that a sum of `chosen` ranks is at least `sum`, by the normal approximation
/// with correction for continuity.
fn normal_p(ranks: &[i64], chosen: usize, sum: i64) -> f64 {
    let (all, chosen) = (ranks.len() as f64, chosen as f64);
    let mean = ranks.iter().map(|rank| *rank as f64).sum::<f64>() / all;
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
    let variance = squares / (all - 1.0) * chosen * (all - chosen) / all;
    if variance <= 0.0 {
        return 1.0;
    }
    // Doubled ranks go up in steps of 2.
    normal_above((sum as f64 - 1.0 - chosen * mean) / variance.sqrt())
}

/// Returns the chance that a standard normal value is above `z`.
fn normal_above(z: f64) -> f64 {
    const SERIES_UP_TO: f64 = 3.0;
    const FRACTION_TERMS: u32 = 120;
    if z < 0.0 {
        return 1.0 - normal_above(-z);
    }
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    if z > SERIES_UP_TO {
        let mills = (1..=FRACTION_TERMS).rev().fold(z, |below, term| z + f64::from(term) / below);
        return density / mills;
    }
    let (mut term, mut sum, mut odd) = (z, 0.0, 1.0);
    while term > f64::EPSILON * sum {
        sum += term;
        odd += 2.0;
        term *= z * z / odd;
    }
    0.5 - density * sum
}

/// In how many ways some of the values have each sum.
struct SumCounts {
    /// The sum of as many of the least value.
    least: i64,
    /// Ways by the sum less that.
    ways: Vec<f64>,
}

impl SumCounts {
    /// Counts the choices of `chosen` values; nothing if their sums are too many.
    fn of(values: &[i64], chosen: usize) -> Option<Self> {
        let (low, high) = (*values.iter().min()?, *values.iter().max()?);
        let reach = usize::try_from(high.checked_sub(low)?).ok()?.checked_mul(chosen)?;
        let width = reach.checked_add(1)?;
        if width.checked_mul(chosen + 1)? > LARGEST_TABLE {
            return None;
        }
        let mut ways = vec![vec![0.0; width]; chosen + 1];
        ways[0][0] = 1.0;
        for value in values {
            let step = usize::try_from(value - low).ok()?;
            for count in (1..=chosen).rev() {
                for sum in step..width {
                    ways[count][sum] += ways[count - 1][sum - step];
                }
            }
        }
        let least = low.checked_mul(i64::try_from(chosen).ok()?)?;
        Some(Self { least, ways: ways.pop()? })
    }

    /// Returns the share of choices whose sum fulfills a condition.
    fn share(&self, holds: impl Fn(i64) -> bool) -> f64 {
        let sums = (self.least..).zip(&self.ways);
        let held: f64 = sums.filter(|(sum, _)| holds(*sum)).map(|(_, ways)| ways).sum();
        held / self.ways.iter().sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_apart_are_one_choice_in_each_direction() {
        let p = mean_difference_p(&[7, 7, 7, 7, 7], &[4, 4, 4, 4, 4]).unwrap();
        assert!((p - 2.0 / 252.0).abs() < 1e-12, "{p}");
        assert!((rank_sum_p(&[7.0; 5], &[4.0; 5]) - 1.0 / 252.0).abs() < 1e-12);
        assert!((rank_sum_p(&[4.0; 5], &[7.0; 5]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_samples_never_differ() {
        assert!((mean_difference_p(&[4, 4], &[4, 4, 4]).unwrap() - 1.0).abs() < 1e-12);
        assert!((rank_sum_p(&[4.0; 3], &[4.0; 3]) - 1.0).abs() < 1e-12);
        assert!(rank_sum_p(&[4.0; 90], &[4.0; 90]) >= 0.5, "without variance, too");
    }

    #[test]
    fn numbers_too_far_apart_to_count_are_not_counted() {
        assert_eq!(mean_difference_p(&[0, i64::MAX], &[1, 2]), None);
        assert_eq!(mean_difference_p(&[0, 1_000_000_000], &[1, 2]), None);
    }
}
