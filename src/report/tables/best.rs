//! Marks the best cells of a table.
//!
//! Cells compete when they show the same value and differ only along the compared axes. What counts
//! is how far each run is from the best imaginable, on average: runs on both sides of a truth are
//! not near it because their mean is. Averages are compared as shown, so that cells which read the
//! same are both best. What a one-sided exact rank-sum test of the runs does not find worse is not
//! told apart from the best, which is another mark: a few runs are no reason to call one model
//! better than another. A cell of one run has nothing to test with, and gets no such mark.

use std::collections::BTreeMap;

use crate::report::tables::cell::{Cell, rounded};
use crate::report::tables::marks::Rank;
use crate::report::tables::table::{Best, TableSpec};
use crate::statistics::{mean, rank_sum_p};

/// Cells by the index of their value and their labels on the row axes, then the column axes.
pub(in crate::report) type Cells = BTreeMap<(usize, Vec<String>), Cell>;

/// How often the test may take a cell for worse that is not.
const LEVEL: f64 = 0.05;

/// One of the cells that compete.
struct Rival<'a> {
    /// How far its runs are from the best imaginable, on average and as shown.
    distance: f64,
    /// How far each of its runs is.
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
            let worse =
                |winner: &&mut Rival<'_>| rank_sum_p(&other.distances, &winner.distances) <= LEVEL;
            other.cell.rank = (!winners.iter().all(worse)).then_some(Rank::NotToldApart);
        }
    }
    for winner in winners {
        winner.cell.rank = Some(Rank::Best);
    }
    tested
}

/// Returns a cell as it competes, if it does: numbers that overflow compare with nothing.
fn rival<'a>(
    best: &Best,
    digits: usize,
    labels: &[String],
    cell: &'a mut Cell,
) -> Option<Rival<'a>> {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let distance = |value: &f64| best.distance(&labels, *value).filter(|far| far.is_finite());
    let distances: Vec<f64> = cell.values.iter().map(distance).collect::<Option<_>>()?;
    let distance = rounded(mean(&distances)?, digits).parse().ok()?;
    Some(Rival { distance, distances, cell })
}

#[cfg(test)]
mod tests {
    use super::*;
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
            table.rows.iter().map(|row| row.cells[0].rank == Some(Rank::Best)).collect()
        };
        assert_eq!(best("Closest(4.0)", &[3.9, 4.1, 4.2, 3.0]), [true, true, false, false]);
        assert_eq!(best("Lowest", &[1.04, 1.01, 1.1, 0.98]), [true, true, false, true]);
        assert_eq!(best("Highest", &[1.0, 3.0, 2.0, 3.0]), [false, true, false, true]);
        assert_eq!(best("None", &[1.0, 3.0, 2.0, 3.0]), [false; 4]);
    }

    #[test]
    fn cells_compete_across_columns_by_default_and_along_any_axis_on_request() {
        let best = |table: &Table| -> Vec<Vec<bool>> {
            table
                .rows
                .iter()
                .map(|row| row.cells.iter().map(|cell| cell.rank == Some(Rank::Best)).collect())
                .collect()
        };
        assert_eq!(best(&wide()), [[true, false, false], [true, false, false]]);
        let text = r#"(caption: "c", label: "l", rows: ["set"], columns: ["model"], over: ["seed"],
            compare: ["set"], values: [Value(field: "dimension", title: "D", best: Lowest)])"#;
        let down = tabulate(&spec(text), &runs()).unwrap();
        assert_eq!(best(&down), [[true, false, true], [false, true, false]]);
    }

    const BEST: Option<Rank> = Some(Rank::Best);
    const APART: Option<Rank> = Some(Rank::NotToldApart);

    /// Returns how two models, each with the values of its runs, compare.
    fn ranks(best: &str, first: &[f64], second: &[f64]) -> (Vec<Option<Rank>>, bool) {
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
        (table.rows.iter().map(|row| row.cells[0].rank).collect(), table.tested)
    }

    #[test]
    fn what_a_test_does_not_find_worse_is_not_told_apart() {
        let (low, noisy) = ([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]);
        assert_eq!(ranks("Lowest", &low, &noisy), (vec![BEST, APART], true));
        let high = [11.0, 12.0, 13.0];
        assert_eq!(ranks("Lowest", &low, &high), (vec![BEST, None], true));
        assert_eq!(ranks("Highest", &low, &high), (vec![None, BEST], true));
        assert_eq!(ranks("Lowest", &low[..2], &high[..2]), (vec![BEST, APART], true), "two runs");
    }

    #[test]
    fn one_run_is_no_sample_to_test_with() {
        assert_eq!(ranks("Lowest", &[1.0], &[1.5, 0.5, 2.5]), (vec![BEST, None], false));
        assert_eq!(ranks("Lowest", &[1.0, 2.0], &[1.6]), (vec![BEST, None], false));
    }

    #[test]
    fn runs_that_miss_the_truth_on_both_sides_are_not_near_it() {
        let (steady, never) = ([4.0; 5], [3.0, 3.0, 3.0, 3.0, 8.0]);
        assert_eq!(ranks("Closest(4.0)", &never, &steady), (vec![None, BEST], true));
        let erratic = [0.2, 8.0, 0.1, 8.1];
        assert_eq!(ranks("Closest(4.0)", &[4.1, 4.1, 4.1, 4.2], &erratic).0, [BEST, None]);
    }

    #[test]
    fn numbers_of_any_size_compare() {
        let (small, large) = ([1.0, 2.0, 3.0], [1e308, -1e308, 1.7e308]);
        assert_eq!(ranks("Lowest", &small, &large).0, [BEST, APART]);
        assert_eq!(ranks("Closest(0.0)", &small, &large).0, [BEST, None]);
        let beyond = ranks("Closest(-1.7e308)", &small, &large);
        assert_eq!(beyond, (vec![BEST, None], false), "a distance that overflows is none");
    }

    #[test]
    fn every_row_can_have_a_truth_of_its_own() {
        let text = r#"(caption: "c", label: "l", rows: ["set"], columns: ["model"], over: ["seed"],
            values: [Value(field: "dimension", title: "D", best: ClosestTo({"shapes": 6.0}))])"#;
        let table = tabulate(&spec(text), &runs()).unwrap();
        let best: Vec<Vec<bool>> = table
            .rows
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell.rank == Some(Rank::Best)).collect())
            .collect();
        assert_eq!(best, [[false, false, false], [false, true, false]]);
    }
}
