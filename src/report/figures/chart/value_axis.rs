//! An axis for numbers of any size: round ticks, linear or by decades, with short labels.
//!
//! A linear axis ends at ticks, a logarithmic one with the data, so that a panel is filled. A
//! logarithmic axis that spans too little for ticks by decades is labeled like a linear one. An
//! axis of shares is labeled in percent; it always spans 0 to 100 %, or whole decades below 100 %,
//! so that panels compare by eye.

use crate::report::figures::Scale;

/// Most ticks on an axis, so that labels don't touch.
const MOST_TICKS: usize = 9;
/// Most distances that even ticks divide the numbers into.
const MOST_STEPS: f64 = 6.0;
/// A logarithmic axis whose ends differ by less than this factor gets evenly spaced numbers.
const NARROW: f64 = 6.0;
/// Numbers that differ by less than this share are shown as the same.
const SAME: f64 = 1e-6;
/// Leading digits of the ticks within a decade.
const LEADING_DIGITS: [f64; 3] = [1.0, 2.0, 5.0];

/// Shares below this are not told apart on a logarithmic axis.
pub(crate) const LEAST_SHARE: f64 = 1e-6;

/// An axis with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueAxis {
    scale: Scale,
    ends: (f64, f64),
    ticks: Vec<f64>,
    /// Whether the numbers are shares, to be labeled in percent.
    is_of_shares: bool,
}

impl ValueAxis {
    /// Fits an axis to numbers, which a logarithmic one needs to be above zero.
    pub(crate) fn fitted(scale: Scale, lowest: f64, highest: f64) -> Self {
        let is_narrow = highest < NARROW * lowest;
        let ticks = match scale {
            Scale::Linear => even_ticks(lowest, highest),
            Scale::Log if is_narrow => {
                let ticks = even_ticks(lowest, highest).into_iter();
                ticks.filter(|tick| *tick > lowest / 2.0).collect()
            }
            Scale::Log => decade_ticks(lowest, highest),
        };
        let ends = ticks
            .iter()
            .fold((lowest, highest), |(bottom, top), tick| (tick.min(bottom), tick.max(top)));
        Self { scale, ends, ticks, is_of_shares: false }
    }

    /// Fits an axis to shares of a whole.
    pub(crate) fn of_shares(scale: Scale, shares: impl Iterator<Item = f64>) -> Self {
        let smallest = shares.filter(|share| *share > LEAST_SHARE).fold(0.1, f64::min);
        let ticks: Vec<f64> = match scale {
            Scale::Linear => (0..=5).map(|fifth| f64::from(fifth) / 5.0).collect(),
            Scale::Log => {
                let lowest = smallest.log10().floor() as i32;
                (lowest..=0).map(|decade| 10_f64.powi(decade)).collect()
            }
        };
        let lowest = ticks.first().copied().unwrap_or_default();
        Self { scale, ends: (lowest, 1.0), ticks, is_of_shares: true }
    }

    /// Returns where a number stands, from 0 at the bottom to 1 at the top.
    pub(crate) fn height(&self, value: f64) -> f64 {
        let place = |number: f64| match self.scale {
            Scale::Linear => number,
            Scale::Log => number.max(f64::MIN_POSITIVE).log10(),
        };
        let (bottom, top) = (place(self.ends.0), place(self.ends.1));
        ((place(value) - bottom) / (top - bottom)).clamp(0.0, 1.0)
    }

    /// Returns the numbers that get a grid line, with their labels.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let label = if self.is_of_shares { percent } else { label };
        self.ticks.iter().map(move |&tick| (tick, label(tick)))
    }
}

/// Returns the lowest and the highest of some numbers.
pub(crate) fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (value.min(low), value.max(high))
    })
}

/// Returns round numbers at equal distances, around the numbers given.
fn even_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    // Numbers that are all the same get room of their own size.
    let room = highest.abs().max(lowest.abs());
    let (lowest, highest) = match (room, highest - lowest) {
        (0.0, _) => (-1.0, 1.0),
        (room, span) if span < SAME * room => (lowest - room / 2.0, highest + room / 2.0),
        _ => (lowest, highest),
    };
    let rough = (highest - lowest) / MOST_STEPS;
    let decade = 10_f64.powi(rough.log10().floor() as i32);
    let fits = |digit: &f64| digit * decade >= rough;
    let step = decade * LEADING_DIGITS.into_iter().find(fits).unwrap_or(10.0);
    let (first, last) = ((lowest / step).floor(), (highest / step).ceil());
    (0..=(last - first) as usize).map(|at| round((first + at as f64) * step)).collect()
}

/// Returns round numbers at about equal ratios, between the numbers given.
fn decade_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let (bottom, top) = (lowest.log10().floor() as i32, highest.log10().ceil() as i32);
    let power = |decade: i32, digit: f64| round(digit * 10_f64.powi(decade));
    let inside = |tick: &f64| (lowest..=highest).contains(tick);
    let decades =
        (bottom..=top).flat_map(|decade| LEADING_DIGITS.map(|digit| power(decade, digit)));
    let ticks: Vec<f64> = decades.filter(inside).collect();
    if ticks.len() <= MOST_TICKS {
        return ticks;
    }
    let every = (top - bottom).unsigned_abs() / MOST_TICKS as u32 + 1;
    let decades = (bottom..=top).filter(|decade| decade.unsigned_abs().is_multiple_of(every));
    decades.map(|decade| power(decade, 1.0)).filter(inside).collect()
}

/// Removes what floating point adds to round numbers, and the sign of a zero.
fn round(tick: f64) -> f64 {
    significant(tick, 9) + 0.0
}

fn significant(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// Writes a number, with an exponent where zeros would have to be counted.
fn label(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// Writes a share as a percentage without superfluous digits.
pub(crate) fn percent(share: f64) -> String {
    // Rounding hides what floating point adds to numbers such as 0.999 * 100.
    let text = format!("{:.6}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Writes a number with at most four digits.
pub(crate) fn four_digits(value: f64) -> String {
    label(significant(value, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, lowest: f64, highest: f64) -> Vec<String> {
        ValueAxis::fitted(scale, lowest, highest).ticks().map(|(_, label)| label).collect()
    }

    #[test]
    fn a_linear_axis_has_round_ticks_around_the_numbers() {
        assert_eq!(labels(Scale::Linear, 0.13, 0.58), ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]);
        assert_eq!(labels(Scale::Linear, -3.0, 41.0), ["-10", "0", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(Scale::Linear, 1000.1, 1000.4)[..2], ["1000.1", "1000.15"]);
        assert_eq!(labels(Scale::Linear, 0.0, 4e7)[1], "1e7");
    }

    #[test]
    fn a_logarithmic_axis_has_ticks_within_decades_as_long_as_they_fit() {
        assert_eq!(labels(Scale::Log, 12.0, 300.0), ["20", "50", "100", "200"]);
        assert_eq!(labels(Scale::Log, 0.002, 31.0), ["0.01", "0.1", "1", "10"]);
        assert_eq!(
            labels(Scale::Log, 3e-13, 5e3),
            ["1e-12", "1e-10", "1e-8", "1e-6", "1e-4", "0.01", "1", "100"]
        );
        assert_eq!(labels(Scale::Log, 31.0, 33.5), ["31", "31.5", "32", "32.5", "33", "33.5"]);
        assert_eq!(labels(Scale::Log, 1.9, 11.0), ["2", "4", "6", "8", "10", "12"]);
    }

    #[test]
    fn numbers_that_are_all_the_same_stand_in_the_middle() {
        for scale in [Scale::Linear, Scale::Log] {
            let axis = ValueAxis::fitted(scale, 3.0, 3.0);
            let height = axis.height(3.0);
            assert!(height > 0.3 && height < 0.8, "{height} on {axis:?}");
        }
        assert!((ValueAxis::fitted(Scale::Linear, 0.0, 0.0).height(0.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn heights_are_shares_of_the_axis() {
        let linear = ValueAxis::fitted(Scale::Linear, 0.0, 5.0);
        assert!((linear.height(2.5) - 0.5).abs() < 1e-12);
        let log = ValueAxis::fitted(Scale::Log, 1.0, 100.0);
        assert!((log.height(10.0) - 0.5).abs() < 1e-12);
        assert!(log.height(0.0).abs() < 1e-12, "what is too small stands at the foot");
    }

    #[test]
    fn four_digits_are_enough_for_a_summary() {
        let written = [31.254_9, 0.000_123_45, 1_234_567.0, 0.0, 84.0].map(four_digits);
        assert_eq!(written, ["31.25", "1.234e-4", "1.235e6", "0", "84"]);
    }

    #[test]
    fn a_logarithmic_axis_of_shares_spans_whole_decades_down_to_the_smallest_share() {
        for decade in 1..=6 {
            let shares = [1.0, 1.01 * 10_f64.powi(-decade), 1e-9];
            let axis = ValueAxis::of_shares(Scale::Log, shares.into_iter());
            assert_eq!(axis.ticks().count(), decade as usize + 1);
            // Exactly: figures that were drawn before must be drawn alike.
            let height = |share: f64| (share.log10() + f64::from(decade)) / f64::from(decade);
            for share in [1.0, 0.7, 0.1, 0.033, 0.01] {
                let expected = height(share).clamp(0.0, 1.0);
                assert_eq!(axis.height(share).to_bits(), expected.to_bits(), "{share} {decade}");
            }
            assert!(axis.height(0.0).abs() < 1e-12);
        }
    }

    #[test]
    fn percentages_carry_no_floating_point_dust() {
        assert_eq!([0.99, 0.999, 1.0, 1e-6].map(percent), ["99", "99.9", "100", "0.0001"]);
    }
}
