//! Many answers at once: Holm's adjustment over cells, and spending of alpha over looks.

/// Adjusts p-values by Holm's step-down method: comparing each with alpha then keeps the chance of
/// any false rejection among all of them at or below alpha. Equal p-values stay equal.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &at) in order.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max((p_values[at] * remaining).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

/// Returns the level at which Holm's method tests the next hypothesis, given adjusted p-values.
pub fn next_holm_level(adjusted: &[f64], alpha: f64) -> f64 {
    let waiting = adjusted.iter().filter(|p| **p > alpha).count();
    alpha / waiting.max(1) as f64
}

/// Returns the share of alpha that look number `look`, counted from 1, may use: half of what is
/// left. All looks together never use more than alpha, however they depend on each other and
/// however many there will be, by the inequality of Boole.
pub fn spent_alpha(alpha: f64, look: u32) -> f64 {
    alpha * 0.5_f64.powi(i32::try_from(look).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn holm_multiplies_by_what_remains_and_never_goes_down() {
        // By hand: 0.005*4, 0.01*3, 0.03*2, and 0.04*1 < 0.06 is lifted to 0.06.
        close(&holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]);
        close(&holm(&[0.9, 0.4]), &[0.9, 0.8]);
        close(&holm(&[0.9, 0.6]), &[1.0, 1.0]);
        close(&holm(&[0.02]), &[0.02]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn tied_p_values_share_their_adjustment() {
        close(&holm(&[0.02, 0.5, 0.02, 0.02]), &[0.08, 0.5, 0.08, 0.08]);
    }

    #[test]
    fn the_next_level_is_shared_by_those_that_wait() {
        let adjusted = holm(&[0.001, 0.2, 0.3]);
        assert!((next_holm_level(&adjusted, 0.05) - 0.025).abs() < 1e-15);
        assert!((next_holm_level(&[], 0.05) - 0.05).abs() < 1e-15);
    }

    #[test]
    fn looks_together_never_spend_more_than_alpha() {
        let spent: Vec<f64> = (1..=60).map(|look| spent_alpha(0.05, look)).collect();
        assert_eq!(spent[0], 0.025);
        assert!(spent.iter().sum::<f64>() <= 0.05);
    }
}
