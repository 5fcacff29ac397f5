//! Which cells of a table changed between two versions of it.

use serde::Serialize;

use crate::report::tables::csv_reader::{StoredCell, StoredError, read};

/// A cell that is not as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellChange {
    /// Its labels and the name of its value.
    pub place: Vec<String>,
    /// What became of it.
    #[serde(flatten)]
    pub change: Change,
}

/// What became of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "movement", rename_all = "kebab-case")]
pub enum Change {
    /// Its mean, spread or number of runs changed.
    Moved {
        /// What it was.
        old: Numbers,
        /// What it is.
        new: Numbers,
        /// Change of the mean in standard deviations (root of the mean of both variances);
        /// nothing if neither side varies or one has no mean.
        deviations: Option<f64>,
    },
    /// It has numbers now.
    Appeared {
        /// What it is.
        new: Numbers,
    },
    /// It has no numbers any more.
    Vanished {
        /// What it was.
        old: Numbers,
    },
}

/// The numbers of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// Mean over the runs.
    pub mean: f64,
    /// Standard deviation over the runs.
    pub std: Option<f64>,
    /// Number of runs.
    pub n: usize,
}

/// Compares two versions of a table, both as CSV: cells in the order of the new one, then those
/// that vanished. A cell without runs is as good as none.
pub fn cell_changes(old: &str, new: &str) -> Result<Vec<CellChange>, StoredError> {
    let (old, new) = (read(old)?, read(new)?);
    let numbers_in = |cells: &[StoredCell], place: &[String]| {
        cells.iter().find(|cell| cell.place == place).and_then(numbers)
    };
    let mut found = Vec::new();
    for cell in &new {
        let change = match (numbers_in(&old, &cell.place), numbers(cell)) {
            (Some(old), Some(new)) if old != new => {
                Change::Moved { old, new, deviations: deviations(&old, &new) }
            }
            (None, Some(new)) => Change::Appeared { new },
            (Some(old), None) => Change::Vanished { old },
            _ => continue,
        };
        found.push(CellChange { place: cell.place.clone(), change });
    }
    for cell in old.iter().filter(|cell| new.iter().all(|other| other.place != cell.place)) {
        if let Some(old) = numbers(cell) {
            found.push(CellChange { place: cell.place.clone(), change: Change::Vanished { old } });
        }
    }
    Ok(found)
}

fn numbers(cell: &StoredCell) -> Option<Numbers> {
    Some(Numbers { mean: cell.mean?, std: cell.std, n: cell.n })
}

fn deviations(old: &Numbers, new: &Numbers) -> Option<f64> {
    let variances: Vec<f64> = [old.std, new.std].iter().flatten().map(|std| std * std).collect();
    let variance = variances.iter().sum::<f64>() / variances.len() as f64;
    (variance > 0.0).then(|| (new.mean - old.mean) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "model,value,mean,std,n,published_mean,published_std,best\r\n";

    fn told(old: &str, new: &str) -> Vec<(String, Change)> {
        let moved = cell_changes(&format!("{HEADER}{old}"), &format!("{HEADER}{new}")).unwrap();
        moved.into_iter().map(|moved| (moved.place.join("/"), moved.change)).collect()
    }

    #[test]
    fn equal_numbers_do_not_move_even_if_other_columns_do() {
        assert!(told("a,x,4,1,5,,,false\n", "a,x,4,1,5,4,0,true\n").is_empty());
    }

    #[test]
    fn a_moved_cell_tells_by_how_many_deviations() {
        let found = told("a,x,4,3,5,,,false\nb,x,1,0,5,,,\n", "a,x,9,4,5,,,false\nb,x,2,0,5,,,\n");
        let by = |change: &Change| match change {
            Change::Moved { deviations, .. } => *deviations,
            other => panic!("{other:?}"),
        };
        // The root of (9 + 16) / 2.
        assert!((by(&found[0].1).unwrap() - 5.0 / 12.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(by(&found[1].1), None, "nothing varies");
    }

    #[test]
    fn cells_appear_and_vanish() {
        let found = told(
            "a,x,4,1,5,,,\nb,x,1,,1,,,\nc,x,1,,1,,,\n",
            "c,x,,,0,,,\nd,x,2,,1,,,\na,x,4,1,5,,,\n",
        );
        let places: Vec<_> = found.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(places, ["c/x", "d/x", "b/x"]);
        assert!(matches!(found[0].1, Change::Vanished { .. }));
        assert!(matches!(found[1].1, Change::Appeared { .. }));
        assert!(matches!(found[2].1, Change::Vanished { .. }));
    }
}
