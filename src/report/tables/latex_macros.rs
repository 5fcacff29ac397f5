//! Every number of some tables as a LaTeX macro, so that a text can cite what was measured.
//!
//! A name is made of the table's label, the row's labels, the column's labels and, where a table
//! shows several, the value: `\TableOneDspritesPcae`. Names have letters only, as LaTeX demands, so
//! digits are spelled out. Beside the cell as printed stand its parts, with endings of their own:
//! `Mean`, `Std`, `Count`, `Published`.

use std::collections::BTreeSet;

use crate::report::latex_text::ascii;
use crate::report::tables::cell::{Cell, Rounded, rounded};
use crate::report::tables::latex::escape;
use crate::report::tables::table::{Table, TableColumn, TableRow, Titled};

const DIGITS: [&str; 10] =
    ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];

/// Endings of the macros that belong to one cell; the cell as printed has none.
const ENDINGS: [&str; 5] = ["", "Mean", "Std", "Count", "Published"];

/// Renders the macros of tables, each given with the name of its stage.
pub fn render(tables: &[(String, Table)]) -> String {
    let mut taken = BTreeSet::new();
    let mut lines = vec!["% one macro for every number of the tables".to_owned()];
    for (stage, table) in tables {
        lines.push(format!(
            "% {}",
            ascii(&format!("{}: {}", table.label, table.caption)).replace('\n', " ")
        ));
        for row in &table.rows {
            for (column, cell) in table.columns.iter().zip(&row.cells) {
                let name = unused(&name(stage, table, row, column), &mut taken);
                let parts = ENDINGS.iter().zip(parts(cell, column.digits));
                lines.extend(parts.filter_map(|(ending, text)| {
                    Some(format!(r"\newcommand{{\{name}{ending}}}{{{}}}", text?))
                }));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the texts of a cell in the order of the endings.
fn parts(cell: &Cell, digits: usize) -> [Option<String>; 5] {
    let joined = |number: Rounded| number.joined(r"\ensuremath{\pm}");
    [
        Some(
            cell.mean
                .map_or_else(|| escape("–"), |mean| joined(Rounded::new(mean, cell.std, digits))),
        ),
        cell.mean.map(|mean| rounded(mean, digits)),
        cell.std.map(|std| rounded(std, digits)),
        Some(cell.n.to_string()),
        cell.published.map(|(mean, std)| joined(Rounded::published(mean, std, digits))),
    ]
}

/// Returns the name that a cell should have.
fn name(stage: &str, table: &Table, row: &TableRow, column: &TableColumn) -> String {
    let first = letters(&table.label);
    let first = if first.is_empty() { letters(stage) } else { first };
    let several = table.columns.iter().any(|other| other.value.name != column.value.name);
    let mut labels: Vec<&Titled> = row.labels.iter().chain(&column.labels).collect();
    if several || labels.is_empty() {
        labels.push(&column.value);
    }
    labels.iter().fold(first, |name, label| name + &letters(&label.name))
}

/// Returns a name that neither it nor its endings have been taken for.
fn unused(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = wanted.to_owned();
    while ENDINGS.iter().any(|ending| taken.contains(&format!("{name}{ending}"))) {
        name.push_str("Again");
    }
    taken.extend(ENDINGS.iter().map(|ending| format!("{name}{ending}")));
    name
}

/// Writes a text in letters only: words begin with a capital, digits are spelled out.
fn letters(text: &str) -> String {
    let mut written = String::new();
    let mut begins = true;
    for c in ascii(text).chars() {
        if let Some(digit) = c.to_digit(10) {
            written.push_str(DIGITS[digit as usize]);
            begins = true;
        } else if c.is_ascii_alphabetic() {
            written.push(if begins { c.to_ascii_uppercase() } else { c });
            begins = false;
        } else {
            begins = true;
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tabulate::tests::{tall, wide};

    #[test]
    fn names_have_letters_only_and_say_where_a_number_stands() {
        assert_eq!(letters("Table 12"), "TableOneTwo");
        assert_eq!(letters("pca-ae"), "PcaAe");
        assert_eq!(letters("dimension_99.9"), "DimensionNineNineNine");
        assert_eq!(letters("τ é %"), "TauE");
    }

    #[test]
    fn a_number_and_its_parts_have_macros() {
        let text = render(&[("dimension".to_owned(), wide())]);
        for line in [
            r"\newcommand{\TableOneSpritesHae}{7.50 \ensuremath{\pm} 0.50}",
            r"\newcommand{\TableOneSpritesHaeMean}{7.50}",
            r"\newcommand{\TableOneSpritesHaeStd}{0.50}",
            r"\newcommand{\TableOneSpritesHaeCount}{2}",
            r"\newcommand{\TableOneShapesHaePublished}{6.20 \ensuremath{\pm} 0.40}",
            r"\newcommand{\TableOneShapesIrmae}{--}",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn no_name_is_defined_twice() {
        let nameless = Table { label: "%".to_owned(), ..tall() };
        let tables =
            [("a".to_owned(), wide()), ("b".to_owned(), wide()), ("c".to_owned(), nameless)];
        let text = render(&tables);
        let names: Vec<&str> = text.lines().filter(|line| line.starts_with('\\')).collect();
        let names: Vec<&str> = names.iter().map(|line| line.split("}{").next().unwrap()).collect();
        let distinct: BTreeSet<&&str> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
        assert!(names.contains(&r"\newcommand{\TableOneSpritesPcaeAgain"));
        assert!(names.contains(&r"\newcommand{\CPcae"));
    }
}
