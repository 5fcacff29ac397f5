//! The vertical axis of a variance spectrum: shares of a whole, linear or by decades.
//!
//! A linear axis always runs from 0 to 100 %, a logarithmic one from 100 % down to the decade
//! of the smallest mean share, so that panels of one figure compare by eye.

use crate::report::figures::Scale;
use crate::report::figures::variance_spectrum::VarianceSpectrum;

/// Shares below this are not told apart on a logarithmic axis.
const LOG_FLOOR: f64 = 1e-6;

/// Writes a share as a percentage without superfluous digits.
pub(super) fn percent(share: f64) -> String {
    // Rounding hides what floating point adds to numbers such as 0.999 * 100.
    let text = format!("{:.6}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The vertical axis that all panels of a figure have in common.
pub(super) struct ShareAxis {
    scale: Scale,
    /// Exponent of the lowest decade of a logarithmic axis.
    lowest: i32,
}

impl ShareAxis {
    /// Fits the axis to all panels of a figure.
    pub(super) fn of(figure: &VarianceSpectrum) -> Self {
        let shares = figure.series.iter().flat_map(|series| &series.coordinates);
        let smallest = shares
            .map(|coordinate| coordinate.share)
            .filter(|share| *share > LOG_FLOOR)
            .fold(0.1, f64::min);
        Self { scale: figure.scale, lowest: smallest.log10().floor() as i32 }
    }

    /// Returns where a share stands, from 0 at the bottom to 1 at the top.
    pub(super) fn height(&self, share: f64) -> f64 {
        match self.scale {
            Scale::Linear => share.clamp(0.0, 1.0),
            Scale::Log => {
                let bottom = f64::from(self.lowest);
                ((share.max(f64::MIN_POSITIVE).log10() - bottom) / -bottom).clamp(0.0, 1.0)
            }
        }
    }

    /// Returns the shares that get a grid line and a label.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => (0..=5).map(|fifth| f64::from(fifth) / 5.0).collect(),
            Scale::Log => (self.lowest..=0).map(|decade| 10_f64.powi(decade)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithmic_axis_spans_whole_decades_down_to_the_smallest_share() {
        let axis = ShareAxis { scale: Scale::Log, lowest: -2 };
        assert!((axis.height(1.0) - 1.0).abs() < 1e-12);
        assert!((axis.height(0.1) - 0.5).abs() < 1e-12);
        assert!(axis.height(0.0).abs() < 1e-12);
        assert_eq!(axis.ticks().len(), 3);
    }

    #[test]
    fn percentages_carry_no_floating_point_dust() {
        assert_eq!([0.99, 0.999, 1.0, 1e-6].map(percent), ["99", "99.9", "100", "0.0001"]);
    }
}
