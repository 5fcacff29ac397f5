//! One table cell and the one rounding rule that every output format goes through.
//!
//! LaTeX, Markdown, CSV and the terminal all print what [`rounded`] returns, so the same
//! number never reads differently in two places. A cell made of one record has no spread;
//! a cell made of none has no mean.

use serde::{Deserialize, Serialize};

use crate::report::records::aggregate::Spread;
use crate::report::tables::marks::{Rank, Unjudged};
use crate::statistics::{mean, standard_deviation};

/// Mean and spread of the records behind one place in a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Mean over the records; none without records.
    pub mean: Option<f64>,
    /// Standard deviation over the records; none for fewer than two.
    pub std: Option<f64>,
    /// Number of results: records that repeat another are not counted.
    pub n: usize,
    /// Number of records that repeat the result of another.
    #[serde(default)]
    pub repeats: usize,
    /// The published mean and, if given, its spread.
    pub published: Option<(f64, Option<f64>)>,
    /// How it compares with the cells it competes with.
    #[serde(default)]
    pub rank: Option<Rank>,
    /// Why it gets no verdict.
    #[serde(default)]
    pub unjudged: Option<Unjudged>,
    /// The number of coordinates, if this is a count of them and the records tell.
    #[serde(default)]
    pub coordinates: Option<usize>,
    /// Indices of the input records behind the cell.
    pub sources: Vec<usize>,
    /// The value of each result.
    pub values: Vec<f64>,
    /// The value of each record, repeats included.
    #[serde(default)]
    pub source_values: Vec<f64>,
}

impl Cell {
    /// Returns the cell of some records with their values, given which of them count.
    pub(in crate::report) fn of(
        sources: Vec<usize>,
        source_values: Vec<f64>,
        counts: impl Fn(usize) -> bool,
        spread: Spread,
    ) -> Self {
        let counted = sources.iter().zip(&source_values).filter(|(source, _)| counts(**source));
        let values: Vec<f64> = counted.map(|(_, value)| *value).collect();
        Self {
            mean: mean(&values),
            std: standard_deviation(&values, spread.lost_degrees_of_freedom()),
            n: values.len(),
            repeats: sources.len() - values.len(),
            sources,
            values,
            source_values,
            ..Self::default()
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

    /// Writes a published mean and spread with all the decimals that they were given with.
    pub(in crate::report) fn published(mean: f64, std: Option<f64>, digits: usize) -> Self {
        Self::new(mean, std, printed_decimals(mean, std, digits))
    }

    /// Joins mean and spread with the given plus-minus sign.
    pub(in crate::report) fn joined(&self, plus_minus: &str) -> String {
        match &self.std {
            Some(std) => format!("{} {plus_minus} {std}", self.mean),
            None => self.mean.clone(),
        }
    }
}

/// Writes a measured mean and spread for the terminal.
pub fn measured_number(mean: f64, std: Option<f64>, digits: usize) -> String {
    Rounded::new(mean, std, digits).joined("±")
}

/// Writes a published mean and spread for the terminal, with all their decimals.
pub fn published_number(mean: f64, std: Option<f64>, digits: usize) -> String {
    Rounded::published(mean, std, digits).joined("±")
}

/// Returns with how many decimals a mean and its spread were published: those of the column, or more
/// if either of them has more.
pub(in crate::report) fn printed_decimals(mean: f64, std: Option<f64>, digits: usize) -> usize {
    let decimals = |value: f64| value.to_string().split_once('.').map_or(0, |(_, d)| d.len());
    digits.max(decimals(mean)).max(std.map_or(0, decimals))
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
    fn a_published_number_keeps_its_decimals() {
        assert_eq!(Rounded::published(2.25, None, 1).joined("±"), "2.25");
        assert_eq!(Rounded::published(4.0, Some(0.05), 1).joined("±"), "4.00 ± 0.05");
        assert_eq!(Rounded::published(4.0, Some(0.0), 2).joined("±"), "4.00 ± 0.00");
    }

    #[test]
    fn a_single_value_is_shown_without_a_spread() {
        assert_eq!(Rounded::new(4.0, None, 1).joined("±"), "4.0");
        assert_eq!(Rounded::new(4.0, Some(0.0), 1).joined("±"), "4.0 ± 0.0");
    }
}
