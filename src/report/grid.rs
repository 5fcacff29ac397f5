//! A table laid out as lines of entries, shared by LaTeX, Markdown and the terminal.
//!
//! Decides what is common to the three: how columns are titled, where published numbers go
//! (their own column when the table is narrow, a line below in parentheses when axes already
//! spread across the columns), which repeated labels are left blank, and the closing note.
//! Escaping and alignment are left to the formats.

use crate::report::cell::{Cell, Rounded};
use crate::report::frame::Spread;
use crate::report::table::{Table, TableColumn};

/// What stands at one place of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) enum Entry {
    /// Nothing: no number was published here.
    Blank,
    /// A cell without records.
    Missing,
    /// A measured number.
    Measured { number: Rounded, best: bool },
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
    /// Writes the entry with a format's own plus-minus sign and dash, without emphasis.
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

    /// Tells whether the entry is to be emphasized.
    pub(in crate::report) const fn is_best(&self) -> bool {
        matches!(self, Self::Measured { best: true, .. })
    }
}

/// One printed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) struct Line {
    /// One text per row axis; blank where it repeats the line above.
    pub(in crate::report) stub: Vec<String>,
    pub(in crate::report) entries: Vec<Entry>,
    /// Whether a new group of rows begins here, to be set off from the one above.
    pub(in crate::report) opens_group: bool,
}

/// A table as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) struct Grid {
    /// Titles of the row axes.
    pub(in crate::report) stub: Vec<String>,
    /// Title of each column from the outermost level inward.
    pub(in crate::report) columns: Vec<Vec<String>>,
    pub(in crate::report) lines: Vec<Line>,
    /// How the numbers were averaged, if any were.
    pub(in crate::report) note: Option<String>,
}

impl Grid {
    /// Lays out a table.
    pub(in crate::report) fn of(table: &Table) -> Self {
        let beside = table.column_axes.is_empty();
        let mut columns = Vec::new();
        for (index, column) in table.columns.iter().enumerate() {
            columns.push(heading(table, column));
            if beside && has_published(table, index) {
                columns.push(vec![format!("{} (published)", column.value.title)]);
            }
        }
        let mut grid = Self {
            stub: table.row_axes.iter().map(|axis| axis.title.clone()).collect(),
            columns,
            lines: Vec::new(),
            note: note(table),
        };
        let mut above: Option<Vec<String>> = None;
        for row in &table.rows {
            let labels: Vec<String> = row.labels.iter().map(|label| label.title.clone()).collect();
            let entries = if beside {
                entries_with_published_beside(table, &row.cells)
            } else {
                row.cells.iter().zip(&table.columns).map(|(c, d)| measured(c, d.digits)).collect()
            };
            let below = !beside && row.cells.iter().any(|cell| cell.published.is_some());
            let first_differs = above.as_ref().is_some_and(|above| above[0] != labels[0]);
            let opens_group = first_differs && labels.len() > 1;
            let stub = without_repeats(&labels, above.as_deref());
            grid.lines.push(Line { stub, entries, opens_group });
            if below {
                grid.lines.push(published_line(table, &row.cells));
            }
            above = Some(labels);
        }
        grid
    }
}

fn heading(table: &Table, column: &TableColumn) -> Vec<String> {
    let mut path: Vec<String> = column.labels.iter().map(|label| label.title.clone()).collect();
    let first = &table.columns[0].value.name;
    let several = table.columns.iter().any(|other| other.value.name != *first);
    if several || path.is_empty() {
        path.push(column.value.title.clone());
    }
    path
}

fn has_published(table: &Table, column: usize) -> bool {
    table.rows.iter().any(|row| row.cells[column].published.is_some())
}

fn measured(cell: &Cell, digits: usize) -> Entry {
    match cell.mean {
        None => Entry::Missing,
        Some(mean) => {
            Entry::Measured { number: Rounded::new(mean, cell.std, digits), best: cell.best }
        }
    }
}

fn published(cell: &Cell, digits: usize, place: PublishedPlace) -> Entry {
    cell.published.map_or(Entry::Blank, |(mean, std)| Entry::Published {
        number: Rounded::new(mean, std, digits),
        place,
    })
}

fn entries_with_published_beside(table: &Table, cells: &[Cell]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (index, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
        entries.push(measured(cell, column.digits));
        if has_published(table, index) {
            entries.push(published(cell, column.digits, PublishedPlace::Beside));
        }
    }
    entries
}

fn published_line(table: &Table, cells: &[Cell]) -> Line {
    let mut stub = vec![String::new(); table.row_axes.len()];
    if let Some(last) = stub.last_mut() {
        "(published)".clone_into(last);
    }
    let entries = cells.iter().zip(&table.columns);
    let entries = entries.map(|(c, d)| published(c, d.digits, PublishedPlace::Below)).collect();
    Line { stub, entries, opens_group: false }
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

fn note(table: &Table) -> Option<String> {
    let counts = || table.rows.iter().flat_map(|row| &row.cells).map(|c| c.n).filter(|n| *n > 0);
    let (least, most) = (counts().min()?, counts().max()?);
    if most < 2 {
        return None;
    }
    let deviation = match table.spread {
        Spread::Population => "population",
        Spread::Sample => "sample",
    };
    let over: Vec<&str> = table.over.iter().map(|axis| axis.title.as_str()).collect();
    let count = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    let published = table.rows.iter().flat_map(|row| &row.cells).any(|c| c.published.is_some());
    let beside = if published { "; published numbers as printed" } else { "" };
    Some(format!(
        "Mean ± {deviation} standard deviation over {} (n = {count}){beside}.",
        over.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tabulate::tests::{tall, wide};

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
    fn the_note_tells_divisor_axis_and_count() {
        assert_eq!(
            Grid::of(&wide()).note.unwrap(),
            "Mean ± population standard deviation over seed (n = 1 to 2); published numbers as printed."
        );
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
