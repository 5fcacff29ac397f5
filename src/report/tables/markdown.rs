//! A table as GitHub-flavored Markdown.
//!
//! Column levels are joined with a slash, since Markdown has one header row. Characters that
//! Markdown would read as markup are escaped with a backslash, best values are bold, and those not
//! told apart from them are italic.

use crate::report::tables::grid::{Entry, Grid};
use crate::report::tables::marks::Rank;
use crate::report::tables::notes::Mark;
use crate::report::tables::table::Table;

/// Renders a table with its label and caption above and its note below.
pub fn render(table: &Table) -> String {
    let grid = Grid::of(table);
    let titles = grid.columns.iter().map(|path| path.join(" / "));
    let header: Vec<String> =
        grid.stub.iter().cloned().chain(titles).map(|title| escape(&title)).collect();
    let stub_rules = grid.stub.iter().map(|_| ":--".to_owned());
    let rules: Vec<String> =
        stub_rules.chain(grid.columns.iter().map(|_| "--:".to_owned())).collect();
    let heading = format!("**{}.** {}", escape(&table.label), escape(&table.caption));
    let mut lines = vec![heading, String::new(), row(&header), row(&rules)];
    for line in &grid.lines {
        let stub = line.stub.iter().map(|label| escape(label));
        let cells: Vec<String> = stub.chain(line.entries.iter().map(entry)).collect();
        lines.push(row(&cells));
    }
    let notes = grid.note.iter().chain(&grid.remarks).map(|note| escape(note));
    let legend = grid.legend.iter().map(|(mark, told)| {
        let mark = match mark {
            Mark::Rank(rank) => emphasized(rank.typeface(), Some(*rank)) + ":",
            Mark::Unjudged(reason) => reason.symbol().to_string(),
        };
        format!("{mark} {}", escape(told))
    });
    for line in notes.chain(legend) {
        lines.extend([String::new(), line]);
    }
    lines.join("\n") + "\n"
}

/// Makes any text safe inside a Markdown table cell.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '~' | '$' | '#' | '&' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

fn row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

fn entry(entry: &Entry) -> String {
    let mut text = emphasized(&entry.text("±", "–"), entry.rank());
    text.extend(entry.symbol());
    entry.count().map_or_else(|| text.clone(), |n| format!("{text} (n = {n})"))
}

fn emphasized(text: &str, rank: Option<Rank>) -> String {
    match rank {
        Some(Rank::Best) => format!("**{text}**"),
        Some(Rank::NotToldApart) => format!("*{text}*"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tabulate::tests::{tall, wide};

    #[test]
    fn a_wide_table_reads_as_markdown() {
        insta::assert_snapshot!(render(&wide()), @r"
        **Table 1.** Estimated dimension, τ = 99%

        | Data set | PCAE | H\&E | irmae |
        | :-- | --: | --: | --: |
        | sprites | **4.00 ± 0.00** | *7.50 ± 0.50* | *6.00 ± 0.00* |
        | (published) | (4.00 ± 0.00) |  |  |
        | 3D\_shapes | **5.00 ± 0.00** | 6.00 (n = 1) | – |
        | (published) |  | (6.20 ± 0.40) |  |

        Mean ± population standard deviation (divisor n) over seed, n = 2 unless the cell tells another; published numbers as printed. Dimension: lower is better. A dash (–) stands where there is no result.

        **bold**: best

        *italic*: not told apart from the best (one-sided exact rank-sum test of the runs, 5 %)
        ");
    }

    #[test]
    fn a_narrow_table_reads_as_markdown() {
        insta::assert_snapshot!(render(&tall()), @"
        **Table 2.** Dimension

        | Model | Dimension | Dimension (published) |
        | :-- | --: | --: |
        | pcae | **4.00 ± 0.00** | 4.00 ± 0.00 |
        | hae | *7.50 ± 0.50* | 7.40 |
        | irmae | *6.00 ± 0.00* |  |

        Mean ± population standard deviation (divisor n) over seed, n = 2; published numbers as printed.

        **bold**: best: its runs are nearest to the truth, on average

        *italic*: not told apart from the best (one-sided exact rank-sum test of the runs, 5 %)
        ");
    }

    #[test]
    fn a_label_cannot_break_out_of_its_cell() {
        assert_eq!(escape("a|b\nc*d"), r"a\|b c\*d");
    }
}
