//! A table as the page shows it: merged headings, published numbers below the measured ones.

use serde::Serialize;

use super::{Download, data_address};
use crate::report::content::{Badge, BadgeTone, TableFacts};
use crate::report::tables::cell::{Cell, published_number, rounded};
use crate::report::tables::grid::Grid;
use crate::report::tables::marks::{Rank, Unjudged};
use crate::report::tables::notes::Mark;
use crate::report::tables::table::Table;

/// A table.
#[derive(Debug, Serialize)]
pub(super) struct TableView {
    stage: String,
    label: String,
    caption: String,
    /// The axes of the columns, over how many columns they go, beside how many of labels.
    axes: Option<(String, usize, usize)>,
    /// The heading, one list of cells per level.
    head: Vec<Vec<Heading>>,
    rows: Vec<Row>,
    note: Option<String>,
    /// What the marks mean, one line each.
    legend: Vec<String>,
    /// Given texts and free remarks.
    remarks: Vec<String>,
    downloads: Vec<Download>,
}

/// A heading over several columns or beside several rows.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Heading {
    text: String,
    columns: usize,
    rows: usize,
    /// Whether it stands over the labels of the rows.
    stub: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    labels: Vec<Heading>,
    cells: Vec<CellView>,
    opens_group: bool,
}

#[derive(Debug, Serialize)]
struct CellView {
    mean: Option<String>,
    spread: Option<String>,
    /// The class of how it compares with others, and what that means.
    rank: Option<(&'static str, &'static str)>,
    /// The symbol that tells why there is no verdict.
    symbol: Option<char>,
    published: Option<String>,
    /// How many values there are, where that differs from the rest of the table.
    count: Option<usize>,
    verdicts: Vec<VerdictView>,
}

#[derive(Debug, Serialize)]
struct VerdictView {
    text: String,
    detail: String,
    tone: BadgeTone,
}

impl TableView {
    pub(super) fn of(facts: &TableFacts) -> Self {
        let table = &facts.table;
        let grid = Grid::of(table);
        let most = table.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.n).max();
        let paths: Vec<Vec<&str>> = table
            .rows
            .iter()
            .map(|row| row.labels.iter().map(|label| label.title.as_str()).collect())
            .collect();
        let mut rows: Vec<Row> = Vec::new();
        for (at, row) in table.rows.iter().enumerate() {
            let labels: Vec<_> = (0..table.row_axes.len())
                .filter_map(|level| run_length(&paths, at, level).map(|rows| (level, rows)))
                .map(|(level, rows)| Heading {
                    text: row.labels[level].title.clone(),
                    columns: 1,
                    rows,
                    stub: true,
                })
                .collect();
            let cells = row.cells.iter().zip(&table.columns).enumerate();
            let cells = cells.map(|(column, (cell, shown))| {
                let own = |verdict: &&Badge| verdict.row == at && verdict.column == column;
                cell_view(cell, shown.digits, most, facts.verdicts.iter().filter(own))
            });
            let several = table.row_axes.len() > 1;
            let opens_group = several && at > 0 && labels.len() == table.row_axes.len();
            rows.push(Row { cells: cells.collect(), labels, opens_group });
        }
        Self {
            stage: facts.stage.clone(),
            label: table.label.clone(),
            caption: table.caption.clone(),
            axes: grid.column_axes.map(|axes| (axes, table.columns.len(), table.row_axes.len())),
            head: head(table),
            rows,
            note: grid.note,
            legend: grid.legend.into_iter().map(legend_line).collect(),
            remarks: remarks(table),
            downloads: facts
                .files
                .iter()
                .map(|file| Download { name: file.name.clone(), address: data_address(file) })
                .collect(),
        }
    }
}

/// Returns the class of a rank and what it means.
const fn rank(rank: Rank) -> (&'static str, &'static str) {
    match rank {
        Rank::Best => ("best", "best"),
        Rank::NotToldApart => ("not-told-apart", "not told apart from the best"),
    }
}

fn legend_line((mark, told): (Mark, String)) -> String {
    match mark {
        Mark::Rank(rank) => format!("{}: {told}", rank.typeface()),
        Mark::Unjudged(reason) => format!("{} {told}", reason.symbol()),
    }
}

/// Returns the columns of given text, each as a sentence, and the remarks.
fn remarks(table: &Table) -> Vec<String> {
    let title = |name: &str| {
        let mut labels = table.rows.iter().flat_map(|row| &row.labels);
        labels.find(|label| label.name == name).map_or(name, |label| &label.title).to_owned()
    };
    let given = table.given.iter().map(|given| {
        let cells = given.cells.iter().map(|(key, text)| format!("{} {text}", title(key)));
        format!("{}: {}.", given.title, cells.collect::<Vec<_>>().join(", "))
    });
    given.chain(table.notes.iter().cloned()).collect()
}

fn cell_view<'a>(
    cell: &Cell,
    digits: usize,
    most: Option<usize>,
    verdicts: impl Iterator<Item = &'a Badge>,
) -> CellView {
    let number = |value| rounded(value, digits);
    let verdict = |verdict: &Badge| VerdictView {
        text: verdict.text.clone(),
        detail: verdict.detail.clone(),
        tone: verdict.tone,
    };
    CellView {
        mean: cell.mean.map(number),
        spread: cell.std.map(number),
        rank: cell.rank.map(rank),
        symbol: cell.unjudged.map(Unjudged::symbol),
        published: cell.published.map(|(mean, spread)| published_number(mean, spread, digits)),
        count: (cell.mean.is_some() && Some(cell.n) != most).then_some(cell.n),
        verdicts: verdicts.map(verdict).collect(),
    }
}

/// Returns the heading: one level per column axis and, if there are several values or no axes, one
/// for the values.
fn head(table: &Table) -> Vec<Vec<Heading>> {
    let first = table.columns.first().map(|column| &column.value.name);
    let several = table.columns.iter().any(|column| Some(&column.value.name) != first);
    let with_values = several || table.column_axes.is_empty();
    let paths: Vec<Vec<&str>> = table
        .columns
        .iter()
        .map(|column| {
            let labels = column.labels.iter().map(|label| label.title.as_str());
            labels.chain(with_values.then_some(column.value.title.as_str())).collect()
        })
        .collect();
    let depth = table.column_axes.len() + usize::from(with_values);
    (0..depth)
        .map(|level| {
            let stubs = table.row_axes.iter().filter(|_| level == 0).map(|axis| Heading {
                text: axis.title.clone(),
                columns: 1,
                rows: depth,
                stub: true,
            });
            let titles = (0..paths.len()).filter_map(|at| {
                let columns = run_length(&paths, at, level)?;
                let text = paths[at][level].to_owned();
                Some(Heading { text, columns, rows: 1, stub: false })
            });
            stubs.chain(titles).collect()
        })
        .collect()
}

/// Returns over how many neighbors a label goes on if it begins here; nothing if it began before.
fn run_length(paths: &[Vec<&str>], at: usize, level: usize) -> Option<usize> {
    // The innermost labels name single rows and columns.
    if level + 1 == paths[at].len() {
        return Some(1);
    }
    let same = |other: &Vec<&str>| other[..=level] == paths[at][..=level];
    if at > 0 && same(&paths[at - 1]) {
        return None;
    }
    Some(paths[at..].iter().take_while(|path| same(path)).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tabulate::tests::wide;

    fn facts(table: Table) -> TableFacts {
        TableFacts { stage: "t".to_owned(), table, verdicts: Vec::new(), files: Vec::new() }
    }

    #[test]
    fn equal_labels_next_to_each_other_are_merged() {
        let paths = [["a", "x", "1"], ["a", "x", "2"], ["a", "y", "1"], ["b", "x", "1"]];
        let paths = paths.map(Vec::from);
        let level = |level| [0, 1, 2, 3].map(|at| run_length(&paths, at, level));
        assert_eq!(level(0), [Some(3), None, None, Some(1)]);
        assert_eq!(level(1), [Some(2), None, Some(1), Some(1)]);
        assert_eq!(level(2), [Some(1); 4]);
    }

    #[test]
    fn a_verdict_stands_in_its_cell_and_odd_counts_are_told() {
        let mut facts = facts(wide());
        facts.verdicts.push(Badge {
            row: 1,
            column: 0,
            text: "agrees".to_owned(),
            detail: "p = 0.4".to_owned(),
            tone: BadgeTone::Good,
        });
        let view = TableView::of(&facts);
        assert_eq!(view.rows[1].cells[0].verdicts[0].text, "agrees");
        assert!(view.rows[0].cells.iter().all(|cell| cell.verdicts.is_empty()));
        assert_eq!(view.rows[0].cells[0].published.as_deref(), Some("4.00 ± 0.00"));
        let counts: Vec<_> = view.rows[1].cells.iter().map(|cell| cell.count).collect();
        assert_eq!(counts, [None, Some(1), None]);
    }
}
