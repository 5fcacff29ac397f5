//! Marks the best cells of a table.
//!
//! Cells compete when they show the same value and differ only along the compared axes. Best
//! is decided on the rounded means, since that is what the reader compares: two cells that read
//! the same are both best.

use std::collections::BTreeMap;

use crate::report::cell::{Cell, rounded};
use crate::report::table::{Best, TableSpec, ValueSpec};

/// Cells by the index of their value and their labels on the row axes, then the column axes.
pub(in crate::report) type Cells = BTreeMap<(usize, Vec<String>), Cell>;

/// Cells that compete, each with its distance from the best imaginable.
type Contest<'a> = Vec<(f64, &'a mut Cell)>;

/// Marks the best cells of every contest; cells without records never take part.
pub(in crate::report) fn mark_best(spec: &TableSpec, axes: &[String], cells: &mut Cells) {
    let default = if spec.columns.is_empty() { &spec.rows } else { &spec.columns };
    let compare = if spec.compare.is_empty() { default } else { &spec.compare };
    let mut contests: BTreeMap<(usize, Vec<String>), Contest<'_>> = BTreeMap::new();
    for ((index, labels), cell) in cells.iter_mut() {
        if let Some(penalty) = cell.mean.and_then(|mean| penalty(&spec.values[*index], mean)) {
            let fixed = labels.iter().zip(axes).filter(|(_, axis)| !compare.contains(axis));
            let contest = (*index, fixed.map(|(label, _)| label.clone()).collect());
            contests.entry(contest).or_default().push((penalty, cell));
        }
    }
    for ((index, _), contest) in contests {
        let least = contest.iter().map(|(penalty, _)| *penalty).fold(f64::INFINITY, f64::min);
        // Differences of rounded decimals are not exact: 4.1 - 4 and 4 - 3.9 must still tie.
        let digits = i32::try_from(spec.values[index].digits).unwrap_or(i32::MAX);
        let tie = 1e-3 * 10_f64.powi(-digits);
        for (penalty, cell) in contest {
            cell.best = penalty <= least + tie;
        }
    }
}

/// How far a mean, as shown, is from the best imaginable; none when nothing is marked.
fn penalty(value: &ValueSpec, mean: f64) -> Option<f64> {
    let shown: f64 = rounded(mean, value.digits).parse().ok()?;
    match value.best {
        Best::None => None,
        Best::Highest => Some(-shown),
        Best::Lowest => Some(shown),
        Best::Closest(target) => Some((shown - target.get()).abs()),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::record::Record;
    use crate::report::record::tests::record;
    use crate::report::table::Table;
    use crate::report::tabulate::tabulate;
    use crate::report::tabulate::tests::{spec, sweep, wide};

    #[test]
    fn ties_as_shown_are_all_best_on_both_sides_of_the_target() {
        let best = |best: &str, means: &[f64]| -> Vec<bool> {
            let text = format!(
                r#"(caption: "c", label: "l", rows: ["m"],
                    values: [Value(field: "x", title: "X", digits: 1, best: {best})])"#
            );
            let labels = ["a", "b", "c", "d"];
            let records: Vec<Record> = labels
                .iter()
                .zip(means)
                .map(|(label, mean)| record(&[("m", label)], &[("x", *mean)]))
                .collect();
            let table = tabulate(&spec(&text), &records).unwrap();
            table.rows.iter().map(|row| row.cells[0].best).collect()
        };
        assert_eq!(best("Closest(4.0)", &[3.9, 4.1, 4.2, 3.0]), [true, true, false, false]);
        assert_eq!(best("Lowest", &[1.04, 1.01, 1.1, 0.98]), [true, true, false, true]);
        assert_eq!(best("Highest", &[1.0, 3.0, 2.0, 3.0]), [false, true, false, true]);
        assert_eq!(best("None", &[1.0, 3.0, 2.0, 3.0]), [false; 4]);
    }

    #[test]
    fn cells_compete_across_columns_by_default_and_along_any_axis_on_request() {
        let best = |table: &Table| -> Vec<Vec<bool>> {
            table.rows.iter().map(|row| row.cells.iter().map(|cell| cell.best).collect()).collect()
        };
        assert_eq!(best(&wide()), [[true, false, false], [true, false, false]]);
        let text = r#"(caption: "c", label: "l", rows: ["set"], columns: ["model"], over: ["seed"],
            compare: ["set"], values: [Value(field: "dimension", title: "D", best: Lowest)])"#;
        let down = tabulate(&spec(text), &sweep()).unwrap();
        assert_eq!(best(&down), [[true, false, true], [false, true, false]]);
    }
}
