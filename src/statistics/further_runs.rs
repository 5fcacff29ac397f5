//! How many more runs would decide a question that present ones leave open.

use super::difference::Difference;
use super::distributions::{StudentT, normal_quantile};
use super::sample::Sample;

/// The levels at which the two questions are tested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// For the test of equivalence.
    pub equivalence: f64,
    /// For the two-sided test of a difference.
    pub difference: f64,
}

/// More runs than this are not worth a guess.
const MOST: usize = 1000;

/// The chance with which the further runs should decide.
const POWER: f64 = 0.8;

/// Returns about how many further runs let one of the two tests decide in four of five cases, if
/// means and variances stay as they are. A single run is taken to vary as the other side does.
///
/// Nothing if no number of runs up to a thousand does: the difference is too near the margin, or
/// the other side, which doesn't grow, is too uncertain.
pub fn further_runs(measured: &Sample, other: &Sample, margin: f64, at: Levels) -> Option<usize> {
    let single = measured.variance().is_none();
    let (measured, least) = if single {
        let variance = other.variance()?;
        // A sample of two with the divisor n has half the variance of one with n - 1.
        (Sample::published(measured.mean, variance / 2.0, 2), 1)
    } else {
        (*measured, 0)
    };
    let found = (1..=MOST).find(|&further| {
        let grown = measured.with_further(further - least);
        Difference::between(&grown, other).is_some_and(|found| decides(&found, margin, at))
    });
    found
}

fn decides(found: &Difference, margin: f64, at: Levels) -> bool {
    let student = StudentT { degrees_of_freedom: found.degrees_of_freedom };
    let enough = |distance: f64, level: f64| {
        let needed = student.quantile(1.0 - level) + normal_quantile(POWER);
        distance >= needed * found.standard_error
    };
    let apart = found.estimate.abs();
    enough(margin - apart, at.equivalence) || (apart > 0.0 && enough(apart, at.difference / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { equivalence: 0.05, difference: 0.05 };

    #[test]
    fn a_smaller_margin_takes_more_runs() {
        let measured = Sample::published(10.0, 1.0, 5);
        let other = Sample::published(10.0, 1.0, 100);
        let needed = |margin| further_runs(&measured, &other, margin, LEVELS);
        let (wide, narrow) = (needed(1.0).unwrap(), needed(0.5).unwrap());
        assert!(0 < wide && wide < narrow, "{wide} {narrow}");
        assert_eq!(needed(0.2), None, "the published mean itself is that uncertain");
    }

    #[test]
    fn after_that_many_runs_the_test_does_decide() {
        let measured = Sample::published(10.2, 1.0, 3);
        let other = Sample::exact(10.0);
        let further = further_runs(&measured, &other, 1.0, LEVELS).unwrap();
        let grown = Difference::between(&measured.with_further(further), &other).unwrap();
        assert!(grown.equivalence_p(1.0) < 0.05);
    }

    #[test]
    fn a_single_run_borrows_the_variance_of_the_others() {
        let single = Sample::exact(10.0);
        assert!(further_runs(&single, &Sample::published(10.0, 0.1, 5), 2.0, LEVELS).is_some());
        assert_eq!(further_runs(&single, &Sample::exact(10.0), 2.0, LEVELS), None);
        let steady = Sample::published(10.0, 0.0, 5);
        assert_eq!(further_runs(&single, &steady, 1.0, LEVELS), Some(1));
    }
}
