//! A whole run as one LaTeX document: tables, figures, settings, machine, keys, remarks.
//!
//! Plain data in, text out by the template `document.tex`; whoever has the data fills a
//! [`Document`]. The result compiles as it is
//! with `pdflatex` and the packages that every LaTeX has (`booktabs`, `geometry`, `graphicx`,
//! `longtable`). Tables and figures stand where they are named and never float away; what is wider
//! or taller than the page is shrunk. All text is plain text, whatever characters it has.

use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use crate::report::latex_text::{ascii, escape_breakable};
use crate::report::tables::grid::Grid;
use crate::report::tables::latex;
use crate::report::tables::table::Table;

/// Characters in one line of a listing.
const LISTING_WIDTH: usize = 100;

/// Everything that a report tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What the report is on.
    pub title: String,
    /// Paragraphs before everything else.
    pub introduction: Vec<String>,
    /// What the results amount to, with what to do next.
    pub conclusions: Vec<(String, Vec<String>)>,
    /// Tables, each with the name of its stage.
    pub tables: Vec<(String, Table)>,
    /// Figures.
    pub figures: Vec<DocumentFigure>,
    /// What was found about published numbers.
    pub verdicts: Vec<DocumentVerdict>,
    /// Lists of remarks, such as choices where the paper is silent, each below its title.
    pub notes: Vec<(String, Vec<String>)>,
    /// Settings as plain text, each with the name of what it sets.
    pub settings: Vec<(String, String)>,
    /// What the machine is, by name.
    pub hardware: Vec<(String, String)>,
    /// The runs behind the report.
    pub keys: Vec<DocumentKey>,
}

/// What was found about one published number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentVerdict {
    /// The table and the cell.
    pub place: String,
    /// The published number.
    pub published: String,
    /// The measured number.
    pub ours: String,
    /// The verdict.
    pub text: String,
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

/// Neither this name nor its ending makes the template escape anything: the filter `tex` does.
const TEMPLATE: &str = "document.tex";
const APPENDIX_TEMPLATE: &str = "appendix.tex";

/// Says why a document could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the LaTeX document could not be made: {0}")]
pub struct DocumentError(#[from] minijinja::Error);

/// A document as its template sees it.
#[derive(Debug, Serialize)]
struct View<'a> {
    title: &'a str,
    introduction: &'a [String],
    conclusions: &'a [(String, Vec<String>)],
    tables: Vec<TableView<'a>>,
    verdicts: &'a [DocumentVerdict],
    figures: Vec<FigureView<'a>>,
    notes: &'a [(String, Vec<String>)],
    hardware: &'a [(String, String)],
}

/// An appendix as its template sees it.
#[derive(Debug, Serialize)]
struct AppendixView<'a> {
    settings: Vec<(&'a str, String)>,
    runs: Vec<RunView<'a>>,
}

#[derive(Debug, Serialize)]
struct TableView<'a> {
    label: &'a str,
    caption: &'a str,
    slug: String,
    tabular: Vec<String>,
    notes: Vec<String>,
    sources: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FigureView<'a> {
    label: &'a str,
    caption: &'a str,
    slug: String,
    file: &'a str,
    /// Whether LaTeX can be given the name of the file.
    is_readable: bool,
}

#[derive(Debug, Serialize)]
struct RunView<'a> {
    stage: &'a str,
    kind: &'a str,
    key: &'a str,
    seconds: String,
}

/// Renders the report.
pub fn report(document: &Document) -> Result<String, DocumentError> {
    let view = View {
        title: &document.title,
        introduction: &document.introduction,
        conclusions: &document.conclusions,
        tables: document.tables.iter().map(table).collect(),
        verdicts: &document.verdicts,
        figures: document.figures.iter().map(figure).collect(),
        notes: &document.notes,
        hardware: &document.hardware,
    };
    rendered(TEMPLATE, include_str!("document.tex"), &view)
}

/// Renders the appendix: settings, and the key of every stage.
pub fn appendix(document: &Document) -> Result<String, DocumentError> {
    let settings = document.settings.iter();
    let view = AppendixView {
        settings: settings.map(|(name, text)| (name.as_str(), listing(text))).collect(),
        runs: document.keys.iter().map(run).collect(),
    };
    rendered(APPENDIX_TEMPLATE, include_str!("appendix.tex"), &view)
}

fn rendered(name: &str, template: &str, view: &impl Serialize) -> Result<String, DocumentError> {
    let mut environment = Environment::new();
    environment.add_filter("tex", |text: String| escape_breakable(&text));
    environment.add_filter("braced", |text: String| format!("{{{text}}}"));
    environment.add_template(name, template)?;
    // A template loses the end of its last line.
    Ok(environment.get_template(name)?.render(Value::from(Serde(view)))? + "\n")
}

fn table((stage, table): &(String, Table)) -> TableView<'_> {
    let grid = Grid::of(table);
    TableView {
        label: &table.label,
        caption: &table.caption,
        slug: latex::slug(stage),
        tabular: latex::tabular(&grid),
        notes: latex::notes(&grid),
        sources: latex::sources(table),
    }
}

fn figure(figure: &DocumentFigure) -> FigureView<'_> {
    // LaTeX reads a file name as text, so that one with other characters can't be given to it.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=".contains(c);
    FigureView {
        label: &figure.label,
        caption: &figure.caption,
        slug: latex::slug(&figure.stage),
        file: &figure.file,
        is_readable: figure.file.chars().all(plain),
    }
}

fn run(run: &DocumentKey) -> RunView<'_> {
    let seconds = run.seconds.map_or_else(|| "--".to_owned(), |seconds| format!("{seconds:.1}"));
    RunView { stage: &run.stage, kind: &run.kind, key: &run.key, seconds }
}

/// Returns a text for a listing, with lines that fit on the page.
fn listing(text: &str) -> String {
    let lines: Vec<String> = ascii(text).lines().flat_map(wrapped).collect();
    // The one text that would end the listing.
    lines.join("\n").replace(r"\end{verbatim}", r"\end {verbatim}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_without_content_is_left_out() {
        let empty = report(&Document { title: "T_1".to_owned(), ..Document::default() }).unwrap();
        assert!(empty.contains(r"\title{T\_\allowbreak{}1}"), "{empty}");
        assert!(!empty.contains(r"\section"), "{empty}");
        let keys = vec![DocumentKey {
            stage: "train-0".to_owned(),
            kind: "Train".to_owned(),
            key: "1a2b3c4d".to_owned(),
            seconds: Some(12.34),
        }];
        let document = Document { keys, ..Document::default() };
        assert!(!report(&document).unwrap().contains("1a2b3c4d"), "keys are in the appendix");
        let runs = appendix(&document).unwrap();
        assert!(runs.contains(r"\section{Runs}"), "{runs}");
        assert!(runs.contains(r"& Train & \texttt{1a2b3c4d} & \hfill 12.3 \\"), "{runs}");
    }

    #[test]
    fn a_listing_neither_ends_early_nor_runs_off_the_page() {
        let text = format!("a {}\n\\end{{verbatim}} τ", "word ".repeat(60));
        let settings = vec![("pipeline.ron".to_owned(), text)];
        let listing = appendix(&Document { settings, ..Document::default() }).unwrap();
        let listing = &listing[listing.find(r"\section{Settings}").unwrap()..];
        assert_eq!(listing.matches(r"\end{verbatim}").count(), 1);
        assert!(listing.lines().all(|line| line.len() <= LISTING_WIDTH), "{listing}");
        assert_eq!(listing.matches("word").count(), 60);
        assert!(listing.contains(r"\end {verbatim} tau"), "{listing}");
        assert_eq!(wrapped(&"x".repeat(250)).len(), 3);
    }

    #[test]
    fn a_file_name_that_latex_cant_read_is_told_instead() {
        let named = |file: &str| {
            let figures = vec![DocumentFigure {
                stage: "f".to_owned(),
                file: file.to_owned(),
                caption: String::new(),
                label: String::new(),
            }];
            report(&Document { figures, ..Document::default() }).unwrap()
        };
        assert!(named("a_b-c.png").contains(r"\includegraphics{a_b-c.png}"));
        assert!(!named("a b}.png").contains("includegraphics"));
    }
}
