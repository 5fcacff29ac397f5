//! The record of a training: mean losses of every epoch.
//!
//! Kept as a table of doubles, so that a checkpoint can store it without rounding and a resumed
//! run ends with the same record.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Mean losses of every epoch, as a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Names of the columns: `epoch`, `steps`, `total`, then the loss terms.
    pub columns: Vec<String>,
    /// One row for each epoch; the last may belong to an epoch that is not over.
    pub rows: Vec<Vec<f64>>,
}

/// Says why a text is not the record of a training.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    /// Two columns have the same name.
    #[error("two columns are named `{column}`")]
    SameName {
        /// The name.
        column: String,
    },
    /// A line is too short or too long.
    #[error("line {line} has {found} cells, but there are {expected} columns")]
    Cells {
        /// Line of the file, counting from 1.
        line: usize,
        /// Number of columns.
        expected: usize,
        /// Number of cells on the line.
        found: usize,
    },
    /// A cell is neither a number nor empty.
    #[error("column `{column}` has `{text}` on line {line}, expected a number")]
    NotANumber {
        /// Line of the file, counting from 1.
        line: usize,
        /// Name of the column.
        column: String,
        /// What is there.
        text: String,
    },
}

impl History {
    /// Writes the record as CSV: the columns' names, then one line for each epoch, in which a cell
    /// without a number is empty. Numbers are as short as they can be and still come back exactly.
    pub fn to_csv(&self) -> String {
        if self.columns.is_empty() {
            return String::new();
        }
        let row = |row: &Vec<f64>| {
            let cells = (0..self.columns.len()).map(|column| cell(row.get(column)));
            cells.collect::<Vec<_>>().join(",")
        };
        let lines = std::iter::once(self.columns.join(",")).chain(self.rows.iter().map(row));
        lines.map(|line| line + "\n").collect()
    }

    /// Reads what [`Self::to_csv`] has written.
    pub fn from_csv(text: &str) -> Result<Self, HistoryError> {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let columns: Vec<String> = header.split_terminator(',').map(str::to_owned).collect();
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].contains(column) {
                return Err(HistoryError::SameName { column: column.clone() });
            }
        }
        let read = |(at, text): (usize, &str)| {
            let line = at + 2;
            let cells: Vec<&str> = text.split(',').collect();
            if cells.len() != columns.len() {
                let (expected, found) = (columns.len(), cells.len());
                return Err(HistoryError::Cells { line, expected, found });
            }
            let pairs = cells.into_iter().zip(&columns);
            pairs.map(|(text, column)| number(text, column, line)).collect()
        };
        let rows = lines.enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self { columns, rows })
    }
}

fn cell(value: Option<&f64>) -> String {
    match value.copied().filter(|value| !value.is_nan()) {
        None => String::new(),
        // Whole numbers without a point, the others with an exponent where that is shorter.
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => value.to_string(),
        Some(value) => format!("{value:?}"),
    }
}

fn number(text: &str, column: &str, line: usize) -> Result<f64, HistoryError> {
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    text.parse().map_err(|_| {
        let (column, text) = (column.to_owned(), text.to_owned());
        HistoryError::NotANumber { line, column, text }
    })
}

/// Columns before the first loss.
const LEADING: usize = 2;

impl History {
    /// Adds the losses of one step to the row of its epoch (counted from 1).
    pub fn add(&mut self, epoch: usize, losses: &[(&str, f64)]) {
        if self.columns.is_empty() {
            let leading = ["epoch", "steps"].into_iter();
            self.columns =
                leading.chain(losses.iter().map(|(name, _)| *name)).map(str::to_owned).collect();
        }
        if self.rows.len() < epoch {
            let mut row = vec![0.0; LEADING + losses.len()];
            row[0] = epoch as f64;
            self.rows.push(row);
        }
        if let Some(row) = self.rows.last_mut() {
            row[1] += 1.0;
            let steps = row[1];
            for (mean, (_, value)) in row[LEADING..].iter_mut().zip(losses) {
                *mean += (value - *mean) / steps;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_has_one_row_of_means() {
        let mut history = History::default();
        history.add(1, &[("total", 4.0), ("variance", 1.0)]);
        history.add(1, &[("total", 2.0), ("variance", 1.0)]);
        history.add(2, &[("total", 1.0), ("variance", 0.5)]);
        assert_eq!(history.columns, ["epoch", "steps", "total", "variance"]);
        assert_eq!(history.rows, [[1.0, 2.0, 3.0, 1.0], [2.0, 1.0, 1.0, 0.5]]);
    }
    #[test]
    fn a_record_is_written_as_plain_csv() {
        let text = "epoch,steps,total,validation\n1,12,3.5,\n2,12,1e-7,0.25\n";
        let history = History::from_csv(text).unwrap();
        assert_eq!(history.columns, ["epoch", "steps", "total", "validation"]);
        assert_eq!(history.rows[1], [2.0, 12.0, 1e-7, 0.25]);
        assert!(history.rows[0][3].is_nan());
        assert_eq!(history.to_csv(), text);
        assert_eq!(History::from_csv("").unwrap(), History::default());
        assert_eq!(History::default().to_csv(), "");
    }

    #[test]
    fn a_text_that_is_no_record_is_refused() {
        let message = |text: &str| History::from_csv(text).unwrap_err().to_string();
        assert_eq!(message("epoch,epoch\n"), "two columns are named `epoch`");
        assert_eq!(message("epoch,total\n1\n"), "line 2 has 1 cells, but there are 2 columns");
        assert_eq!(
            message("epoch,total\n1,2\n2,much\n"),
            "column `total` has `much` on line 3, expected a number"
        );
    }

    proptest::proptest! {
        #[test]
        fn every_number_comes_back_exactly(
            rows in proptest::collection::vec(
                proptest::collection::vec(proptest::num::f64::ANY, 3), 0..9),
        ) {
            let columns = ["epoch", "total", "gamma_1"].map(str::to_owned).into();
            let history = History { columns, rows };
            let back = History::from_csv(&history.to_csv()).unwrap();
            proptest::prop_assert_eq!(&back.columns, &history.columns);
            proptest::prop_assert_eq!(back.rows.len(), history.rows.len());
            for (found, expected) in back.rows.iter().flatten().zip(history.rows.iter().flatten()) {
                let both_missing = found.is_nan() && expected.is_nan();
                proptest::prop_assert!(both_missing || found.to_bits() == expected.to_bits());
            }
        }
    }
}
