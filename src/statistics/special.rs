//! The two special functions behind the t distribution.

/// Returns the logarithm of the gamma function of a positive number.
///
/// Stirling's series is exact to the last digits from 12 on; smaller arguments are lifted there by
/// the recurrence of the gamma function.
pub(super) fn ln_gamma(x: f64) -> f64 {
    const LIFTED: f64 = 12.0;
    // Bernoulli numbers over even numbers, from the highest power down.
    const COEFFICIENTS: [f64; 6] =
        [-691.0 / 360_360.0, 1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];
    let mut lifted = x;
    let mut factors = 1.0;
    while lifted < LIFTED {
        factors *= lifted;
        lifted += 1.0;
    }
    let inverse = lifted.recip();
    let square = inverse * inverse;
    let series = inverse * COEFFICIENTS.iter().fold(0.0, |sum, term| sum * square + term);
    let half_ln_two_pi = 0.5 * std::f64::consts::TAU.ln();
    (lifted - 0.5) * lifted.ln() - lifted + half_ln_two_pi + series - factors.ln()
}

/// Returns the regularized incomplete beta function of `x` in [0, 1].
pub(super) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let ln_front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    // The fraction converges fast on one side of the mean; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * fraction(a, b, x) / a
    } else {
        1.0 - ln_front.exp() * fraction(b, a, 1.0 - x) / b
    }
}

/// Evaluates the continued fraction of the incomplete beta function from the front, by the
/// modified method of Lentz.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const MOST_TERMS: u32 = 10_000;
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut numerator = 1.0;
    let mut denominator = away_from_zero(1.0 - (a + b) * x / (a + 1.0)).recip();
    let mut value = denominator;
    for term in 1..MOST_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut last = 1.0;
        for coefficient in [even, odd] {
            denominator = away_from_zero(1.0 + coefficient * denominator).recip();
            numerator = away_from_zero(1.0 + coefficient / numerator);
            last = denominator * numerator;
            value *= last;
        }
        if (last - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_of_whole_numbers_is_a_factorial() {
        let mut factorial = 1.0_f64;
        for n in 1..20 {
            assert!((ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-13, "{n}");
            factorial *= f64::from(n);
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-14);
    }

    #[test]
    fn the_incomplete_beta_function_is_a_polynomial_for_whole_parameters() {
        for x in [0.0, 0.01, 0.3, 0.5, 0.77, 1.0] {
            assert!((incomplete_beta(1.0, 1.0, x) - x).abs() < 1e-13);
            assert!((incomplete_beta(2.0, 2.0, x) - x * x * (3.0 - 2.0 * x)).abs() < 1e-13);
        }
    }
}
