//! Marks the best cells of a table.
//!
//! Cells compete when they show the same value and differ only along the compared axes. Best
//! is decided on the rounded means, since that is what the reader compares: two cells that read
//! the same are both best. So is every cell that a one-sided Welch test can't tell from them:
//! a few runs are no reason to call one model better than another. Cells of one run have no
//! spread to test with, they are best only by what they read.

use std::collections::BTreeMap;

use crate::report::tables::cell::{Cell, rounded};
use crate::report::tables::table::{Best, TableSpec};
use crate::statistics::is_significantly_larger;

/// Cells by the index of their value and their labels on the row axes, then the column axes.
pub(in crate::report) type Cells = BTreeMap<(usize, Vec<String>), Cell>;

/// How often the test may take a cell for worse that is not.
const LEVEL: f64 = 0.05;

/// One of the cells that compete.
struct Rival<'a> {
    /// How far its mean, as shown, is from the best imaginable.
    distance: f64,
    /// The same for each of its runs.
    distances: Vec<f64>,
    cell: &'a mut Cell,
}

/// Marks the best cells of every contest; cells without records never take part. Returns whether
/// a test had a say.
pub(in crate::report) fn mark_best<R>(
    spec: &TableSpec<R>,
    axes: &[String],
    cells: &mut Cells,
) -> bool {
    let default = if spec.columns.is_empty() { &spec.rows } else { &spec.columns };
    let compare = if spec.compare.is_empty() { default } else { &spec.compare };
    let mut contests: BTreeMap<(usize, Vec<String>), Vec<Rival<'_>>> = BTreeMap::new();
    for ((index, labels), cell) in cells.iter_mut() {
        let value = &spec.values[*index];
        if let Some(rival) = rival(&value.best, value.digits, labels, cell) {
            let fixed = labels.iter().zip(axes).filter(|(_, axis)| !compare.contains(axis));
            let contest = (*index, fixed.map(|(label, _)| label.clone()).collect());
            contests.entry(contest).or_default().push(rival);
        }
    }
    let mut tested = false;
    for ((index, _), mut rivals) in contests {
        tested |= decide(&mut rivals, spec.values[index].digits);
    }
    tested
}

/// Marks the best of one contest.
fn decide(rivals: &mut [Rival<'_>], digits: usize) -> bool {
    let least = rivals.iter().map(|rival| rival.distance).fold(f64::INFINITY, f64::min);
    // Differences of rounded decimals are not exact: 4.1 - 4 and 4 - 3.9 must still tie.
    let tie = 1e-3 * 10_f64.powi(-i32::try_from(digits).unwrap_or(i32::MAX));
    let (winners, others): (Vec<_>, Vec<_>) =
        rivals.iter_mut().partition(|rival| rival.distance <= least + tie);
    let several = |rival: &Rival<'_>| rival.distances.len() > 1;
    let mut tested = false;
    for other in others {
        if several(other) && winners.iter().all(|winner| several(winner)) {
            tested = true;
            let worse = |winner: &&mut Rival<'_>| {
                is_significantly_larger(&other.distances, &winner.distances, LEVEL)
            };
            other.cell.best = !winners.iter().any(worse);
        }
    }
    for winner in winners {
        winner.cell.best = true;
    }
    tested
}

/// Returns a cell as it competes, if it does.
fn rival<'a>(
    best: &Best,
    digits: usize,
    labels: &[String],
    cell: &'a mut Cell,
) -> Option<Rival<'a>> {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let distance = |value: f64| best.distance(&labels, value);
    let shown: f64 = rounded(cell.mean?, digits).parse().ok()?;
    let distances = cell.values.iter().filter_map(|value| distance(*value)).collect();
    Some(Rival { distance: distance(shown)?, distances, cell })
}

#[cfg(test)]
mod tests {
    use crate::report::records::record::Record;
    use crate::report::records::record::tests::record;
    use crate::report::tables::table::Table;
    use crate::report::tables::tabulate::tabulate;
    use crate::report::tables::tabulate::tests::{runs, spec, wide};

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
        let down = tabulate(&spec(text), &runs()).unwrap();
        assert_eq!(best(&down), [[true, false, true], [false, true, false]]);
    }

    /// Returns which of two models, each with the values of its runs, are best.
    fn best_of(best: &str, first: &[f64], second: &[f64]) -> (Vec<bool>, bool) {
        let text = format!(
            r#"(caption: "c", label: "l", rows: ["model"], over: ["seed"],
                values: [Value(field: "x", title: "X", best: {best})])"#
        );
        let mut records = Vec::new();
        for (model, values) in [("a", first), ("b", second)] {
            for (seed, value) in values.iter().enumerate() {
                records.push(record(
                    &[("model", model), ("seed", &seed.to_string())],
                    &[("x", *value)],
                ));
            }
        }
        let table = tabulate(&spec(&text), &records).unwrap();
        (table.rows.iter().map(|row| row.cells[0].best).collect(), table.tested)
    }

    #[test]
    fn what_a_test_cannot_tell_from_the_best_is_best_too() {
        let (low, noisy) = ([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]);
        assert_eq!(best_of("Lowest", &low, &noisy), (vec![true, true], true));
        let high = [11.0, 12.0, 13.0];
        assert_eq!(best_of("Lowest", &low, &high), (vec![true, false], true));
        assert_eq!(best_of("Highest", &low, &high), (vec![false, true], true));
    }

    #[test]
    fn one_run_is_no_sample_to_test_with() {
        assert_eq!(best_of("Lowest", &[1.0], &[1.5, 0.5, 2.5]), (vec![true, false], false));
        assert_eq!(best_of("Lowest", &[1.0, 2.0], &[1.6]), (vec![true, false], false));
    }

    #[test]
    fn nearness_to_a_truth_is_tested_run_by_run() {
        // The mean of the erratic one happens to be nearer, but the steady one is near every time.
        let (steady, erratic) = ([4.1, 4.1, 4.1, 4.2], [0.2, 8.0, 0.1, 8.1]);
        assert_eq!(best_of("Closest(4.0)", &steady, &erratic), (vec![true, true], true));
        assert_eq!(
            best_of("Closest(4.0)", &steady, &[6.1, 6.2, 6.0, 6.1]),
            (vec![true, false], true)
        );
    }

    #[test]
    fn every_row_can_have_a_truth_of_its_own() {
        let text = r#"(caption: "c", label: "l", rows: ["set"], columns: ["model"], over: ["seed"],
            values: [Value(field: "dimension", title: "D", best: ClosestTo({"shapes": 6.0}))])"#;
        let table = tabulate(&spec(text), &runs()).unwrap();
        let best: Vec<Vec<bool>> =
            table.rows.iter().map(|row| row.cells.iter().map(|cell| cell.best).collect()).collect();
        assert_eq!(best, [[false, false, false], [false, true, false]]);
    }
}
