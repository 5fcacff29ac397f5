//! A whole run as one LaTeX document: tables, figures, settings, machine, keys, remarks.
//!
//! Plain data in, text out; whoever has the data fills a [`Document`]. The result compiles as it is
//! with `pdflatex` and the packages that every LaTeX has (`booktabs`, `geometry`, `graphicx`,
//! `longtable`). Tables and figures stand where they are named and never float away; what is wider
//! or taller than the page is shrunk. All text is plain text, whatever characters it has.

use crate::report::grid::Grid;
use crate::report::latex;
use crate::report::latex_text::{ascii, escape_breakable};
use crate::report::table::Table;

/// Characters in one line of a listing.
const LISTING_WIDTH: usize = 100;

/// Everything that a report tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What the report is on.
    pub title: String,
    /// Paragraphs before everything else.
    pub introduction: Vec<String>,
    /// Tables, each with the name of its stage.
    pub tables: Vec<(String, Table)>,
    /// Figures.
    pub figures: Vec<DocumentFigure>,
    /// Lists of remarks, such as choices where the paper is silent, each below its title.
    pub notes: Vec<(String, Vec<String>)>,
    /// Settings as plain text, each with the name of what it sets.
    pub settings: Vec<(String, String)>,
    /// What the machine is, by name.
    pub hardware: Vec<(String, String)>,
    /// The runs behind the report.
    pub keys: Vec<DocumentKey>,
}

/// A figure in a file beside the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFigure {
    /// The stage that drew it.
    pub stage: String,
    /// Where it is, seen from the report: a PNG, JPEG or PDF file.
    pub file: String,
    /// What it shows.
    pub caption: String,
    /// What it is called in the paper.
    pub label: String,
}

/// One run behind a report.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentKey {
    /// The stage.
    pub stage: String,
    /// Its kind.
    pub kind: String,
    /// The first digits of its key.
    pub key: String,
    /// How long it took, if that is known.
    pub seconds: Option<f64>,
}

const PREAMBLE: &str = r"\documentclass[11pt]{article}
\usepackage[a4paper,margin=2.2cm]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{longtable}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5\baselineskip}
\setlength{\emergencystretch}{3em}
% Sets a table or picture as it is, or shrinks it to what fits on a page.
\newsavebox{\fittedbox}
\newcommand{\fitted}[1]{%
  \sbox{\fittedbox}{#1}%
  \ifdim\wd\fittedbox>\linewidth
    \sbox{\fittedbox}{\resizebox{\linewidth}{!}{\usebox{\fittedbox}}}%
  \fi
  \ifdim\dimexpr\ht\fittedbox+\dp\fittedbox\relax>0.8\textheight
    \sbox{\fittedbox}{\resizebox{!}{0.8\textheight}{\usebox{\fittedbox}}}%
  \fi
  \usebox{\fittedbox}}
% A caption without a float around it, so that everything stays in order.
\makeatletter
\newenvironment{shown}[1]
  {\par\bigskip\noindent\begin{minipage}{\linewidth}\centering\def\@captype{#1}}
  {\end{minipage}\par\bigskip}
% Calls it what the paper calls it, instead of counting.
\newcommand{\called}[1]{\@namedef{fnum@\@captype}{#1}}
\makeatother
";

/// Renders the report.
pub fn report(document: &Document) -> String {
    let mut lines = vec![
        PREAMBLE.to_owned(),
        format!(r"\title{{{}}}", escape_breakable(&document.title)),
        r"\author{}".to_owned(),
        r"\date{}".to_owned(),
        r"\begin{document}".to_owned(),
        r"\maketitle".to_owned(),
    ];
    lines.extend(document.introduction.iter().map(|text| escape_breakable(text) + "\n"));
    section(&mut lines, "Tables", document.tables.iter().map(table));
    section(&mut lines, "Figures", document.figures.iter().map(figure));
    for (title, items) in &document.notes {
        section(&mut lines, title, (!items.is_empty()).then(|| list(items)));
    }
    section(&mut lines, "Settings", document.settings.iter().map(settings));
    section(&mut lines, "Hardware", pairs(&document.hardware));
    section(&mut lines, "Runs", keys(&document.keys));
    lines.push(r"\end{document}".to_owned());
    lines.join("\n") + "\n"
}

/// Adds a section unless it would be empty.
fn section(lines: &mut Vec<String>, title: &str, parts: impl IntoIterator<Item = String>) {
    let mut parts = parts.into_iter().peekable();
    if parts.peek().is_some() {
        lines.push(format!("\n\\section{{{}}}", escape_breakable(title)));
        lines.extend(parts);
    }
}

fn table((stage, table): &(String, Table)) -> String {
    let grid = Grid::of(table);
    let mut lines = vec![
        r"\begin{shown}{table}".to_owned(),
        caption(&table.label, &table.caption),
        format!(r"\label{{tab:{}}}", latex::slug(stage)),
        r"\fitted{%".to_owned(),
    ];
    lines.extend(latex::tabular(&grid));
    lines.push("}".to_owned());
    lines.extend(latex::notes(&grid));
    lines.push(r"\end{shown}".to_owned());
    lines.extend(latex::sources(table));
    lines.join("\n")
}

/// Writes a caption, under the name that the paper has for it if there is one.
fn caption(label: &str, caption: &str) -> String {
    let called = if label.is_empty() {
        String::new()
    } else {
        format!("\\called{{{}}}\n", escape_breakable(label))
    };
    format!("{called}\\caption{{{}}}", escape_breakable(caption))
}

fn figure(figure: &DocumentFigure) -> String {
    let file = &figure.file;
    // LaTeX reads a file name as text, so that one with other characters can't be given to it.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=".contains(c);
    let name = escape_breakable(file);
    let picture = if file.chars().all(plain) {
        format!(
            "\\IfFileExists{{{file}}}{{\\fitted{{\\includegraphics{{{file}}}}}}}\
             {{(the file {name} is not here)}}"
        )
    } else {
        format!("(LaTeX can't open a file named {name})")
    };
    [
        r"\begin{shown}{figure}".to_owned(),
        picture,
        caption(&figure.label, &figure.caption),
        format!(r"\label{{fig:{}}}", latex::slug(&figure.stage)),
        r"\end{shown}".to_owned(),
    ]
    .join("\n")
}

fn list(items: &[String]) -> String {
    // An item that begins with a bracket would be read as an option.
    let items = items.iter().map(|item| format!("  \\item {{}}{}", escape_breakable(item)));
    let items: Vec<String> = items.collect();
    format!("\\begin{{itemize}}\n{}\n\\end{{itemize}}", items.join("\n"))
}

fn settings((name, text): &(String, String)) -> String {
    let lines: Vec<String> = ascii(text).lines().flat_map(wrapped).collect();
    // The one text that would end the listing.
    let listing = lines.join("\n").replace(r"\end{verbatim}", r"\end {verbatim}");
    format!(
        "\\subsection*{{{}}}\n{{\\footnotesize\n\\begin{{verbatim}}\n{listing}\n\\end{{verbatim}}\n}}",
        escape_breakable(name)
    )
}

/// Breaks a line of a listing, at a space where there is one; the rest is indented further.
fn wrapped(line: &str) -> Vec<String> {
    let mut rest = line.trim_end().to_owned();
    let indent = rest.len() - rest.trim_start().len();
    let further = " ".repeat(indent.min(LISTING_WIDTH / 2) + 4);
    let mut lines = Vec::new();
    while rest.len() > LISTING_WIDTH {
        let least = further.len() + LISTING_WIDTH / 4;
        let space = rest[..LISTING_WIDTH].rfind(' ').filter(|at| *at > least);
        let tail = rest.split_off(space.unwrap_or(LISTING_WIDTH));
        lines.push(rest);
        rest = format!("{further}{}", tail.trim_start());
    }
    lines.push(rest);
    lines
}

fn pairs(pairs: &[(String, String)]) -> Option<String> {
    let row = |(name, value): &(String, String)| {
        format!("{{}}{} & {} \\\\", escape_breakable(name), escape_breakable(value))
    };
    let rows: Vec<String> = pairs.iter().map(row).collect();
    let columns = [0.28, 0.64].map(paragraph).concat();
    (!rows.is_empty()).then(|| {
        format!("\\begin{{longtable}}{{{columns}}}\n{}\n\\end{{longtable}}", rows.join("\n"))
    })
}

/// Returns a column of text that takes a share of the line.
fn paragraph(share: f64) -> String {
    format!(r"p{{{share}\linewidth}}")
}

fn keys(keys: &[DocumentKey]) -> Option<String> {
    let row = |run: &DocumentKey| {
        let seconds =
            run.seconds.map_or_else(|| "--".to_owned(), |seconds| format!("{seconds:.1}"));
        let [stage, kind] = [&run.stage, &run.kind].map(|text| escape_breakable(text));
        let key = escape_breakable(&run.key);
        format!("{{}}{stage} & {kind} & \\texttt{{{key}}} & \\hfill {seconds} \\\\")
    };
    let rows: Vec<String> = keys.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        [
            r"{\small".to_owned(),
            // Columns of given widths are right after one run of LaTeX.
            format!(r"\begin{{longtable}}{{{}}}", [0.48, 0.18, 0.12, 0.1].map(paragraph).concat()),
            r"\toprule Stage & Kind & Key & \hfill Seconds \\ \midrule \endhead".to_owned(),
            r"\bottomrule \endfoot".to_owned(),
            rows.join("\n"),
            r"\end{longtable}".to_owned(),
            "}".to_owned(),
        ]
        .join("\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_without_content_is_left_out() {
        let empty = report(&Document { title: "T_1".to_owned(), ..Document::default() });
        assert!(empty.contains(r"\title{T\_\allowbreak{}1}"), "{empty}");
        assert!(!empty.contains(r"\section"), "{empty}");
        let keys = vec![DocumentKey {
            stage: "train-0".to_owned(),
            kind: "Train".to_owned(),
            key: "1a2b3c4d".to_owned(),
            seconds: Some(12.34),
        }];
        let runs = report(&Document { keys, ..Document::default() });
        assert!(runs.contains(r"\section{Runs}"), "{runs}");
        assert!(runs.contains(r"& Train & \texttt{1a2b3c4d} & \hfill 12.3 \\"), "{runs}");
    }

    #[test]
    fn a_listing_neither_ends_early_nor_runs_off_the_page() {
        let text = format!("a {}\n\\end{{verbatim}} τ", "word ".repeat(60));
        let listing = settings(&("pipeline.ron".to_owned(), text));
        assert_eq!(listing.matches(r"\end{verbatim}").count(), 1);
        assert!(listing.lines().all(|line| line.len() <= LISTING_WIDTH), "{listing}");
        assert_eq!(listing.matches("word").count(), 60);
        assert!(listing.contains(r"\end {verbatim} tau"), "{listing}");
        assert_eq!(wrapped(&"x".repeat(250)).len(), 3);
    }

    #[test]
    fn a_file_name_that_latex_cant_read_is_told_instead() {
        let named = |file: &str| {
            figure(&DocumentFigure {
                stage: "f".to_owned(),
                file: file.to_owned(),
                caption: String::new(),
                label: String::new(),
            })
        };
        assert!(named("a_b-c.png").contains(r"\includegraphics{a_b-c.png}"));
        assert!(!named("a b}.png").contains("includegraphics"));
    }
}
