//! One table cell and the one rounding rule that every output format goes through.
//!
//! LaTeX, Markdown, CSV and the terminal all print what [`rounded`] returns, so the same
//! number never reads differently in two places. A cell made of one record has no spread;
//! a cell made of none has no mean.

use serde::{Deserialize, Serialize};

use crate::report::records::aggregate::Summary;

/// Mean and spread of the records behind one place in a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Mean over the records; none without records.
    pub mean: Option<f64>,
    /// Standard deviation over the records; none for fewer than two.
    pub std: Option<f64>,
    /// Number of records.
    pub n: usize,
    /// The published mean and, if given, its spread.
    pub published: Option<(f64, Option<f64>)>,
    /// Whether this is the best of the cells it competes with; ties are all best.
    pub best: bool,
    /// Indices of the input records behind the cell.
    pub sources: Vec<usize>,
    /// The value of each of these records.
    pub values: Vec<f64>,
}

impl Cell {
    /// Returns the cell of one group of records.
    pub(in crate::report) fn of(summary: Summary) -> Self {
        Self {
            mean: Some(summary.mean),
            std: summary.std,
            n: summary.sources.len(),
            published: None,
            best: false,
            sources: summary.sources,
            values: summary.values,
        }
    }
}

/// A rounded mean with its rounded spread, ready to be set in any format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) struct Rounded {
    pub(in crate::report) mean: String,
    pub(in crate::report) std: Option<String>,
}

impl Rounded {
    /// Rounds a mean and its spread to the same number of digits.
    pub(in crate::report) fn new(mean: f64, std: Option<f64>, digits: usize) -> Self {
        Self { mean: rounded(mean, digits), std: std.map(|std| rounded(std, digits)) }
    }

    /// Joins mean and spread with the given plus-minus sign.
    pub(in crate::report) fn joined(&self, plus_minus: &str) -> String {
        match &self.std {
            Some(std) => format!("{} {plus_minus} {std}", self.mean),
            None => self.mean.clone(),
        }
    }
}

/// Writes a number with a fixed count of decimals, exact halves to even, and never `-0.00`.
pub fn rounded(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    match text.strip_prefix('-') {
        Some(unsigned) if is_zero => unsigned.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_trailing_zeros_and_drops_the_sign_of_zero() {
        assert_eq!(rounded(4.0, 2), "4.00");
        assert_eq!(rounded(-0.004, 2), "0.00");
        assert_eq!(rounded(-0.006, 2), "-0.01");
        assert_eq!(rounded(1234.5, 0), "1234"); // an exact half goes to even
        assert_eq!(rounded(0.375, 2), "0.38");
    }

    #[test]
    fn a_single_value_is_shown_without_a_spread() {
        assert_eq!(Rounded::new(4.0, None, 1).joined("±"), "4.0");
        assert_eq!(Rounded::new(4.0, Some(0.0), 1).joined("±"), "4.0 ± 0.0");
    }
}
