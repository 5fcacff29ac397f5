//! Mean and standard deviation that overflow only where the result itself would.

/// Returns the mean of some values; nothing without any.
pub fn mean(values: &[f64]) -> Option<f64> {
    let (scaled, scale) = scaled(values)?;
    let least = scaled.iter().copied().fold(f64::INFINITY, f64::min);
    let most = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // The mean of equal values may round away from them, and must not.
    let mean = (scaled.iter().sum::<f64>() / scaled.len() as f64).clamp(least, most);
    Some(mean * scale)
}

/// Returns the standard deviation with the divisor n less `lost`; nothing for fewer than two.
pub fn standard_deviation(values: &[f64], lost: u8) -> Option<f64> {
    let (scaled, scale) = scaled(values).filter(|(scaled, _)| scaled.len() > 1)?;
    let mean = mean(&scaled)?;
    let squares: f64 = scaled.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (scaled.len() as f64 - f64::from(lost))).sqrt() * scale)
}

/// Divides values by a power of two, which is exact, so that none is above 1.
fn scaled(values: &[f64]) -> Option<(Vec<f64>, f64)> {
    let largest = values.iter().map(|value| value.abs()).reduce(f64::max)?;
    // The largest powers have no finite double, the smallest no finite inverse.
    let exponent = (largest.max(f64::MIN_POSITIVE).log2().ceil() as i32).clamp(-1000, 1000);
    let scale = 2_f64.powi(exponent);
    Some((values.iter().map(|value| value / scale).collect(), scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_their_own_mean_and_no_deviation() {
        assert_eq!(mean(&[0.1; 7]), Some(0.1));
        assert_eq!(standard_deviation(&[0.1; 7], 0), Some(0.0));
        assert_eq!((mean(&[]), standard_deviation(&[3.0], 0)), (None, None));
    }

    #[test]
    fn the_largest_numbers_have_a_finite_mean_and_deviation() {
        let values = [1e308, -1e308, 1.7e308, -1.7e308];
        assert_eq!(mean(&values), Some(0.0));
        let deviation = standard_deviation(&values, 0).unwrap();
        assert!((deviation / 1e308 - f64::midpoint(1.0, 1.7 * 1.7).sqrt()).abs() < 1e-12);
        assert_eq!(mean(&[1.7e308; 3]), Some(1.7e308));
        assert_eq!(mean(&[5e-324, 5e-324]), Some(5e-324));
    }
}
