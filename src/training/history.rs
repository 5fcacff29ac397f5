//! The record of a training: mean losses of every epoch.
//!
//! Kept as a table of doubles, so that a checkpoint can store it without rounding and a resumed
//! run ends with the same record.

use serde::{Deserialize, Serialize};

/// Mean losses of every epoch, as a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Names of the columns: `epoch`, `steps`, `total`, then the loss terms.
    pub columns: Vec<String>,
    /// One row for each epoch; the last may belong to an epoch that is not over.
    pub rows: Vec<Vec<f64>>,
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
}
