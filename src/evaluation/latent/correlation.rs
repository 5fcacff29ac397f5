//! Correlation of two lists of numbers: Pearson's, and Spearman's over ranks.
//!
//! Reference: Pearson 1895; Spearman 1904, with the mean rank for numbers that are equal.
//! Assumptions: a list whose numbers are all equal has no correlation with anything, told as 0.
//! Checked against: hand-computed cases below, and tests/reference/quality.json (SciPy).

/// Returns Pearson's correlation.
pub(super) fn pearson(left: &[f64], right: &[f64]) -> f64 {
    let (left, right) = (centered(left), centered(right));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let length = (dot(&left, &left) * dot(&right, &right)).sqrt();
    if length > 0.0 { dot(&left, &right) / length } else { 0.0 }
}

/// Returns Spearman's correlation.
pub(super) fn spearman(left: &[f64], right: &[f64]) -> f64 {
    pearson(&ranks(left), &ranks(right))
}

/// Returns numbers less their mean.
pub(super) fn centered(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| value - mean).collect()
}

/// Returns the rank of each number; equal ones share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    // Adding zero turns -0.0 into 0.0, which is its equal.
    let values: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|&one, &other| values[one].total_cmp(&values[other]).is_eq()) {
        for &at in equal {
            ranks[at] = below as f64 + (equal.len() + 1) as f64 / 2.0;
        }
        below += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[30.0, 10.0, 20.0, 20.0]), [4.0, 1.0, 2.5, 2.5]);
        assert_eq!(ranks(&[5.0, 5.0, 5.0]), [2.0, 2.0, 2.0]);
        assert_eq!(ranks(&[0.0, -0.0, 1.0]), [1.5, 1.5, 3.0]);
    }

    #[test]
    fn a_rising_curve_has_rank_correlation_one_but_not_a_straight_one() {
        let (x, y) = ([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0]);
        assert!((spearman(&x, &y) - 1.0).abs() < 1e-12);
        // Products 44, squares 5 and 470: 44 / sqrt(2350).
        assert!((pearson(&x, &y) - 44.0 / 2350.0_f64.sqrt()).abs() < 1e-12);
        assert!(pearson(&x, &[2.0; 4]).abs() < 1e-12, "a constant has none");
    }
}
