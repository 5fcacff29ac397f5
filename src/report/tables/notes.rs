//! The sentences below a table: how its numbers came about, and what its marks mean.
//!
//! Says only what the table at hand needs: nothing of averages where nothing was averaged, nothing
//! of dashes where there are none.

use std::collections::BTreeMap;

use crate::report::records::aggregate::Spread;
use crate::report::tables::cell::Cell;
use crate::report::tables::marks::{Rank, Unjudged};
use crate::report::tables::table::{Best, Table, TableColumn};

/// The number of records that most cells of each value have.
pub(in crate::report) struct UsualCounts<'a> {
    counts: BTreeMap<&'a str, usize>,
}

impl<'a> UsualCounts<'a> {
    /// Counts the cells of a table.
    pub(in crate::report) fn of(table: &'a Table) -> Self {
        let mut votes: BTreeMap<&str, BTreeMap<usize, usize>> = BTreeMap::new();
        for (column, cell) in cells(table).filter(|(_, cell)| cell.n > 0) {
            *votes.entry(&column.value.name).or_default().entry(cell.n).or_default() += 1;
        }
        // Of two counts with equally many cells the larger one is meant.
        let most = |votes: BTreeMap<usize, usize>| {
            votes.into_iter().max_by_key(|(n, cells)| (*cells, *n)).map(|(n, _)| n)
        };
        let counts = votes.into_iter().filter_map(|(name, votes)| Some((name, most(votes)?)));
        Self { counts: counts.collect() }
    }

    /// Returns the count of a cell if it is not the usual one of its value.
    pub(in crate::report) fn unusual(&self, column: &TableColumn, cell: &Cell) -> Option<usize> {
        let usual = self.counts.get(column.value.name.as_str())?;
        (cell.n > 0 && cell.n != *usual).then_some(cell.n)
    }

    /// Writes the counts, with the title of each value where they differ between values.
    fn told(&self, table: &Table) -> String {
        let mut titled: Vec<(&str, usize)> = Vec::new();
        for column in &table.columns {
            let title = column.value.title.as_str();
            if let Some(n) = self.counts.get(column.value.name.as_str())
                && !titled.iter().any(|(known, _)| *known == title)
            {
                titled.push((title, *n));
            }
        }
        match titled.as_slice() {
            [(_, n), rest @ ..] if rest.iter().all(|(_, other)| other == n) => format!("n = {n}"),
            several => {
                let each = several.iter().map(|(title, n)| format!("n = {n} ({title})"));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Returns the arrow that tells which numbers are good.
pub(in crate::report) const fn arrow(best: &Best) -> Option<char> {
    match best {
        Best::Highest => Some('↑'),
        Best::Lowest => Some('↓'),
        Best::None | Best::Closest(_) | Best::ClosestTo(_) => None,
    }
}

/// Writes the note of a table, if there is anything to say.
pub(in crate::report) fn note(
    table: &Table,
    titles_are_shown: bool,
    dashes: bool,
) -> Option<String> {
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(averages(table));
    if !titles_are_shown {
        sentences.extend(table.columns.first().and_then(|column| {
            let better = match arrow(&column.best)? {
                '↑' => "higher",
                _ => "lower",
            };
            Some(format!("{}: {better} is better.", column.value.title))
        }));
    }
    if cells(table).any(|(_, cell)| cell.repeats > 0) {
        let over: Vec<&str> = table.over.iter().map(|axis| axis.title.as_str()).collect();
        sentences.push(format!(
            "A result that is the same for every {} counts once.",
            over.join(" or ")
        ));
    }
    if dashes {
        sentences.push("A dash (–) stands where there is no result.".to_owned());
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// A mark that a table uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Mark {
    Rank(Rank),
    Unjudged(Unjudged),
}

/// Lists the marks of a table with what they mean.
pub(in crate::report) fn legend(table: &Table) -> Vec<(Mark, String)> {
    let cells = || table.rows.iter().flat_map(|row| &row.cells);
    let mut legend = Vec::new();
    if cells().any(|cell| cell.rank == Some(Rank::Best)) {
        let nearest = |best: &Best| matches!(best, Best::Closest(_) | Best::ClosestTo(_));
        let best = if table.columns.iter().any(|column| nearest(&column.best)) {
            "best: its runs are nearest to the truth, on average"
        } else {
            "best"
        };
        legend.push((Mark::Rank(Rank::Best), best.to_owned()));
    }
    if table.tested {
        let told = "not told apart from the best (one-sided exact rank-sum test of the runs, 5 %)";
        legend.push((Mark::Rank(Rank::NotToldApart), told.to_owned()));
    }
    for reason in Unjudged::ALL {
        if cells().any(|cell| cell.n > 0 && cell.unjudged == Some(reason)) {
            let told = format!("{}: {}", reason.word(), reason.meaning());
            legend.push((Mark::Unjudged(reason), told));
        }
    }
    legend
}

fn averages(table: &Table) -> Option<String> {
    if cells(table).all(|(_, cell)| cell.n < 2) {
        return None;
    }
    let (deviation, divisor) = match table.spread {
        Spread::Population => ("population", "n"),
        Spread::Sample => ("sample", "n - 1"),
    };
    let over: Vec<&str> = table.over.iter().map(|axis| axis.title.as_str()).collect();
    let over =
        if over.is_empty() { String::new() } else { format!(" over {}", over.join(" and ")) };
    let usual = UsualCounts::of(table);
    let count = usual.told(table);
    let exceptions = cells(table).any(|(column, cell)| usual.unusual(column, cell).is_some());
    let unless = if exceptions { " unless the cell tells another" } else { "" };
    let published = cells(table).any(|(_, cell)| cell.published.is_some());
    let beside = if published { "; published numbers as printed" } else { "" };
    Some(format!(
        "Mean ± {deviation} standard deviation (divisor {divisor}){over}, {count}{unless}{beside}."
    ))
}

fn cells(table: &Table) -> impl Iterator<Item = (&TableColumn, &Cell)> {
    table.rows.iter().flat_map(|row| table.columns.iter().zip(&row.cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;
    use crate::report::tables::grid::Grid;
    use crate::report::tables::tabulate::tabulate;
    use crate::report::tables::tabulate::tests::{runs, spec, tall, wide};

    fn told(table: &Table) -> String {
        Grid::of(table).note.unwrap_or_default()
    }

    #[test]
    fn the_note_tells_divisor_axis_and_count() {
        assert_eq!(
            told(&tall()),
            "Mean ± population standard deviation (divisor n) over seed, n = 2; published numbers \
             as printed."
        );
        assert!(
            told(&wide()).contains("over seed, n = 2 unless the cell tells another; published")
        );
    }

    #[test]
    fn the_note_tells_what_is_good_when_no_header_does_and_what_a_dash_means() {
        let note = told(&wide());
        assert!(note.contains("Dimension: lower is better."), "{note}");
        assert!(note.ends_with("A dash (–) stands where there is no result."), "{note}");
        assert!(!told(&tall()).contains("dash"));
    }

    #[test]
    fn a_sample_deviation_is_called_one() {
        let text = r#"(caption: "c", label: "l", rows: ["set"], columns: ["model"], over: ["seed"],
            spread: Sample, values: [Value(field: "dimension", title: "D")])"#;
        let note = told(&tabulate(&spec(text), &runs()).unwrap());
        assert!(
            note.starts_with("Mean ± sample standard deviation (divisor n - 1) over"),
            "{note}"
        );
    }

    #[test]
    fn values_with_counts_of_their_own_are_told_apart_once_and_not_in_every_cell() {
        let text = r#"(caption: "c", label: "l", rows: ["set"], over: ["seed"], values: [
            Value(field: "truth", title: "Truth"), Value(field: "dimension", title: "D")])"#;
        let records = [
            record(&[("set", "a"), ("seed", "s0")], &[("dimension", 3.0)]),
            record(&[("set", "a"), ("seed", "s1")], &[("dimension", 5.0)]),
            record(&[("set", "a")], &[("truth", 4.0)]),
        ];
        let table = tabulate(&spec(text), &records).unwrap();
        assert!(told(&table).contains("n = 1 (Truth), n = 2 (D)."), "{}", told(&table));
        let usual = UsualCounts::of(&table);
        let shown = |at: usize| usual.unusual(&table.columns[at], &table.rows[0].cells[at]);
        assert_eq!([shown(0), shown(1)], [None, None]);
    }
}
