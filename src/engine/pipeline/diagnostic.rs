//! Mistakes and warnings in a pipeline file, as data, and their drawing with `annotate-snippets`.
//!
//! Checks only build [`Diagnostic`] values; all of them are gathered before any is shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::bounds::{LONGEST_NAME, MOST_COMPARED, MOST_DRAWN, MOST_MISTAKES, MOST_PLACES};
use super::source::{Source, Span};
use crate::engine::stage::Labels;
use crate::engine::system::printable::printable;

/// One mistake or warning, with every place it concerns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The place the caret points at.
    pub at: Span,
    /// What is wrong, lower case, the user's words in backticks.
    pub message: String,
    /// What stands at the place.
    pub label: String,
    /// Further places with their own labels.
    pub context: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Starts a diagnostic at a place.
    pub fn new(at: Span, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), label: String::new(), context: Vec::new(), help: None }
    }

    /// Says what stands at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn context(mut self, at: Span, label: impl Into<String>) -> Self {
        self.context.push((at, label.into()));
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a help line with the nearest valid name, or the list of valid names.
    #[must_use]
    pub fn suggest(self, found: &str, valid: &[&str]) -> Self {
        match nearest(found, valid) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None if valid.is_empty() => self,
            None => self.help(format!("valid here: {}", list(valid))),
        }
    }
}

/// Whether drawings carry terminal colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With terminal colors.
    Colored,
}

/// Mistakes as they are found: each once, however many stages it spoils, and only as many as
/// somebody may read.
#[derive(Debug, Default)]
pub struct Mistakes {
    found: BTreeMap<MistakeKey, Found>,
}

/// What makes two mistakes the same: their place and their message, without the labels in it.
pub type MistakeKey = (Span, String);

/// A mistake, and how many stages have it.
#[derive(Debug)]
struct Found {
    mistake: Diagnostic,
    stages: usize,
    /// The last of them.
    stage: String,
}

impl Mistakes {
    /// Adds a mistake; of equal ones at the same place, the first in order counts.
    pub fn push(&mut self, mistake: Diagnostic) {
        self.insert((mistake.at, mistake.message.clone()), mistake);
    }

    /// Adds a mistake of one stage. Those of other stages at the same place that differ in nothing but
    /// the labels are the same mistake, and are counted.
    pub fn push_of_stage(
        &mut self,
        stage: &str,
        labels: &Labels,
        mistake: Diagnostic,
    ) -> MistakeKey {
        let at_place = self.found.range((mistake.at, String::new())..);
        let mut at_place = at_place.take_while(|((at, _), _)| *at == mistake.at);
        let same = at_place.find(|(_, known)| known.mistake.message == mistake.message);
        let key = match same {
            Some((key, _)) => key.clone(),
            None if self.is_full() => (mistake.at, mistake.message.clone()),
            None => (mistake.at, without_labels(&mistake.message, labels)),
        };
        self.insert(key.clone(), mistake);
        self.count(&key, stage);
        key
    }

    /// Notes that one more stage has a known mistake.
    pub fn count(&mut self, key: &MistakeKey, stage: &str) {
        if let Some(known) = self.found.get_mut(key).filter(|known| known.stage != stage) {
            known.stages += 1;
            stage.clone_into(&mut known.stage);
        }
    }

    /// Notes that one more stage has the known mistake at a place; returns whether there is one.
    pub fn count_at(&mut self, at: Span, stage: &str) -> bool {
        let next = self.found.range((at, String::new())..).next().map(|(key, _)| key.clone());
        let Some(key) = next.filter(|(known, _)| *known == at) else {
            return false;
        };
        self.count(&key, stage);
        true
    }

    fn insert(&mut self, key: MistakeKey, mistake: Diagnostic) {
        let is_full = self.is_full();
        match self.found.entry(key) {
            Entry::Vacant(free) if !is_full => {
                free.insert(Found { mistake, stages: 0, stage: String::new() });
            }
            Entry::Occupied(mut known) if mistake < known.get().mistake => {
                known.get_mut().mistake = mistake;
            }
            Entry::Vacant(_) | Entry::Occupied(_) => {}
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns whether looking for more is in vain.
    pub fn is_full(&self) -> bool {
        self.found.len() >= MOST_MISTAKES
    }

    /// Returns all mistakes in file order, each with how many stages have it.
    pub fn sorted(self) -> Vec<Diagnostic> {
        let counted = |Found { mut mistake, stages, .. }: Found| {
            if stages > 1 {
                let _ = write!(mistake.message, " ({stages} stages)");
            }
            mistake
        };
        self.found.into_values().map(counted).collect()
    }
}

impl Extend<Diagnostic> for Mistakes {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, mistakes: I) {
        mistakes.into_iter().for_each(|mistake| self.push(mistake));
    }
}

/// Returns a message with the name of its axis in place of each label, where that is a word in backticks.
fn without_labels(message: &str, labels: &Labels) -> String {
    let parts = message.split('`').enumerate();
    let parts =
        parts.map(
            |(at, part)| {
                if at % 2 == 1 { without_label_words(part, labels) } else { part.to_owned() }
            },
        );
    parts.collect::<Vec<_>>().join("`")
}

fn without_label_words(message: &str, labels: &Labels) -> String {
    let mut labels: Vec<_> = labels.iter().collect();
    labels.sort_by_key(|(_, label)| std::cmp::Reverse(label.len()));
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut text = message.to_owned();
    for (axis, label) in labels {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(label.as_str()).filter(|_| !label.is_empty()) {
            let (before, after) = (&rest[..at], &rest[at + label.len()..]);
            let last = before.chars().next_back().or_else(|| replaced.chars().next_back());
            replaced.push_str(before);
            if is_end(last) && is_end(after.chars().next()) {
                let _ = write!(replaced, "{{{axis}}}");
            } else {
                replaced.push_str(label);
            }
            rest = after;
        }
        replaced.push_str(rest);
        text = replaced;
    }
    text
}

/// Draws mistakes in file order, one picture each, and says how many there are.
pub fn draw(source: &Source, mistakes: &[Diagnostic], style: Style) -> String {
    let mut drawing = pictures(source, mistakes, &Level::ERROR, style);
    let file = shown(&source.path().display().to_string());
    let _ = match mistakes.len() {
        1 => write!(drawing, "1 mistake in {file}"),
        count if count >= MOST_MISTAKES => {
            write!(drawing, "{count} or more mistakes in {file}, {MOST_DRAWN} are shown")
        }
        count if count > MOST_DRAWN => {
            write!(drawing, "{count} mistakes in {file}, the first {MOST_DRAWN} are shown")
        }
        count => write!(drawing, "{count} mistakes in {file}"),
    };
    drawing
}

/// Draws warnings in file order, one picture each.
pub fn draw_warnings(source: &Source, warnings: &[Diagnostic], style: Style) -> String {
    pictures(source, warnings, &Level::WARNING, style)
}

fn pictures(
    source: &Source,
    diagnostics: &[Diagnostic],
    level: &Level<'_>,
    style: Style,
) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colored => Renderer::styled(),
    }
    .decor_style(DecorStyle::Ascii);
    let mut sorted: Vec<_> = diagnostics.iter().collect();
    sorted.sort();
    let mut drawing = String::new();
    let text = drawable(source.text());
    for diagnostic in sorted.iter().take(MOST_DRAWN) {
        let picture = renderer.render(&[group(source, &text, diagnostic, level.clone())]);
        let _ = writeln!(drawing, "{picture}\n");
    }
    drawing
}

fn group<'a>(
    source: &'a Source,
    text: &'a str,
    diagnostic: &'a Diagnostic,
    level: Level<'a>,
) -> Group<'a> {
    let mut snippet = Snippet::source(text)
        .path(shown(&source.path().display().to_string()))
        .annotation(annotation(source, AnnotationKind::Primary, diagnostic.at, &diagnostic.label));
    for (span, label) in diagnostic.context.iter().take(MOST_PLACES) {
        snippet = snippet.annotation(annotation(source, AnnotationKind::Context, *span, label));
    }
    let group = level.primary_title(shown(&diagnostic.message)).element(snippet);
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(shown(help))),
        None => group,
    }
}

fn annotation<'a>(
    source: &Source,
    kind: AnnotationKind,
    span: Span,
    label: &'a str,
) -> annotate_snippets::Annotation<'a> {
    let end = source.text().len();
    let annotation = kind.span(span.start.min(end)..span.end.clamp(span.start.min(end), end));
    if label.is_empty() { annotation } else { annotation.label(shown(label)) }
}

/// Returns words that quote the file as they may be drawn: printable, and not without end.
fn shown(words: &str) -> String {
    const MOST: usize = 1000;
    let mut shown = printable(words).into_owned();
    if let Some((cut, _)) = shown.char_indices().nth(MOST) {
        shown.truncate(cut);
        shown.push_str("..");
    }
    shown
}

/// Returns the text of a file as it may be drawn. Other control characters are drawn visibly anyway;
/// these two-byte ones are replaced by a character of two bytes, so that all places stay.
fn drawable(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| matches!(c, '\u{80}'..='\u{9f}');
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_control(c) { '¿' } else { c }).collect())
}

/// Returns the valid name that the user most likely meant.
pub fn nearest<'a>(found: &str, valid: &[&'a str]) -> Option<&'a str> {
    const MOST_APART: usize = 3;
    let found = found.to_lowercase();
    // Of very many names, those of about the same length are enough.
    let few = valid.len() <= MOST_COMPARED;
    let is_short = |text: &str| text.len() <= LONGEST_NAME;
    valid
        .iter()
        .filter(|name| is_short(&found) && is_short(name))
        .filter(|name| few || name.len().abs_diff(found.len()) <= MOST_APART)
        .take(MOST_COMPARED)
        .map(|name| (strsim::jaro_winkler(&found, &name.to_lowercase()), *name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

fn list(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    let mut text = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if names.len() > SHOWN {
        text.push(format!("and {} more", names.len() - SHOWN));
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_shows_control_characters_and_obeys_none() {
        let text = "Pipeline(name: \"\u{1b}[2J\u{9b}1m\u{202e}x\", stages: {})";
        let source = Source::new("p\u{1b}[1m.ron", text);
        let place = Span::new(text.find('x').unwrap(), text.find('x').unwrap() + 1);
        let mistake = Diagnostic::new(place, "`\u{1b}[2J` is\u{7} bad")
            .label("\u{1b}[3m")
            .context(Span::new(0, 8), "\u{9b}4m")
            .help("\u{1b}]0;title\u{7}");
        let mistakes = [mistake];
        let plain = draw(&source, &mistakes, Style::Plain);
        let is_bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!plain.contains(is_bad), "{plain:?}");
        assert!(plain.contains("error: `␛[2J` is␇ bad") && plain.contains("p␛[1m.ron"), "{plain}");
        let colored = draw(&source, &mistakes, Style::Colored);
        for theirs in ["\u{1b}[2J", "\u{1b}]0", "\u{9b}", "\u{7}", "\u{202e}"] {
            assert!(!colored.contains(theirs), "{colored:?}");
        }
        assert!(colored.contains('\u{1b}'), "our own colors are there");
        assert!(shown(&"x".repeat(10_000)).len() < 2000);
    }

    #[test]
    fn a_mistake_of_a_family_is_one_mistake_with_its_number_of_stages() {
        let mut mistakes = Mistakes::default();
        let at = Span::new(3, 4);
        for seed in ["1", "2", "3"] {
            let labels = Labels::from([("seed".to_owned(), seed.to_owned())]);
            let message = format!("`train-{seed}` has 111 of 2 values");
            let stage = format!("train-{seed}");
            mistakes.push_of_stage(&stage, &labels, Diagnostic::new(at, message.clone()));
            mistakes.push_of_stage(&stage, &labels, Diagnostic::new(at, message));
        }
        mistakes.push(Diagnostic::new(at, "another"));
        let found: Vec<_> = mistakes.sorted().into_iter().map(|mistake| mistake.message).collect();
        assert_eq!(found, ["`train-1` has 111 of 2 values (3 stages)", "another"]);
    }

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        assert_eq!(nearest("epohcs", &["epochs", "seed"]), Some("epochs"));
        assert_eq!(nearest("zzz", &["epochs", "seed"]), None);
    }
}
