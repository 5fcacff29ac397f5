//! The range of a dimension that several estimates support together.
//!
//! With intervals: all values that more than half of them hold. If each of them misses the truth
//! with a probability of at most 10 %, this set misses it with at most 20 %, however the estimators
//! depend on each other (majority vote of confidence sets: Gasparin and Ramdas 2024, theorem 2.1).
//! Without intervals: the estimates near their median with two standard errors, which do not include
//! bias.
//! A dimension is a whole number, so a range without one is widened to the next ones.

use super::evidence::{Evidence, Interval, ModelFreeEstimate};

/// Standard errors on either side of an estimate without an interval.
const ERRORS: f64 = 2.0;
/// An estimate without an interval is near the median up to this many times it, or its inverse.
const NEAR: f64 = 1.3;
/// In small dimensions it is near the median up to this difference.
const NEAR_BY: f64 = 1.0;

/// What a range rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Values that most intervals hold.
    Majority,
    /// All intervals together: no value is in most of them.
    Union,
    /// Estimates whose bias is not known.
    Estimates,
}

/// The range of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct DimensionRange {
    /// The range itself.
    pub interval: Interval,
    /// What it rests on.
    pub basis: Basis,
}

impl DimensionRange {
    /// Returns the range that the estimates support, if there are any.
    pub fn of(evidence: &Evidence) -> Option<Self> {
        let intervals: Vec<Interval> =
            evidence.estimates.iter().filter_map(|estimate| estimate.interval).collect();
        if intervals.is_empty() {
            return Self::of_estimates(&evidence.estimates);
        }
        let (basis, interval) = match majority(&intervals) {
            Some(interval) => (Basis::Majority, interval),
            None => (Basis::Union, union(&intervals)?),
        };
        Some(Self { interval: with_whole_number(interval), basis })
    }

    fn of_estimates(estimates: &[ModelFreeEstimate]) -> Option<Self> {
        let around = |estimate: &ModelFreeEstimate| Interval {
            low: (estimate.dimension - ERRORS * estimate.spread).max(0.0),
            high: Some(estimate.dimension + ERRORS * estimate.spread),
        };
        let central: Vec<Interval> = central(estimates).into_iter().map(around).collect();
        let Interval { low, high } = union(&central)?;
        let middle = median(estimates)?;
        // Estimates above what the points can support are too low, by nobody knows how much.
        let is_supported = most_points(estimates).is_none_or(|points| middle <= supported(points));
        let high = high.map(f64::ceil).filter(|_| is_supported);
        Some(Self { interval: Interval { low: low.floor(), high }, basis: Basis::Estimates })
    }

    /// Returns the whole numbers in the range, if it has an end.
    pub(super) fn whole_numbers(&self) -> Option<(f64, f64)> {
        Some((self.interval.low.ceil(), self.interval.high?.floor()))
    }
}

/// Returns the median of some estimates.
pub(super) fn median(estimates: &[ModelFreeEstimate]) -> Option<f64> {
    let mut sorted: Vec<f64> = estimates.iter().map(|estimate| estimate.dimension).collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) =
        (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// Returns the estimates near the median if these are most, else all of them.
pub(super) fn central(estimates: &[ModelFreeEstimate]) -> Vec<&ModelFreeEstimate> {
    let middle = median(estimates).unwrap_or_default();
    let is_near = |estimate: &&ModelFreeEstimate| {
        let (low, high) = (estimate.dimension.min(middle), estimate.dimension.max(middle));
        high <= NEAR * low || high - low <= NEAR_BY
    };
    let near: Vec<_> = estimates.iter().filter(is_near).collect();
    if 2 * near.len() > estimates.len() { near } else { estimates.iter().collect() }
}

/// Returns the number of points of the estimate that has the most.
pub(super) fn most_points(estimates: &[ModelFreeEstimate]) -> Option<usize> {
    estimates.iter().filter_map(|estimate| estimate.points).max()
}

/// Returns the largest dimension that estimates from so many points can be believed in: twice the
/// decimal logarithm (Eckmann and Ruelle 1992, *Physica D* 56).
pub(super) fn supported(points: usize) -> f64 {
    2.0 * (points.max(1) as f64).log10()
}

/// Returns the hull of all values that more than half of the intervals hold.
fn majority(intervals: &[Interval]) -> Option<Interval> {
    let most = |count: usize| 2 * count > intervals.len();
    let holds_most = |value: &f64| most(intervals.iter().filter(|one| one.holds(*value)).count());
    let low = intervals.iter().map(|one| one.low).filter(holds_most).reduce(f64::min)?;
    if most(intervals.iter().filter(|one| one.high.is_none()).count()) {
        return Some(Interval { low, high: None });
    }
    let high = intervals.iter().filter_map(|one| one.high).filter(holds_most).reduce(f64::max)?;
    Some(Interval { low, high: Some(high) })
}

fn union(intervals: &[Interval]) -> Option<Interval> {
    let low = intervals.iter().map(|one| one.low).reduce(f64::min)?;
    let highs: Option<Vec<f64>> = intervals.iter().map(|one| one.high).collect();
    Some(Interval { low, high: highs.and_then(|highs| highs.into_iter().reduce(f64::max)) })
}

fn with_whole_number(interval: Interval) -> Interval {
    match interval.high {
        Some(high) if interval.low.ceil() > high.floor() => {
            Interval { low: interval.low.floor(), high: Some(high.ceil()) }
        }
        _ => interval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low, high: Some(high) }
    }

    fn open(low: f64) -> Interval {
        Interval { low, high: None }
    }

    fn range(intervals: &[Interval]) -> DimensionRange {
        let estimate = |interval: &Interval| ModelFreeEstimate {
            title: "e".to_owned(),
            dimension: interval.low,
            spread: 0.0,
            interval: Some(*interval),
            points: Some(1000),
        };
        let estimates = intervals.iter().map(estimate).collect();
        DimensionRange::of(&Evidence { estimates, ..Evidence::default() }).unwrap()
    }

    #[test]
    fn values_that_most_intervals_hold_are_the_range() {
        let found = range(&[interval(3.5, 4.4), interval(3.8, 4.6), interval(7.0, 9.0)]);
        assert_eq!(found, DimensionRange { interval: interval(3.8, 4.4), basis: Basis::Majority });
        // Two of three hold each end, at different places: the hull is the range.
        let chain = range(&[interval(1.5, 3.5), interval(3.0, 5.5), interval(5.0, 8.0)]);
        assert_eq!(chain.interval, interval(3.0, 5.5));
    }

    #[test]
    fn one_interval_is_its_own_range_and_of_two_both_must_agree() {
        assert_eq!(range(&[interval(3.5, 4.4)]).interval, interval(3.5, 4.4));
        assert_eq!(range(&[interval(3.5, 4.4), interval(2.0, 4.1)]).interval, interval(3.5, 4.1));
        let apart = range(&[interval(1.5, 2.4), interval(5.5, 6.5)]);
        assert_eq!(apart, DimensionRange { interval: interval(1.5, 6.5), basis: Basis::Union });
    }

    #[test]
    fn a_range_has_no_end_only_if_most_intervals_have_none() {
        assert_eq!(range(&[open(7.0), open(8.0), interval(7.5, 12.0)]).interval, open(7.5));
        let closed = range(&[open(7.0), interval(7.5, 12.0), interval(8.0, 11.0)]);
        assert_eq!(closed.interval, interval(7.5, 12.0));
    }

    #[test]
    fn a_range_without_a_whole_number_is_widened() {
        assert_eq!(range(&[interval(4.2, 4.7)]).interval, interval(4.0, 5.0));
        assert_eq!(range(&[interval(3.9, 4.7)]).interval, interval(3.9, 4.7));
    }

    #[test]
    fn estimates_of_unknown_bias_give_whole_numbers_and_no_end_where_points_are_too_few() {
        let found = |dimensions: [f64; 2], points: usize| {
            let estimates = dimensions.map(|dimension| ModelFreeEstimate {
                title: "e".to_owned(),
                dimension,
                spread: 0.1,
                interval: None,
                points: Some(points),
            });
            let estimates = estimates.into();
            DimensionRange::of(&Evidence { estimates, ..Evidence::default() }).unwrap().interval
        };
        assert_eq!(found([3.7, 4.4], 1000), interval(3.0, 5.0));
        assert_eq!(found([8.4, 9.1], 3000), open(8.0));
        assert_eq!(found([8.4, 9.1], 100_000), interval(8.0, 10.0));
    }

    #[test]
    fn one_estimate_of_unknown_bias_that_is_far_from_the_others_does_not_widen_the_range() {
        let found = |dimensions: &[f64]| {
            let estimate = |dimension: &f64| ModelFreeEstimate {
                title: "e".to_owned(),
                dimension: *dimension,
                spread: 0.02,
                interval: None,
                points: Some(4500),
            };
            let estimates = dimensions.iter().map(estimate).collect();
            DimensionRange::of(&Evidence { estimates, ..Evidence::default() }).unwrap().interval
        };
        assert_eq!(found(&[4.5, 4.3, 9.0, 4.6, 5.1]), interval(4.0, 6.0));
        assert_eq!(found(&[2.0, 4.0, 7.0, 12.0]), interval(1.0, 13.0), "there is no majority");
    }
}
