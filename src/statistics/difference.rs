//! The difference of two means: t tests, equivalence within a margin, and an interval.

use super::distributions::StudentT;
use super::sample::Sample;

/// An estimated difference of two means, by Welch: the variances need not be equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// First mean minus second mean.
    pub estimate: f64,
    /// Standard error of the estimate; 0 if neither side varies.
    pub standard_error: f64,
    /// Degrees of freedom, by Welch and Satterthwaite.
    pub degrees_of_freedom: f64,
}

impl Difference {
    /// Compares measured runs with others, or with a number of unknown spread, which is then
    /// taken to be exact (the one-sample test).
    ///
    /// Nothing if `measured` is a single run: its variance is unknown.
    pub fn between(measured: &Sample, other: &Sample) -> Option<Self> {
        let variance_of_mean = |sample: &Sample| {
            sample.variance().map(|variance| (variance / sample.runs() as f64, sample.runs()))
        };
        let sides = [Some(variance_of_mean(measured)?), variance_of_mean(other)];
        let total: f64 = sides.iter().flatten().map(|(variance, _)| variance).sum();
        let share =
            |(variance, runs): &(f64, usize)| (variance / total).powi(2) / (*runs as f64 - 1.0);
        let freedom = if total > 0.0 {
            sides.iter().flatten().map(share).sum::<f64>().recip()
        } else {
            measured.runs() as f64 - 1.0
        };
        Some(Self {
            estimate: measured.mean - other.mean,
            standard_error: total.sqrt(),
            degrees_of_freedom: freedom,
        })
    }

    /// Returns the p-value of the two-sided test against no difference.
    ///
    /// Where nothing varies, different means differ for sure (0) and equal ones don't at all (1).
    pub fn difference_p(&self) -> f64 {
        2.0 * self.larger_p().min(self.smaller_p()).min(0.5)
    }

    /// Returns the p-value of the one-sided test: is the first mean larger?
    pub fn larger_p(&self) -> f64 {
        self.chance_above(self.estimate, 1.0)
    }

    fn smaller_p(&self) -> f64 {
        self.chance_above(-self.estimate, 1.0)
    }

    /// Returns the p-value of the two one-sided tests of equivalence: is the difference within
    /// `margin` of 0 on either side? Where nothing varies, the margin itself is still within.
    pub fn equivalence_p(&self, margin: f64) -> f64 {
        let from_below = self.chance_above(margin + self.estimate, 0.0);
        let from_above = self.chance_above(margin - self.estimate, 0.0);
        from_below.max(from_above)
    }

    /// Returns the interval that holds the true difference with the given confidence.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        if self.standard_error == 0.0 {
            return (self.estimate, self.estimate);
        }
        let reach = self.student().quantile(f64::midpoint(1.0, confidence)) * self.standard_error;
        (self.estimate - reach, self.estimate + reach)
    }

    /// Returns the chance that noise alone gets as far as `distance`; `at_zero` is the answer for
    /// a distance of 0 where nothing varies.
    fn chance_above(&self, distance: f64, at_zero: f64) -> f64 {
        if self.standard_error > 0.0 {
            return self.student().above(distance / self.standard_error);
        }
        match distance {
            _ if distance > 0.0 => 0.0,
            _ if distance < 0.0 => 1.0,
            _ => at_zero,
        }
    }

    fn student(&self) -> StudentT {
        StudentT { degrees_of_freedom: self.degrees_of_freedom }
    }
}

/// Returns whether the mean of `larger` is significantly above that of `smaller`, by the
/// one-sided test of Welch. Fewer than two values on either side never suffice.
pub fn is_significantly_larger(larger: &[f64], smaller: &[f64], alpha: f64) -> bool {
    let (Some(larger), Some(smaller)) = (Sample::of(larger), Sample::of(smaller)) else {
        return false;
    };
    if smaller.variance().is_none() {
        return false;
    }
    Difference::between(&larger, &smaller).is_some_and(|found| found.larger_p() <= alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(first: &[f64], second: &[f64]) -> Difference {
        Difference::between(&Sample::of(first).unwrap(), &Sample::of(second).unwrap()).unwrap()
    }

    #[test]
    fn a_single_run_can_not_be_tested() {
        let (one, many) = (Sample::of(&[4.0]).unwrap(), Sample::of(&[4.0, 5.0]).unwrap());
        assert_eq!(Difference::between(&one, &many), None);
        assert!(Difference::between(&many, &one).is_some(), "the other side may be a number");
        assert!(!is_significantly_larger(&[9.0], &[1.0, 1.0], 0.05));
        assert!(!is_significantly_larger(&[9.0, 9.0], &[1.0], 0.05));
        assert!(!is_significantly_larger(&[], &[], 0.05));
    }

    #[test]
    fn without_variance_means_are_equal_or_different_for_sure() {
        let same = between(&[4.0; 5], &[4.0; 3]);
        assert_eq!((same.difference_p(), same.larger_p()), (1.0, 1.0));
        assert_eq!((same.equivalence_p(0.5), same.equivalence_p(0.0)), (0.0, 0.0));
        let apart = between(&[5.0; 5], &[4.0; 5]);
        assert_eq!((apart.difference_p(), apart.larger_p()), (0.0, 0.0));
        assert_eq!((apart.equivalence_p(0.9), apart.equivalence_p(1.0)), (1.0, 0.0));
        assert_eq!(apart.interval(0.95), (1.0, 1.0));
        assert!(is_significantly_larger(&[5.0; 2], &[4.0; 2], 0.05));
        assert!(!is_significantly_larger(&[4.0; 2], &[4.0; 2], 0.05));
        assert!(!is_significantly_larger(&[4.0; 2], &[5.0; 2], 0.05));
    }

    #[test]
    fn one_side_without_variance_leaves_the_freedom_of_the_other() {
        let found = between(&[1.0, 2.0, 3.0, 4.0], &[7.0; 9]);
        assert!((found.degrees_of_freedom - 3.0).abs() < 1e-12);
    }

    #[test]
    fn equal_means_never_differ_and_are_equivalent_only_within_a_wide_margin() {
        let tied = between(&[1.0, 3.0, 2.0], &[2.0, 2.5, 1.5]);
        assert!((tied.difference_p() - 1.0).abs() < 1e-12);
        assert!((tied.larger_p() - 0.5).abs() < 1e-12);
        assert!(tied.equivalence_p(0.1) > 0.05 && tied.equivalence_p(5.0) < 0.05);
    }
}
