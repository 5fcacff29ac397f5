//! A table for the terminal: aligned columns, ruled like its LaTeX twin, no color.
//!
//! Best values carry a star, and those not told apart from them a tilde, instead of bold type. Columns are
//! aligned by display width: combining marks count nothing, wide East Asian characters two. A table
//! that is too wide is split by its columns; a listing is turned, one block per line.

use std::ops::Range;

use crate::report::tables::grid::{Entry, Grid, PublishedPlace};
use crate::report::tables::marks::Rank;
use crate::report::tables::notes::Mark;
use crate::report::tables::table::Table;

const GAP: &str = "   ";

/// A caption above a narrow table may be this wide.
const NARROWEST: usize = 60;

/// A note below a narrow table may be this wide.
const WIDEST_NOTE: usize = 100;

/// Renders a table as wide as it is.
#[cfg(test)]
pub(in crate::report) fn render(table: &Table) -> String {
    render_within(table, usize::MAX)
}

/// Renders a table for so many terminal columns, with its label and caption above and its note below.
pub fn render_within(table: &Table, room: usize) -> String {
    let grid = Grid::of(table);
    let texts = Texts::of(&grid);
    let stub = grid.stub.len();
    let blocks = texts.blocks(stub, room);
    let total = blocks.iter().map(|block| texts.total(stub, block)).max().unwrap_or_default();
    let longest = |least: usize| total.max(least).min(room);
    let mut lines = wrapped(&format!("{}. {}", table.label, table.caption), longest(NARROWEST));
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        let rule = texts.total(stub, block);
        lines.push("━".repeat(rule));
        lines.extend(grid.column_axes.iter().map(|axes| texts.over(stub, axes)));
        lines.push(texts.aligned(&texts.header, stub, block));
        lines.push("─".repeat(rule));
        for (line, cells) in grid.lines.iter().zip(&texts.body) {
            if line.opens_group {
                lines.push(String::new());
            }
            lines.push(texts.aligned(cells, stub, block));
        }
        lines.push("━".repeat(rule));
    }
    let notes = grid.note.iter().chain(&grid.remarks);
    lines.extend(notes.flat_map(|note| wrapped(note, longest(WIDEST_NOTE))));
    lines.extend(grid.legend.iter().flat_map(|(mark, told)| {
        let mark = match mark {
            Mark::Rank(rank) => star(*rank),
            Mark::Unjudged(reason) => reason.symbol(),
        };
        wrapped(&format!("{mark} {told}"), longest(WIDEST_NOTE))
    }));
    lines.join("\n") + "\n"
}

/// The texts of a grid with the widths of its columns: the stub first, then the entries.
struct Texts {
    header: Vec<String>,
    body: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Texts {
    fn of(grid: &Grid) -> Self {
        let tails: Vec<usize> = (0..grid.columns.len())
            .map(|column| grid.lines.iter().map(|line| tail(&line.entries[column])).max())
            .map(Option::unwrap_or_default)
            .collect();
        let titles = grid.columns.iter().zip(&tails);
        let titles = titles.map(|(path, tail)| path.join(" / ") + &" ".repeat(*tail));
        let header: Vec<String> = grid.stub.iter().cloned().chain(titles).collect();
        let body: Vec<Vec<String>> = grid
            .lines
            .iter()
            .map(|line| {
                let entries = line.entries.iter().zip(&tails);
                let entries = entries.map(|(entry, tail)| text(entry, *tail));
                line.stub.iter().cloned().chain(entries).collect()
            })
            .collect();
        let widths = widths(&header, &body);
        Self { header, body, widths }
    }

    /// Divides the columns of entries so that each part fits beside the stub; a part has at least one.
    fn blocks(&self, stub: usize, room: usize) -> Vec<Range<usize>> {
        let mut blocks: Vec<Range<usize>> = Vec::new();
        let mut start = stub;
        for column in stub..self.widths.len() {
            let grown = start..column + 1;
            if column > start && self.total(stub, &grown) > room {
                blocks.push(start..column);
                start = column;
            }
        }
        blocks.push(start..self.widths.len());
        blocks
    }

    /// Returns the width of the stub with some columns beside it.
    fn total(&self, stub: usize, block: &Range<usize>) -> usize {
        let widths = self.widths[..stub].iter().chain(&self.widths[block.clone()]);
        widths.map(|width| width + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
    }

    /// Returns a line of the stub and some columns.
    fn aligned(&self, cells: &[String], stub: usize, block: &Range<usize>) -> String {
        let part = [&cells[..stub], &cells[block.clone()]].concat();
        let widths = [&self.widths[..stub], &self.widths[block.clone()]].concat();
        aligned(&part, &widths, stub)
    }

    /// Returns the line that names the axes of the columns, from where these begin.
    fn over(&self, stub: usize, axes: &str) -> String {
        let before: usize = self.widths[..stub].iter().map(|width| width + GAP.len()).sum();
        " ".repeat(before) + axes
    }
}

fn widths(header: &[String], lines: &[Vec<String>]) -> Vec<usize> {
    (0..header.len())
        .map(|column| {
            let cells = lines.iter().map(|line| width(&line[column]));
            cells.fold(width(&header[column]), usize::max)
        })
        .collect()
}

/// Lines up columns of words below a ruled header, all to the left. Where they are wider than the
/// room, each line becomes a block of its own: its first word, and below it the others by their
/// titles.
pub fn listing(header: &[&str], lines: &[Vec<String>], room: usize) -> String {
    let titles: Vec<String> = header.iter().map(|&title| title.to_owned()).collect();
    let widths = widths(&titles, lines);
    let total = widths.iter().sum::<usize>() + GAP.len() * (widths.len() - 1);
    if total > room {
        return turned(&titles, lines, room);
    }
    let align = |cells: &[String]| aligned(cells, &widths, cells.len());
    let mut text = vec![align(&titles), "─".repeat(total)];
    text.extend(lines.iter().map(|line| align(line)));
    text.join("\n") + "\n"
}

fn turned(titles: &[String], lines: &[Vec<String>], room: usize) -> String {
    let longest = titles.iter().skip(1).map(|title| width(title)).max().unwrap_or_default();
    let mut text = Vec::new();
    for line in lines {
        text.extend(line.first().into_iter().flat_map(|first| wrapped(first, room)));
        let told = titles.iter().zip(line).skip(1).filter(|(_, cell)| !cell.is_empty());
        text.extend(told.map(|(title, cell)| {
            format!("  {title}{}{GAP}{cell}", " ".repeat(longest - width(title)))
        }));
    }
    text.join("\n") + "\n"
}

/// Breaks a text into lines at spaces.
pub(in crate::report) fn wrapped(text: &str, longest: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let end = lines.len() - 1;
        if lines[end].is_empty() {
            word.clone_into(&mut lines[end]);
        } else if width(&lines[end]) + 1 + width(word) <= longest {
            lines[end] = format!("{} {word}", lines[end]);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Returns the marks after an entry.
fn marks(entry: &Entry) -> String {
    entry.rank().map(star).into_iter().chain(entry.symbol()).collect()
}

/// Returns how much stands after the last digit of an entry: marks or a closing parenthesis.
fn tail(entry: &Entry) -> usize {
    match entry {
        Entry::Published { place: PublishedPlace::Below, .. } => 1,
        _ => width(&marks(entry)),
    }
}

const fn star(rank: Rank) -> char {
    match rank {
        Rank::Best => '*',
        Rank::NotToldApart => '~',
    }
}

/// Writes an entry; where others in its column have a longer tail it gets blanks, so digits line up.
fn text(entry: &Entry, longest: usize) -> String {
    let text = entry.text("±", "–") + &marks(entry);
    match entry.count() {
        Some(n) => format!("{text} (n = {n})"),
        None => text + &" ".repeat(longest - tail(entry)),
    }
}

fn aligned(cells: &[String], widths: &[usize], left: usize) -> String {
    let padded = cells.iter().zip(widths).enumerate().map(|(index, (cell, full))| {
        let blank = " ".repeat(full - width(cell));
        if index < left { format!("{cell}{blank}") } else { format!("{blank}{cell}") }
    });
    padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

/// Counts the terminal columns a text takes.
fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    match c {
        // Combining marks, zero-width characters and variation selectors.
        '\u{300}'..='\u{36f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' => 0,
        // Hangul, CJK, kana, full-width forms and emoji.
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        c if c.is_control() => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tabulate::tests::{tall, wide};

    #[test]
    fn a_wide_table_lines_up() {
        insta::assert_snapshot!(render(&wide()), @"
        Table 1. Estimated dimension, τ = 99%
        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
                      model
        Data set              PCAE             H&E          irmae
        ──────────────────────────────────────────────────────────
        sprites        4.00 ± 0.00*    7.50 ± 0.50~   6.00 ± 0.00~
        (published)   (4.00 ± 0.00)
        3D_shapes      5.00 ± 0.00*    6.00 (n = 1)             –
        (published)                   (6.20 ± 0.40)
        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
        Mean ± population standard deviation (divisor n) over seed, n = 2 unless the cell tells another;
        published numbers as printed. Dimension: lower is better. A dash (–) stands where there is no
        result.
        * best
        ~ not told apart from the best (one-sided exact rank-sum test of the runs, 5 %)
        ");
    }

    #[test]
    fn a_narrow_table_lines_up() {
        insta::assert_snapshot!(render(&tall()), @"
        Table 2. Dimension
        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
        Model     Dimension    Dimension (published)
        ────────────────────────────────────────────
        pcae    4.00 ± 0.00*             4.00 ± 0.00
        hae     7.50 ± 0.50~                    7.40
        irmae   6.00 ± 0.00~
        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
        Mean ± population standard deviation (divisor n) over seed, n = 2; published numbers as printed.
        * best: its runs are nearest to the truth, on average
        ~ not told apart from the best (one-sided exact rank-sum test of the runs, 5 %)
        ");
    }

    #[test]
    fn a_table_that_is_too_wide_is_split_by_its_columns() {
        let narrow = render_within(&wide(), 40);
        assert!(narrow.lines().all(|line| width(line) <= 40), "{narrow}");
        assert_eq!(narrow.matches("Data set").count(), 3, "{narrow}");
        for number in ["4.00 ± 0.00*", "7.50 ± 0.50~", "6.00 ± 0.00~", "(6.20 ± 0.40)"] {
            assert!(narrow.contains(number), "{number} in {narrow}");
        }
    }

    #[test]
    fn a_listing_that_is_too_wide_is_turned() {
        let lines = [vec!["a / b".to_owned(), "4.00 ± 0.10".to_owned(), String::new()]];
        let header = ["cell", "ours", "needs"];
        assert!(listing(&header, &lines, 80).starts_with("cell "));
        assert_eq!(listing(&header, &lines, 20), "a / b\n  ours    4.00 ± 0.10\n");
    }

    #[test]
    fn width_counts_columns_not_bytes_or_characters() {
        assert_eq!(width("4.00 ± 0.00"), 11);
        assert_eq!(width("e\u{301}t"), 2);
        assert_eq!(width("データ"), 6);
    }

    #[test]
    fn a_long_caption_is_broken_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable", 3), ["unbreakable"]);
    }
}
