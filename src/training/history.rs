//! The record of a training: a table with one row for each epoch.
//!
//! Kept as doubles, so that a checkpoint can store it without rounding and a resumed run ends
//! with the same record.

use thiserror::Error;

/// The record of every epoch, as a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Names of the columns: `epoch`, `steps`, `total`, the loss terms, then what is known at the
    /// end of an epoch, such as `validation`, `gamma_1` and `variance_1`.
    pub columns: Vec<String>,
    /// One row for each epoch; the last may belong to an epoch that is not over. What was not
    /// measured is not a number.
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
    #[error("expected {expected} cells on line {line}, found {found}")]
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
    /// Returns the number of steps of all epochs.
    pub fn steps(&self) -> usize {
        let column = self.columns.iter().position(|name| name == "steps");
        let steps = |row: &Vec<f64>| column.map_or(0.0, |column| row[column]);
        self.rows.iter().map(steps).sum::<f64>() as usize
    }

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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(message("epoch,total\n1\n"), "expected 2 cells on line 2, found 1");
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
