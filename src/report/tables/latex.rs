//! A table as LaTeX with booktabs, for `\input` into any document.
//!
//! Needs `\usepackage{booktabs}` and nothing else. All text of the declaration is plain text. The
//! comments at the end tell which records each number was made of.

use crate::report::latex_text::ascii;
use crate::report::tables::grid::{Entry, Grid, Line};
use crate::report::tables::marks::Rank;
use crate::report::tables::notes::Mark;
use crate::report::tables::table::Table;

pub use crate::report::latex_text::escape;

/// Renders a table as a floating `table` environment.
pub fn render(table: &Table) -> String {
    let grid = Grid::of(table);
    let mut lines = vec![
        r"\begin{table}[htbp]".to_owned(),
        r"  \centering".to_owned(),
        format!(r"  \caption{{{}}}", escape(&table.caption)),
        format!(r"  \label{{tab:{}}}", slug(&table.label)),
    ];
    lines.extend(tabular(&grid).into_iter().map(|line| format!("  {line}")));
    lines.extend(notes(&grid).into_iter().map(|line| format!("  {line}")));
    lines.push(r"\end{table}".to_owned());
    lines.extend(sources(table));
    lines.join("\n") + "\n"
}

/// Renders the lines of a table without caption and notes.
pub(in crate::report) fn tabular(grid: &Grid) -> Vec<String> {
    let alignment = "l".repeat(grid.stub.len()) + &"r".repeat(grid.columns.len());
    let mut lines = vec![format!(r"\begin{{tabular}}{{{alignment}}}"), r"  \toprule".to_owned()];
    lines.extend(header(grid));
    lines.push(r"  \midrule".to_owned());
    for line in &grid.lines {
        if line.opens_group {
            lines.push(r"  \addlinespace".to_owned());
        }
        lines.push(body(line));
    }
    lines.push(r"  \bottomrule".to_owned());
    lines.push(r"\end{tabular}".to_owned());
    lines
}

/// Renders what stands below a table, one paragraph each.
pub(in crate::report) fn notes(grid: &Grid) -> Vec<String> {
    let notes = grid.note.iter().chain(&grid.remarks).map(|note| escape(note));
    let legend = grid.legend.iter().map(|(mark, told)| {
        let mark = match mark {
            Mark::Rank(rank) => emphasized(rank.typeface(), Some(*rank)) + ":",
            Mark::Unjudged(reason) => escape(&reason.symbol().to_string()),
        };
        format!("{mark} {}", escape(told))
    });
    let lines = notes.chain(legend);
    lines.map(|line| format!(r"\par\smallskip{{\footnotesize {line}\par}}")).collect()
}

/// Tells the records behind each cell, as comments.
pub(in crate::report) fn sources(table: &Table) -> Vec<String> {
    let mut comments = Vec::new();
    for row in &table.rows {
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let digests: Vec<&str> = cell
                .sources
                .iter()
                .filter_map(|source| table.runs.get(*source))
                .map(|run| run.digest.as_str())
                .collect();
            if digests.is_empty() {
                continue;
            }
            let labels = row.labels.iter().chain(&column.labels).chain([&column.value]);
            let labels: Vec<&str> = labels.map(|label| label.name.as_str()).collect();
            let cell = ascii(&labels.join("/")).replace('\n', " ");
            comments.push(format!("% cell: {cell} <- {}", digests.join(", ")));
        }
    }
    if !comments.is_empty() {
        comments.insert(0, "% digests of the records behind each cell".to_owned());
    }
    comments
}

/// Turns a paper's label into a reference key: `Table 1` becomes `table-1`.
pub(in crate::report) fn slug(label: &str) -> String {
    let lower = label.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn row(cells: &[String]) -> String {
    let cells = cells.join(" & ");
    // After a rule or a line end, LaTeX would read `[` and `*` as the start of an option.
    let guard = if cells.starts_with(['[', '*']) { "{}" } else { "" };
    format!(r"  {guard}{cells} \\")
}

fn header(grid: &Grid) -> Vec<String> {
    let depth = grid.columns.iter().map(Vec::len).max().unwrap_or_default();
    let mut lines = Vec::new();
    for level in 0..depth.saturating_sub(1) {
        let mut cells = vec![String::new(); grid.stub.len()];
        let mut rules = Vec::new();
        let mut first = grid.stub.len() + 1;
        for group in grid.columns.chunk_by(|a, b| a[..=level] == b[..=level]) {
            let last = first + group.len() - 1;
            let title = escape(&group[0][level]);
            cells.push(format!(r"\multicolumn{{{}}}{{c}}{{{title}}}", group.len()));
            rules.push(format!(r"\cmidrule(lr){{{first}-{last}}}"));
            first = last + 1;
        }
        lines.push(row(&cells));
        lines.push(format!("  {}", rules.join(" ")));
    }
    let innermost = grid.columns.iter().filter_map(|path| path.last());
    let cells: Vec<String> = grid.stub.iter().chain(innermost).map(|text| escape(text)).collect();
    lines.push(row(&cells));
    lines
}

fn body(line: &Line) -> String {
    let stub = line.stub.iter().map(|label| escape(label));
    row(&stub.chain(line.entries.iter().map(entry)).collect::<Vec<_>>())
}

fn entry(entry: &Entry) -> String {
    let text = number(entry, r"$\pm$");
    let symbol = entry.symbol().map(|symbol| escape(&symbol.to_string()));
    match (text.strip_suffix(')'), entry.count(), symbol) {
        // Let what follows the digits hang, so that they line up with those above.
        (Some(open), ..) => format!(r"{open}\rlap{{)}}"),
        (None, None, Some(symbol)) => format!(r"{text}\rlap{{{symbol}}}"),
        (None, Some(n), symbol) => {
            format!(r"{text}{} {{\scriptsize ($n={n}$)}}", symbol.unwrap_or_default())
        }
        (None, None, None) => text,
    }
}

/// Writes an entry with a plus-minus sign of choice, bold where it is best.
fn number(entry: &Entry, plus_minus: &str) -> String {
    emphasized(&entry.text(plus_minus, "--"), entry.rank())
}

fn emphasized(text: &str, rank: Option<Rank>) -> String {
    match rank {
        Some(Rank::Best) => format!(r"\textbf{{{text}}}"),
        Some(Rank::NotToldApart) => format!(r"\textit{{{text}}}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;
    use crate::report::tables::tabulate::tabulate;
    use crate::report::tables::tabulate::tests::{spec, tall, wide};

    #[test]
    fn a_wide_table_sets_published_numbers_below_in_parentheses() {
        insta::assert_snapshot!(render(&wide()), @r"
        \begin{table}[htbp]
          \centering
          \caption{Estimated dimension, $\tau$ = 99\%}
          \label{tab:table-1}
          \begin{tabular}{lrrr}
            \toprule
            Data set & PCAE & H\&E & irmae \\
            \midrule
            sprites & \textbf{4.00 $\pm$ 0.00} & \textit{7.50 $\pm$ 0.50} & \textit{6.00 $\pm$ 0.00} \\
            (published) & (4.00 $\pm$ 0.00\rlap{)} &  &  \\
            3D\_shapes & \textbf{5.00 $\pm$ 0.00} & 6.00 {\scriptsize ($n=1$)} & -- \\
            (published) &  & (6.20 $\pm$ 0.40\rlap{)} &  \\
            \bottomrule
          \end{tabular}
          \par\smallskip{\footnotesize Mean $\pm$ population standard deviation (divisor n) over seed, n = 2 unless the cell tells another; published numbers as printed. Dimension: lower is better. A dash (--) stands where there is no result.\par}
          \par\smallskip{\footnotesize \textbf{bold}: best\par}
          \par\smallskip{\footnotesize \textit{italic}: not told apart from the best (one-sided exact rank-sum test of the runs, 5 \%)\par}
        \end{table}
        ");
    }

    #[test]
    fn a_narrow_table_gives_published_numbers_their_own_column() {
        insta::assert_snapshot!(render(&tall()), @r"
        \begin{table}[htbp]
          \centering
          \caption{Dimension}
          \label{tab:table-2}
          \begin{tabular}{lrr}
            \toprule
            Model & Dimension & Dimension (published) \\
            \midrule
            pcae & \textbf{4.00 $\pm$ 0.00} & 4.00 $\pm$ 0.00 \\
            hae & \textit{7.50 $\pm$ 0.50} & 7.40 \\
            irmae & \textit{6.00 $\pm$ 0.00} &  \\
            \bottomrule
          \end{tabular}
          \par\smallskip{\footnotesize Mean $\pm$ population standard deviation (divisor n) over seed, n = 2; published numbers as printed.\par}
          \par\smallskip{\footnotesize \textbf{bold}: best: its runs are nearest to the truth, on average\par}
          \par\smallskip{\footnotesize \textit{italic}: not told apart from the best (one-sided exact rank-sum test of the runs, 5 \%)\par}
        \end{table}
        ");
    }

    #[test]
    fn several_values_under_column_labels_get_a_spanning_header() {
        let text = r#"(caption: "c", label: "l", rows: ["set", "tau"], columns: ["model"],
            values: [Value(field: "x", title: "X"), Value(field: "y", title: "Y", digits: 0)])"#;
        let at = |set, tau, model| {
            let labels = [("set", set), ("tau", tau), ("model", model)];
            record(&labels, &[("x", 1.0), ("y", 2.0)])
        };
        let records = [at("a", "1", "p"), at("a", "1", "q"), at("a", "2", "p"), at("b", "1", "q")];
        insta::assert_snapshot!(render(&tabulate(&spec(text), &records).unwrap()), @r"
        \begin{table}[htbp]
          \centering
          \caption{c}
          \label{tab:l}
          \begin{tabular}{llrrrr}
            \toprule
             &  & \multicolumn{2}{c}{p} & \multicolumn{2}{c}{q} \\
            \cmidrule(lr){3-4} \cmidrule(lr){5-6}
            set & tau & X & Y & X & Y \\
            \midrule
            a & 1 & 1.00 & 2 & 1.00 & 2 \\
             & 2 & 1.00 & 2 & -- & -- \\
            \addlinespace
            b & 1 & -- & -- & 1.00 & 2 \\
            \bottomrule
          \end{tabular}
          \par\smallskip{\footnotesize A dash (--) stands where there is no result.\par}
        \end{table}
        ");
    }

    #[test]
    fn a_row_that_starts_like_an_option_is_guarded() {
        assert_eq!(row(&["[a]".to_owned(), "1".to_owned()]), r"  {}[a] & 1 \\");
        assert_eq!(row(&["a".to_owned()]), r"  a \\");
    }
}
