//! Student's t distribution, and quantiles of the normal one.

use super::special::incomplete_beta;

/// Student's t distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudentT {
    /// Degrees of freedom; positive, not necessarily whole.
    pub degrees_of_freedom: f64,
}

impl StudentT {
    /// Returns the chance of a value of at most `t`.
    pub fn cdf(self, t: f64) -> f64 {
        self.above(-t)
    }

    /// Returns the chance of a value above `t`, precise in the far tail.
    pub fn above(self, t: f64) -> f64 {
        let freedom = self.degrees_of_freedom;
        let square = t * t;
        // Two forms of the same number: far out the first keeps digits, near 0 the second.
        let beyond = if square > 1.0 {
            incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square))
        } else {
            1.0 - incomplete_beta(0.5, freedom / 2.0, square / (freedom + square))
        };
        if t > 0.0 { beyond / 2.0 } else { 1.0 - beyond / 2.0 }
    }

    /// Returns the value that a share `p` of the distribution lies below.
    pub fn quantile(self, p: f64) -> f64 {
        quantile_of_symmetric(p, |t| self.above(t))
    }
}

/// Returns the value that a share `p` of the standard normal distribution lies below.
pub fn normal_quantile(p: f64) -> f64 {
    quantile_of_symmetric(p, normal_above)
}

/// Returns the chance that a standard normal value is above a `z` of at least 0.
fn normal_above(z: f64) -> f64 {
    const SERIES_UP_TO: f64 = 3.0;
    const FRACTION_TERMS: u32 = 120;
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

/// Finds a quantile of a distribution around 0 by halving, from the chance of values above.
fn quantile_of_symmetric(p: f64, above: impl Fn(f64) -> f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let tail = p.min(1.0 - p);
    let (mut low, mut high) = (0.0, 1.0);
    while above(high) > tail {
        low = high;
        high *= 2.0;
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return if p < 0.5 { -middle } else { middle };
        }
        if above(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_undo_the_distribution() {
        for degrees_of_freedom in [0.7, 1.0, 4.0, 7.3, 60.0, 1e6] {
            let t = StudentT { degrees_of_freedom };
            for p in [1e-9, 0.01, 0.3, 0.5, 0.8, 0.975, 0.999_999] {
                let back = t.cdf(t.quantile(p));
                assert!((back - p).abs() < 1e-9 * p, "{degrees_of_freedom} {p} {back}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_line_are_where_they_belong() {
        let t = StudentT { degrees_of_freedom: 3.0 };
        assert_eq!(t.above(f64::INFINITY), 0.0);
        assert_eq!(t.cdf(f64::NEG_INFINITY), 0.0);
        assert_eq!(t.quantile(1.0), f64::INFINITY);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert!(t.quantile(0.5).abs() < 1e-12 && normal_quantile(0.5).abs() < 1e-12);
    }
}
