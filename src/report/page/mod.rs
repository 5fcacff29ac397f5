//! A report as one web page that needs nothing else: no network, no other file.
//!
//! [`render`] takes a [`ReportContent`] and returns the page. Every name, caption, log line and setting is
//! escaped by the template's own rule; the facts of single stages go along as JSON, which the script
//! shows as text and never as markup.

mod families;
mod graph;
mod layout;
mod tables;
pub(crate) mod units;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Serde;
use minijinja::{Environment, HtmlEscape, Value};
use serde::Serialize;

use crate::report::content::{
    Attachment, ConclusionFacts, FigureFacts, Note, ReportContent, StageFacts, Status,
};
use crate::report::figures::TYPEFACES;
use crate::report::markup_text::printable;
use families::{Family, families};
use graph::Graph;
use tables::TableView;

/// The ending of the name makes the template escape everything.
const TEMPLATE: &str = "page.html";

/// A drawing with fewer bytes than this many times its picture's is shown as a drawing.
const DRAWING_OVER_PICTURE: usize = 2;

/// How a drawing begins, up to its width.
const DRAWING: &str = "<svg width=\"";

/// A drawing of more than so many units is wide.
const WIDE: f64 = 640.0;

/// Typefaces that are as narrow as the one by which labels of drawings were placed; others would make
/// them overlap.
const NARROW_TYPEFACES: &str = "Ubuntu, Arial, Liberation Sans, Helvetica, sans-serif";

/// Says why a page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the report page could not be made: {0}")]
pub struct PageError(#[from] minijinja::Error);

/// A page as its template sees it.
#[derive(Debug, Serialize)]
struct Page<'a> {
    pipeline: &'a str,
    file: &'a str,
    program: &'a str,
    /// Seconds after which the page reloads itself.
    refresh: Option<u32>,
    when: Option<String>,
    totals: Vec<Total>,
    conclusions: Vec<ConclusionView<'a>>,
    tables: Vec<TableView>,
    figures: Vec<FigureView<'a>>,
    graph: Graph,
    statuses: Vec<&'static str>,
    notes: &'a [Note],
    machines: Vec<MachineView<'a>>,
    settings: &'a str,
    style: Value,
    script: Value,
    facts: Value,
}

#[derive(Debug, Serialize)]
struct Total {
    number: String,
    what: String,
}

/// A file that the page carries.
#[derive(Debug, Serialize)]
struct Download {
    name: String,
    address: Value,
}

#[derive(Debug, Serialize)]
struct ConclusionView<'a> {
    /// The stage, where there are several.
    stage: Option<&'a str>,
    answer: &'a str,
    sentences: &'a [String],
    next: &'a [String],
}

#[derive(Debug, Serialize)]
struct FigureView<'a> {
    stage: &'a str,
    label: &'a str,
    caption: &'a str,
    picture: Value,
    /// Whether it would be too small on a narrow page.
    is_wide: bool,
}

#[derive(Debug, Serialize)]
struct MachineView<'a> {
    processor: &'a str,
    cores: usize,
    device: &'a str,
    stages: usize,
    time: String,
    memory: Option<String>,
}

/// What the script shows of a stage.
#[derive(Debug, Serialize)]
struct Member<'a> {
    name: &'a str,
    status: &'static str,
    key: Option<&'a str>,
    digest: Option<&'a str>,
    why: &'a str,
    time: Option<String>,
    finished: Option<String>,
    machine: Option<String>,
    inputs: &'a [usize],
    settings: &'a str,
    log: &'a [String],
}

/// What the script shows of a family.
#[derive(Debug, Serialize)]
struct FamilyFacts<'a> {
    name: &'a str,
    kind: &'a str,
    members: &'a [usize],
}

/// Renders a page; with `refresh` it reloads itself after so many seconds.
pub fn render(content: &ReportContent, refresh: Option<u32>) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.add_filter("code", with_code);
    environment.add_template(TEMPLATE, include_str!("page.html"))?;
    let families = families(&content.stages);
    let page = Page {
        pipeline: &content.pipeline,
        file: &content.file,
        program: &content.program,
        refresh,
        when: content.finished().map(units::date),
        totals: totals(content),
        conclusions: conclusions(&content.conclusions),
        tables: content.tables.iter().map(TableView::of).collect(),
        figures: content.figures.iter().filter_map(figure).collect(),
        graph: Graph::of(&families),
        statuses: content.statuses().into_keys().map(Status::word).collect(),
        notes: &content.notes,
        machines: machines(content),
        settings: &content.text,
        style: Value::from_safe_string(include_str!("page.css").to_owned()),
        script: Value::from_safe_string(include_str!("page.js").to_owned()),
        facts: Value::from_safe_string(facts(content, &families)),
    };
    Ok(printable(environment.get_template(TEMPLATE)?.render(Value::from(Serde(&page)))?))
}

fn totals(content: &ReportContent) -> Vec<Total> {
    let total = |number: String, what: &str| Total { number, what: what.to_owned() };
    let counted = |count: usize, one: &str, many: &str| {
        total(count.to_string(), if count == 1 { one } else { many })
    };
    let done = content.stages.iter().filter(|stage| stage.status.is_done()).count();
    let all = content.stages.len();
    let stages = if done == all { all.to_string() } else { format!("{done} of {all}") };
    let mut totals = vec![
        total(stages, if all == 1 { "stage done" } else { "stages done" }),
        total(units::duration(content.seconds()), "compute time"),
    ];
    if !content.tables.is_empty() {
        totals.push(counted(content.tables.len(), "table", "tables"));
    }
    if !content.figures.is_empty() {
        totals.push(counted(content.figures.len(), "figure", "figures"));
    }
    totals
}

fn conclusions(all: &[ConclusionFacts]) -> Vec<ConclusionView<'_>> {
    let mut views = Vec::new();
    for ConclusionFacts { stage, conclusion } in all {
        if let Some((answer, sentences)) = conclusion.sentences.split_first() {
            let stage = (all.len() > 1).then_some(stage.as_str());
            views.push(ConclusionView { stage, answer, sentences, next: &conclusion.next });
        }
    }
    views
}

/// Chooses the drawing unless the picture is far smaller, as photographs are.
fn figure(facts: &FigureFacts) -> Option<FigureView<'_>> {
    let ending = |ending: &str| facts.files.iter().find(|file| file.name.ends_with(ending));
    let chosen = match (ending(".svg"), ending(".png")) {
        (Some(drawing), Some(picture))
            if drawing.bytes.len() > DRAWING_OVER_PICTURE * picture.bytes.len() =>
        {
            picture
        }
        (Some(only), _) | (None, Some(only)) => only,
        (None, None) => return None,
    };
    Some(FigureView {
        stage: &facts.stage,
        label: &facts.label,
        caption: &facts.caption,
        picture: data_address(&on_page(chosen)),
        is_wide: drawn_width(chosen).is_some_and(|width| width > WIDE),
    })
}

/// Returns a picture as the page shows it: drawings have no typefaces with them.
fn on_page(file: &Attachment) -> Cow<'_, Attachment> {
    match str::from_utf8(&file.bytes) {
        Ok(drawing) if drawing.starts_with(DRAWING) => {
            let bytes = drawing.replace(TYPEFACES, NARROW_TYPEFACES).into_bytes();
            Cow::Owned(Attachment { name: file.name.clone(), bytes })
        }
        _ => Cow::Borrowed(file),
    }
}

/// Returns the width of a drawing; none for other pictures.
fn drawn_width(file: &Attachment) -> Option<f64> {
    let (width, _) = str::from_utf8(&file.bytes).ok()?.strip_prefix(DRAWING)?.split_once('"')?;
    width.parse().ok()
}

/// Escapes a text, and marks what is between two backticks as code.
fn with_code(text: &str) -> Value {
    let escaped = HtmlEscape(text).to_string();
    let parts: Vec<&str> = escaped.split('`').collect();
    // The last one of an odd number of backticks is only itself.
    if parts.len().is_multiple_of(2) {
        return Value::from_safe_string(escaped);
    }
    let marked = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    });
    Value::from_safe_string(marked.collect())
}

fn machines(content: &ReportContent) -> Vec<MachineView<'_>> {
    let machines = content.machines().into_iter();
    machines
        .map(|(machine, work)| MachineView {
            processor: &machine.processor,
            cores: machine.cores,
            device: &machine.device,
            stages: work.stages,
            time: units::duration(work.seconds),
            memory: work.peak_memory.map(units::megabytes),
        })
        .collect()
}

/// Returns the facts of single stages as JSON that can't end the script element around it.
fn facts(content: &ReportContent, families: &[Family<'_>]) -> String {
    let families: Vec<_> = families
        .iter()
        .map(|family| FamilyFacts {
            name: family.name,
            kind: family.kind,
            members: &family.members,
        })
        .collect();
    let stages: Vec<_> = content.stages.iter().map(member).collect();
    let mut facts = serde_json::json!({ "families": families, "stages": stages });
    show_control_characters(&mut facts);
    facts.to_string().replace('<', "\\u003c")
}

/// JSON writes control characters as escapes, which the script would put into the page.
fn show_control_characters(facts: &mut serde_json::Value) {
    match facts {
        serde_json::Value::String(text) => *text = printable(std::mem::take(text)),
        serde_json::Value::Array(items) => items.iter_mut().for_each(show_control_characters),
        serde_json::Value::Object(map) => map.values_mut().for_each(show_control_characters),
        _ => {}
    }
}

fn member(stage: &StageFacts) -> Member<'_> {
    let run = stage.run.as_ref();
    Member {
        name: &stage.name,
        status: stage.status.word(),
        key: stage.key.as_deref(),
        digest: stage.digest.as_deref(),
        why: &stage.why,
        time: run.map(|run| units::duration(run.seconds)),
        finished: run.map(|run| units::date(run.finished)),
        machine: run.map(|run| {
            let threads = if run.threads == 1 { "thread" } else { "threads" };
            let mut parts = vec![format!("{} {threads}", run.threads)];
            parts.extend(run.peak_memory.map(units::megabytes));
            let names = [&run.machine.device, &run.machine.processor];
            parts.extend(names.into_iter().filter(|name| !name.is_empty()).cloned());
            parts.join(", ")
        }),
        inputs: &stage.inputs,
        settings: &stage.settings,
        log: &stage.log,
    }
}

/// Returns an address that holds the file itself.
fn data_address(file: &Attachment) -> Value {
    let kind = match file.name.rsplit('.').next() {
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("csv") => "text/csv;charset=utf-8",
        Some("md") => "text/markdown;charset=utf-8",
        Some("tex") => "application/x-tex;charset=utf-8",
        _ => "application/octet-stream",
    };
    // Nothing in it needs to be escaped.
    Value::from_safe_string(format!("data:{kind};base64,{}", STANDARD.encode(&file.bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::conclusion::Conclusion;
    use crate::report::content::TableFacts;
    use crate::report::content::tests::stage;
    use crate::report::tables::tabulate::tests::wide;

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&";

    fn hostile() -> ReportContent {
        let mut bad = stage(HOSTILE, HOSTILE, &[]);
        bad.kind = HOSTILE.to_owned();
        bad.why = HOSTILE.to_owned();
        bad.settings = HOSTILE.to_owned();
        bad.log = vec![HOSTILE.to_owned()];
        if let Some(run) = &mut bad.run {
            run.machine.processor = HOSTILE.to_owned();
        }
        let mut table = wide();
        table.caption = HOSTILE.to_owned();
        table.rows[0].labels[0].title = HOSTILE.to_owned();
        let file =
            |name: &str, length| Attachment { name: name.to_owned(), bytes: vec![7; length] };
        ReportContent {
            pipeline: HOSTILE.to_owned(),
            file: HOSTILE.to_owned(),
            text: HOSTILE.to_owned(),
            program: "pcae-run".to_owned(),
            stages: vec![bad, stage("b", "b", &[0])],
            conclusions: vec![ConclusionFacts {
                stage: HOSTILE.to_owned(),
                conclusion: Conclusion {
                    low: Some(3.5),
                    high: None,
                    rules: Vec::new(),
                    sentences: vec![HOSTILE.to_owned(), HOSTILE.to_owned()],
                    next: vec![HOSTILE.to_owned()],
                },
            }],
            tables: vec![TableFacts {
                stage: HOSTILE.to_owned(),
                table,
                verdicts: Vec::new(),
                files: vec![file("t.csv", 3)],
            }],
            figures: vec![FigureFacts {
                stage: "f".to_owned(),
                label: HOSTILE.to_owned(),
                caption: HOSTILE.to_owned(),
                files: vec![file("f.png", 10), file("f.svg", 500)],
            }],
            notes: vec![Note { title: HOSTILE.to_owned(), items: vec![HOSTILE.to_owned()] }],
        }
    }

    #[test]
    fn nothing_a_user_wrote_is_markup() {
        let page = render(&hostile(), None).unwrap();
        assert!(!page.contains("<img src=x"), "a hostile text became an element");
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    }

    #[test]
    fn control_characters_are_shown_and_never_sent_to_the_browser() {
        let mut content = hostile();
        let escape = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}";
        content.stages[0].log = vec![escape.to_owned()];
        content.tables[0].table.caption = escape.to_owned();
        content.figures[0].caption = escape.to_owned();
        content.text = escape.to_owned();
        let page = render(&content, None).unwrap();
        assert!(page.matches("␛]0;title␇").count() >= 4);
        assert!(!page.contains("\\u001b") && !page.contains("\\u0007"));
        let is_bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!page.contains(is_bad));
    }

    #[test]
    fn the_page_refers_to_nothing_outside() {
        let page = render(&hostile(), None).unwrap();
        for reference in ["http://", "https://", "url(", "@import", "<link"] {
            assert!(!page.contains(reference), "the page contains {reference}");
        }
        assert!(page.contains(r#"download="t.csv" href="data:text/csv"#));
        assert!(page.contains("src=\"data:image/png;base64,"), "the far smaller picture is shown");
    }

    #[test]
    fn names_in_backticks_are_code_and_still_no_markup() {
        let marked = |text: &str| with_code(text).to_string();
        assert_eq!(
            marked("lower `beta`, or `a<b`"),
            "lower <code>beta</code>, or <code>a&lt;b</code>"
        );
        assert_eq!(marked("a lone ` stays"), "a lone ` stays");
        assert_eq!(marked("none & nothing"), "none &amp; nothing");
    }

    #[test]
    fn a_drawing_gets_typefaces_that_fit_and_a_wide_one_is_scrolled() {
        let file = |text: &str| Attachment { name: "f.svg".to_owned(), bytes: text.into() };
        let drawn = |width: &str| {
            file(&format!("<svg width=\"{width}\"><text font-family=\"{TYPEFACES}\"/>"))
        };
        let shown = on_page(&drawn("1016")).bytes.clone();
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains(NARROW_TYPEFACES) && !shown.contains(TYPEFACES), "{shown}");
        assert_eq!(drawn_width(&drawn("1016")), Some(1016.0));
        assert_eq!(drawn_width(&file("PNG")), None);
    }

    #[test]
    fn only_a_watched_page_reloads_itself() {
        assert!(!render(&hostile(), None).unwrap().contains("http-equiv=\"refresh\""));
        let watched = render(&hostile(), Some(2)).unwrap();
        assert!(watched.contains(r#"<meta http-equiv="refresh" content="2">"#));
    }

    #[test]
    fn a_thousand_stages_fit_into_three_megabytes() {
        let mut stages = vec![stage("data", "data", &[])];
        for number in 0..1000 {
            let mut member = stage(&format!("train-{number}"), "train-{n}", &[0]);
            member.settings = "x".repeat(700);
            member.log = vec!["y".repeat(60); 20];
            stages.push(member);
        }
        let page = render(&ReportContent { stages, ..ReportContent::default() }, None).unwrap();
        assert!(page.len() < 3_000_000, "{} bytes", page.len());
        assert_eq!(page.matches("class=\"node ").count(), 2);
    }
}
