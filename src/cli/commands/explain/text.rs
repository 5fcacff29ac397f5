//! Topics and fields as text for a terminal.

use super::language::{WORDS, Word};
use super::schema::{Document, Field, Form, Variant};
use super::topics::{Place, Topic};

/// Columns that a line may take.
const WIDTH: usize = 98;

/// The words of the language and the stage kinds, one line each.
pub(super) fn overview(document: &Document, topics: &[Topic<'_>]) -> String {
    let words = WORDS.iter().map(|word| (word.name, first_paragraph(word.about)));
    let words: Vec<_> = words.collect();
    let kinds = topics.iter().filter(|topic| topic.is_kind());
    let kinds = kinds.map(|kind| (kind.variant.name, first_paragraph(kind.about(document).0)));
    let kinds: Vec<_> = kinds.collect();
    let widest = words.iter().chain(&kinds).map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines = |entries: &[(&str, String)]| -> String {
        let line = |(name, about): &(&str, String)| format!("  {name:<widest$}  {about}\n");
        entries.iter().map(line).collect::<Vec<_>>().concat()
    };
    format!(
        "The language:\n{}\nStage kinds:\n{}\n\
         `pcae-run explain NAME` tells more of each, and of every setting; `pcae-run explain json`, what \
         `--json` prints.\n",
        lines(&words),
        lines(&kinds)
    )
}

/// Everything about a word of the language.
pub(super) fn word(word: &Word) -> String {
    let mut page = Page::default();
    page.fill(0, &format!("{}: {}", word.name, word.place));
    page.describe(0, word.about);
    if !word.fields.is_empty() {
        page.gap();
        page.fill(0, "Fields:");
        for (name, takes, about) in word.fields {
            page.paragraph(2, 8, &format!("{name}: {takes}"));
            page.describe(6, about);
        }
    }
    page.text
}

/// What a name means in several places, one line each.
pub(super) fn meanings(name: &str, roles: &[String]) -> String {
    let mut page = Page::default();
    page.fill(0, &format!("`{name}` has {} meanings:", roles.len()));
    for role in roles {
        page.fill(2, &format!("- {role}"));
    }
    page.gap();
    page.text
}

/// Says where a topic is written.
pub(super) fn role(topic: &Topic<'_>) -> String {
    if topic.is_kind() { "a stage kind".to_owned() } else { places(&topic.places) }
}

/// Everything about a name.
pub(super) fn topic(document: &Document, topic: &Topic<'_>) -> String {
    let mut page = Page::default();
    let variant = &topic.variant;
    page.fill(0, &format!("{}: {}", variant.name, role(topic)));
    let (headline, more) = topic.about(document);
    page.describe(0, headline);
    if !more.is_empty() {
        page.gap();
        page.describe(0, more);
    }
    let fields = topic.fields(document);
    if !fields.is_empty() {
        page.gap();
        page.fill(0, "Settings:");
        for field in &fields {
            page.field(document, field);
        }
    } else if let Some(content) = variant.content {
        page.gap();
        let choice = if let Form::Choice(variants) = document.form(content) {
            page.fill(0, &format!("Written as {}(..) with one of the following:", variant.name));
            variants
        } else {
            page.fill(0, &format!("Written as {}", document.signature(variant)));
            document.choice(content).unwrap_or_default()
        };
        for inner in &choice {
            page.variant(document, 2, inner);
        }
    }
    page.text
}

/// Everything about a field that several settings may have.
pub(super) fn field(document: &Document, field: &Field<'_>, owners: &[&str]) -> String {
    let mut page = Page::default();
    page.fill(0, &format!("{}: a setting of {}", field.name, owners.join(", ")));
    page.field(document, field);
    page.text
}

/// Names where something can be written: the fields, each with the settings that have it.
fn places(places: &[Place<'_>]) -> String {
    let mut grouped: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    for place in places {
        match grouped.iter_mut().find(|(field, _)| *field == place.field) {
            Some((_, owners)) => owners.push(place.owner),
            None => grouped.push((place.field, vec![place.owner])),
        }
    }
    let group = |(field, owners): &(Option<&str>, Vec<&str>)| {
        let owners = owners.join(", ");
        field.map_or_else(|| format!("within {owners}"), |field| format!("`{field}` of {owners}"))
    };
    grouped.iter().map(group).collect::<Vec<_>>().join("; ")
}

fn first_paragraph(text: &str) -> String {
    text.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Text that grows line by line.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn gap(&mut self) {
        self.text.push('\n');
    }

    fn line(&mut self, indent: usize, line: &str) {
        self.text.push_str(&" ".repeat(indent));
        self.text.push_str(line);
        self.gap();
    }

    /// Adds a paragraph; lines after the first are indented a little more if `hang` says so.
    fn paragraph(&mut self, indent: usize, hang: usize, paragraph: &str) {
        let mut line = String::new();
        let mut margin = indent;
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && margin + line.len() + 1 + word.len() > WIDTH {
                self.line(margin, &line);
                line.clear();
                margin = indent + hang;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(margin, &line);
    }

    fn fill(&mut self, indent: usize, paragraph: &str) {
        self.paragraph(indent, 4, paragraph);
    }

    /// Adds a description: paragraphs are filled, examples stay as they are.
    fn describe(&mut self, indent: usize, description: &str) {
        let mut paragraph = String::new();
        let mut is_example = false;
        for line in description.lines().chain([""]) {
            let is_fence = line.starts_with("```");
            if is_example && !is_fence {
                self.line(indent + 4, line);
                continue;
            }
            if (is_fence || line.is_empty()) && !paragraph.is_empty() {
                self.paragraph(indent, 0, &paragraph);
                paragraph.clear();
            }
            if is_fence {
                is_example = !is_example;
            } else if line.is_empty() {
                self.gap();
            } else {
                paragraph.extend([line, " "]);
            }
        }
        // The last of the gaps belongs to whatever follows.
        self.text.truncate(self.text.trim_end().len());
        self.gap();
    }

    fn field(&mut self, document: &Document, field: &Field<'_>) {
        self.paragraph(2, 8, &format!("{}: {}", field.name, document.field_words(field)));
        self.describe(6, field.about);
        let choice = document.choice(field.schema).unwrap_or_default();
        for variant in &choice {
            self.variant(document, 8, variant);
        }
    }

    fn variant(&mut self, document: &Document, indent: usize, variant: &Variant<'_>) {
        let about = first_paragraph(variant.about);
        self.fill(indent, &format!("{}: {about}", document.signature(variant)));
    }
}
