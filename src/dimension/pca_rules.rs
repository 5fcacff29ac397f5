//! Rules that say how many principal axes count, given the variances along them.
//!
//! Reference: Fukunaga and Olsen 1971; Fan et al. 2010; Cangelosi and Goriely 2007 (Kaiser, broken
//! stick); Gao et al. 2017 (participation ratio). Names and defaults are those of scikit-dimension.
//! Assumptions: variances are sorted, largest first, and none is negative.
//! Checked against: scikit-dimension 0.5.0, `lPCA` (tests/reference/estimators.py).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numerics::units::{Fraction, PositiveF64};

/// Which principal axes count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum PcaRule {
    /// Axes with more than a share of the first one's variance.
    FukunagaOlsen {
        /// That share.
        #[serde(default = "a_twentieth")]
        ratio: Fraction,
    },
    /// Axes before the first large gap, or those that hold a share of the variance, whichever are
    /// fewer, after noise has been removed.
    Fan {
        /// Ratio of one variance to the next above which there is a large gap.
        #[serde(default = "ten")]
        gap: PositiveF64,
        /// Share of the variance that suffices.
        #[serde(default = "four_fifths")]
        share: Fraction,
        /// Share of the variance that is signal; the mean of what comes after it is noise.
        #[serde(default = "nineteen_twentieths")]
        signal: Fraction,
    },
    /// Axes before the largest ratio between a variance and the next.
    MaxGap,
    /// The fewest leading axes that hold a share of the variance.
    Ratio {
        /// That share.
        share: Fraction,
    },
    /// Axes with more than the mean variance.
    Kaiser,
    /// Leading axes whose share of the variance exceeds that of the parts of a stick broken at
    /// random into as many.
    BrokenStick,
    /// The sum of variances, squared, over the sum of their squares; not a whole number.
    ParticipationRatio,
}

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap_or_else(|_| unreachable!("a constant between 0 and 1"))
}

fn a_twentieth() -> Fraction {
    fraction(0.05)
}

fn four_fifths() -> Fraction {
    fraction(0.8)
}

fn nineteen_twentieths() -> Fraction {
    fraction(0.95)
}

fn ten() -> PositiveF64 {
    PositiveF64::new(10.0).unwrap_or_else(|_| unreachable!("a constant above 0"))
}

impl PcaRule {
    /// Counts the axes that matter; nothing if no axis has any variance.
    pub(super) fn count(self, variances: &[f64]) -> Option<f64> {
        let total: f64 = variances.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let above = |limit: f64| variances.iter().filter(|&&variance| variance > limit).count();
        let count = match self {
            Self::FukunagaOlsen { ratio } => above(ratio.get() * variances[0]),
            Self::Fan { gap, share, signal } => {
                fan(variances, gap.get(), share.get(), signal.get())
            }
            Self::MaxGap => largest_gap(variances),
            Self::Ratio { share } => {
                // The share is of the last cumulative sum, so that all of it can be reached.
                cumulative(variances).take_while(|sum| sum / total < share.get()).count() + 1
            }
            Self::Kaiser => above(total / variances.len() as f64),
            Self::BrokenStick => broken_stick(variances, total),
            Self::ParticipationRatio => {
                let squares: f64 = variances.iter().map(|variance| variance.powi(2)).sum();
                return Some(total.powi(2) / squares);
            }
        };
        Some(count.min(variances.len()) as f64)
    }
}

fn cumulative(variances: &[f64]) -> impl Iterator<Item = f64> {
    variances.iter().scan(0.0, |sum, variance| {
        *sum += variance;
        Some(*sum)
    })
}

fn fan(variances: &[f64], gap: f64, share: f64, signal: f64) -> usize {
    let total: f64 = variances.iter().sum();
    let first = cumulative(variances).position(|sum| sum / total > signal);
    let noise = &variances[first.unwrap_or(variances.len() - 1)..];
    let noise = noise.iter().sum::<f64>() / noise.len() as f64;
    let cleaned: Vec<f64> = variances.iter().map(|variance| variance - noise).collect();
    let total: f64 = cleaned.iter().sum();
    if first == Some(0) || total <= 0.0 {
        // One axis is all of the signal.
        return 1;
    }
    let before_gap = cleaned.windows(2).position(|pair| pair[0] / pair[1] > gap);
    let enough = cumulative(&cleaned).position(|sum| sum / total > share);
    1 + before_gap.into_iter().chain(enough).min().unwrap_or_default()
}

fn largest_gap(variances: &[f64]) -> usize {
    let mut largest = (0, f64::NEG_INFINITY);
    for (at, pair) in variances.windows(2).enumerate() {
        // Two zeros make no ratio.
        let ratio = pair[0] / pair[1];
        if ratio > largest.1 {
            largest = (at, ratio);
        }
    }
    largest.0 + 1
}

fn broken_stick(variances: &[f64], total: f64) -> usize {
    let count = variances.len();
    let part =
        |at: usize| (at..count).map(|other| 1.0 / (other + 1) as f64).sum::<f64>() / count as f64;
    let longer = |(at, variance): (usize, &f64)| part(at) > variance / total;
    variances.iter().enumerate().position(longer).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_counts_a_plain_spectrum_as_it_says() {
        // Shares .5, .3, .15, .03, .02.
        let spectrum = [50.0, 30.0, 15.0, 3.0, 2.0];
        let count = |text: &str| ron::from_str::<PcaRule>(text).unwrap().count(&spectrum).unwrap();
        let counts = [
            ("FukunagaOlsen()", 4.0),
            ("FukunagaOlsen(ratio: 0.29)", 3.0),
            ("MaxGap", 3.0),
            ("Ratio(share: 0.8)", 2.0),
            ("Ratio(share: 0.81)", 3.0),
            ("Kaiser", 2.0),
            // Parts of the stick: .457, .257, .157, .09, .04.
            ("BrokenStick", 2.0),
        ];
        for (rule, expected) in counts {
            assert!((count(rule) - expected).abs() < 1e-12, "{rule}: {}", count(rule));
        }
        assert!((count("ParticipationRatio") - 10_000.0 / 3638.0).abs() < 1e-9);
    }

    #[test]
    fn a_line_has_one_axis_by_every_rule_and_a_point_has_none() {
        let all = [
            "FukunagaOlsen()",
            "Fan()",
            "MaxGap",
            "Ratio(share: 0.95)",
            "Kaiser",
            "BrokenStick",
            "ParticipationRatio",
        ];
        for rule in all {
            let rule: PcaRule = ron::from_str(rule).unwrap();
            assert_eq!(rule.count(&[4.0, 0.0, 0.0]), Some(1.0), "{rule:?}");
            assert_eq!(rule.count(&[0.0, 0.0]), None, "{rule:?}");
        }
    }
}
