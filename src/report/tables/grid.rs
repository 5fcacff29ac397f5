//! A table laid out as lines of entries, shared by LaTeX, Markdown and the terminal.
//!
//! Decides what is common to the three: whether values stand in columns or in rows, how columns
//! are titled, where published numbers go (their own column when the table is narrow, a line below
//! in parentheses when axes already spread across the columns), which repeated labels are left
//! blank, and the closing note. Escaping and alignment are left to the formats.

use crate::report::tables::cell::{Cell, Rounded};
use crate::report::tables::marks::{Rank, Unjudged};
use crate::report::tables::notes::{Mark, UsualCounts, arrow, legend, note};
use crate::report::tables::table::{Given, Layout, Table, TableColumn, TableRow, Titled};

/// What stands at one place of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) enum Entry {
    /// Nothing: no number was published here.
    Blank,
    /// A cell without records.
    Missing,
    /// A measured number; with the count of its records if that is not the usual one.
    Measured {
        number: Rounded,
        count: Option<usize>,
        rank: Option<Rank>,
        unjudged: Option<Unjudged>,
    },
    /// A published number.
    Published { number: Rounded, place: PublishedPlace },
}

/// Where a published number stands in relation to the measured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum PublishedPlace {
    /// In its own column.
    Beside,
    /// On the line below, in parentheses.
    Below,
}

impl Entry {
    /// Writes the entry with a format's own plus-minus sign and dash, without emphasis or count.
    pub(in crate::report) fn text(&self, plus_minus: &str, dash: &str) -> String {
        match self {
            Self::Blank => String::new(),
            Self::Missing => dash.to_owned(),
            Self::Measured { number, .. }
            | Self::Published { number, place: PublishedPlace::Beside } => {
                number.joined(plus_minus)
            }
            Self::Published { number, place: PublishedPlace::Below } => {
                format!("({})", number.joined(plus_minus))
            }
        }
    }

    /// Returns how the entry is to be emphasized.
    pub(in crate::report) const fn rank(&self) -> Option<Rank> {
        match self {
            Self::Measured { rank, .. } => *rank,
            _ => None,
        }
    }

    /// Returns the symbol that tells why there is no verdict on it.
    pub(in crate::report) fn symbol(&self) -> Option<char> {
        match self {
            Self::Measured { unjudged, .. } => unjudged.map(Unjudged::symbol),
            _ => None,
        }
    }

    /// Returns the number of its records if the note tells another one.
    pub(in crate::report) const fn count(&self) -> Option<usize> {
        match self {
            Self::Measured { count, .. } => *count,
            _ => None,
        }
    }
}

/// One printed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) struct Line {
    /// One text per row axis, then the given ones; blank where a label repeats the line above.
    pub(in crate::report) stub: Vec<String>,
    pub(in crate::report) entries: Vec<Entry>,
    /// Whether a new group of rows begins here, to be set off from the one above.
    pub(in crate::report) opens_group: bool,
}

/// A table as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) struct Grid {
    /// Titles of the row axes and of the given columns.
    pub(in crate::report) stub: Vec<String>,
    /// Titles of the axes spread across the columns, if there are any.
    pub(in crate::report) column_axes: Option<String>,
    /// Title of each column from the outermost level inward.
    pub(in crate::report) columns: Vec<Vec<String>>,
    pub(in crate::report) lines: Vec<Line>,
    /// How the numbers came about, if there is anything to say.
    pub(in crate::report) note: Option<String>,
    /// What the marks mean.
    pub(in crate::report) legend: Vec<(Mark, String)>,
    /// What the declaration has to add.
    pub(in crate::report) remarks: Vec<String>,
}

/// One row before it is printed.
struct UnprintedRow<'a> {
    labels: Vec<String>,
    given: Vec<String>,
    cells: Vec<(&'a TableColumn, &'a Cell)>,
}

impl Grid {
    /// Lays out a table.
    pub(in crate::report) fn of(table: &Table) -> Self {
        let beside = table.column_axes.is_empty();
        let usual = UsualCounts::of(table);
        let mut stub: Vec<String> = table.row_axes.iter().map(|axis| axis.title.clone()).collect();
        if table.layout == Layout::ValuesInRows {
            stub.push(table.value_title.clone());
        }
        stub.extend(table.given.iter().map(|given| given.title.clone()));
        let mut lines = Vec::new();
        let mut above: Option<Vec<String>> = None;
        for UnprintedRow { labels, given, cells } in rows(table) {
            let entries = if beside {
                entries_with_published_beside(table, &usual, &cells)
            } else {
                cells.iter().map(|(column, cell)| measured(&usual, column, cell)).collect()
            };
            let first_differs = above.as_ref().is_some_and(|above| above[0] != labels[0]);
            let opens_group = first_differs && labels.len() > 1;
            let shown = without_repeats(&labels, above.as_deref());
            let blank = vec![String::new(); given.len()];
            lines.push(Line { stub: [shown, given].concat(), entries, opens_group });
            if !beside && cells.iter().any(|(_, cell)| cell.published.is_some()) {
                let mut stub = vec![String::new(); labels.len()];
                if let Some(last) = stub.last_mut() {
                    "(published)".clone_into(last);
                }
                let place = PublishedPlace::Below;
                let entries =
                    cells.iter().map(|(column, cell)| published(cell, column.digits, place));
                let entries = entries.collect();
                lines.push(Line { stub: [stub, blank].concat(), entries, opens_group: false });
            }
            above = Some(labels);
        }
        let dashes = lines.iter().flat_map(|line| &line.entries).any(|e| *e == Entry::Missing);
        let titles_are_shown = table.layout == Layout::ValuesInRows || has_value_level(table);
        Self {
            stub,
            column_axes: column_axes(table),
            columns: headings(table),
            lines,
            note: note(table, titles_are_shown, dashes),
            legend: legend(table),
            remarks: table.notes.clone(),
        }
    }
}

/// Returns the rows to print.
fn rows(table: &Table) -> Vec<UnprintedRow<'_>> {
    let mut rows = Vec::new();
    for row in &table.rows {
        let key: Vec<&str> = row.labels.iter().map(|label| label.name.as_str()).collect();
        let key = key.join("/");
        let labels: Vec<String> = row.labels.iter().map(|label| label.title.clone()).collect();
        if table.layout == Layout::ValuesInColumns {
            let text = |given: &Given| given.cells.get(&key).cloned().unwrap_or_default();
            let given = table.given.iter().map(text).collect();
            let cells = table.columns.iter().zip(&row.cells).collect();
            rows.push(UnprintedRow { labels, given, cells });
            continue;
        }
        let mut is_first = true;
        for value in values(table) {
            let cells = cells_of(table, row, value);
            // A value that none of the columns has here is no row at all.
            if cells.iter().all(|(_, cell)| cell.n == 0 && cell.published.is_none()) {
                continue;
            }
            let text = |given: &Given| {
                let whole_row = given.cells.get(&key).filter(|_| is_first);
                let own = given.cells.get(&Given::key(&key, &value.name));
                own.or(whole_row).cloned().unwrap_or_default()
            };
            let given = table.given.iter().map(text).collect();
            let title = cells.first().map(|(column, _)| value_title(column)).unwrap_or_default();
            let labels = [labels.as_slice(), &[title]].concat();
            rows.push(UnprintedRow { labels, given, cells });
            is_first = false;
        }
    }
    rows
}

/// Returns the values of a table whose columns have them all, in order.
fn values(table: &Table) -> impl Iterator<Item = &Titled> {
    let columns = table.columns.iter().take_while(|c| c.labels == table.columns[0].labels);
    columns.map(|column| &column.value)
}

fn cells_of<'a>(
    table: &'a Table,
    row: &'a TableRow,
    value: &Titled,
) -> Vec<(&'a TableColumn, &'a Cell)> {
    let cells = table.columns.iter().zip(&row.cells);
    cells.filter(|(column, _)| column.value.name == value.name).collect()
}

/// Names the axes of the columns, from the outermost level inward.
fn column_axes(table: &Table) -> Option<String> {
    let titles: Vec<&str> = table.column_axes.iter().map(|axis| axis.title.as_str()).collect();
    (!titles.is_empty()).then(|| titles.join(" / "))
}

fn headings(table: &Table) -> Vec<Vec<String>> {
    let titles = |column: &TableColumn| -> Vec<String> {
        column.labels.iter().map(|label| label.title.clone()).collect()
    };
    if table.layout == Layout::ValuesInRows {
        let first = values(table).next();
        return table.columns.iter().filter(|c| Some(&c.value) == first).map(titles).collect();
    }
    let mut headings = Vec::new();
    for (index, column) in table.columns.iter().enumerate() {
        let mut path = titles(column);
        if has_value_level(table) {
            path.push(value_title(column));
        }
        headings.push(path);
        if table.column_axes.is_empty() && has_published(table, index) {
            headings.push(vec![format!("{} (published)", column.value.title)]);
        }
    }
    headings
}

/// Tells whether the innermost level of the columns is their values.
fn has_value_level(table: &Table) -> bool {
    let mut names = table.columns.iter().map(|column| &column.value.name);
    let first = names.next();
    table.column_axes.is_empty() || names.any(|name| Some(name) != first)
}

fn value_title(column: &TableColumn) -> String {
    let title = &column.value.title;
    arrow(&column.best).map_or_else(|| title.clone(), |arrow| format!("{title} {arrow}"))
}

fn has_published(table: &Table, column: usize) -> bool {
    table.rows.iter().any(|row| row.cells[column].published.is_some())
}

fn measured(usual: &UsualCounts<'_>, column: &TableColumn, cell: &Cell) -> Entry {
    match cell.mean {
        None => Entry::Missing,
        Some(mean) => Entry::Measured {
            number: Rounded::new(mean, cell.std, column.digits),
            count: usual.unusual(column, cell),
            rank: cell.rank,
            unjudged: cell.unjudged,
        },
    }
}

fn published(cell: &Cell, digits: usize, place: PublishedPlace) -> Entry {
    cell.published.map_or(Entry::Blank, |(mean, std)| Entry::Published {
        number: Rounded::published(mean, std, digits),
        place,
    })
}

fn entries_with_published_beside(
    table: &Table,
    usual: &UsualCounts<'_>,
    cells: &[(&TableColumn, &Cell)],
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (index, (column, cell)) in cells.iter().enumerate() {
        entries.push(measured(usual, column, cell));
        if has_published(table, index) {
            entries.push(published(cell, column.digits, PublishedPlace::Beside));
        }
    }
    entries
}

/// Blanks leading labels equal to those above; the innermost one is always shown.
fn without_repeats(labels: &[String], above: Option<&[String]>) -> Vec<String> {
    let Some(above) = above else {
        return labels.to_vec();
    };
    let equal = labels.iter().zip(above).take_while(|(a, b)| a == b).count();
    let blank = equal.min(labels.len().saturating_sub(1));
    let shown = labels.iter().enumerate();
    shown.map(|(i, label)| if i < blank { String::new() } else { label.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tabulate::tests::{tall, wide};

    #[test]
    fn published_numbers_get_a_column_in_a_narrow_table_and_a_line_in_a_wide_one() {
        let narrow = Grid::of(&tall());
        assert_eq!(narrow.columns, [["Dimension"], ["Dimension (published)"]]);
        assert_eq!(narrow.lines.len(), 3);
        let texts: Vec<String> = narrow.lines[1].entries.iter().map(|e| e.text("±", "–")).collect();
        assert_eq!(texts, ["7.50 ± 0.50", "7.40"]);

        let broad = Grid::of(&wide());
        assert_eq!(broad.columns, [["PCAE"], ["H&E"], ["irmae"]]);
        let stubs: Vec<&str> = broad.lines.iter().map(|line| line.stub[0].as_str()).collect();
        assert_eq!(stubs, ["sprites", "(published)", "3D_shapes", "(published)"]);
        let texts: Vec<String> = broad.lines[3].entries.iter().map(|e| e.text("±", "–")).collect();
        assert_eq!(texts, ["", "(6.20 ± 0.40)", ""]);
        assert_eq!(broad.lines[2].entries[2], Entry::Missing);
    }

    #[test]
    fn only_outer_labels_are_blanked_when_they_repeat() {
        let row = |labels: [&str; 2]| labels.map(str::to_owned).to_vec();
        let above = row(["mnist", "99%"]);
        assert_eq!(without_repeats(&row(["mnist", "99.9%"]), Some(&above)), ["", "99.9%"]);
        assert_eq!(without_repeats(&row(["celeba", "99%"]), Some(&above)), ["celeba", "99%"]);
        assert_eq!(without_repeats(&above, Some(&above)), ["", "99%"]);
    }
}
