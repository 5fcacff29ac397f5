//! `pcae-run explain`: what a stage kind or any other name in a pipeline means, with its settings.
//!
//! Everything comes from the types of the settings: a JSON Schema is derived from them, with their
//! doc comments as descriptions and with their defaults, and is put into words here. No kind is
//! known by name. Only the words of the language itself have no types (`language`).

mod language;
mod schema;
#[cfg(test)]
mod tests;
mod text;
mod topics;
mod words;

use serde_json::Value;

use self::language::{WORDS, Word};
use self::schema::{Document, Field};
use self::topics::{Topic, topics};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::engine::pipeline::diagnostic::nearest;
use crate::stages::AnyStage;

/// What `--json` prints, for `explain json`.
const JSON: &str = include_str!("json.md");

/// Prints the documentation of a name, or the list of words and stage kinds; as JSON Schema if asked.
pub(super) fn explain(name: Option<&str>, is_json: bool) -> Result<(), CommandError> {
    let document = Document::of::<AnyStage>("A stage of a pipeline");
    let manual = Manual { document: &document, topics: topics(&document) };
    match (name, is_json) {
        (None, true) => terminal::json(document.root()),
        (None, false) => terminal::line(manual.list().trim_end()),
        (Some(name), true) => {
            manual.find(name)?.iter().for_each(|entry| terminal::json(&manual.schema(entry)));
        }
        (Some("json"), false) => terminal::line(JSON.trim_end()),
        (Some(name), false) => {
            let found = manual.find(name)?;
            let mut text = String::new();
            if found.len() > 1 {
                let roles: Vec<_> = found.iter().map(Entry::role).collect();
                text = text::meanings(name, &roles);
            }
            let pages: Vec<_> = found.iter().map(|entry| manual.page(entry)).collect();
            text.push_str(&pages.join("\n"));
            terminal::line(text.trim_end());
        }
    }
    Ok(())
}

/// All that can be looked up.
struct Manual<'a> {
    document: &'a Document,
    topics: Vec<Topic<'a>>,
}

/// What is found under a name.
enum Entry<'m, 'a> {
    /// A word of the language.
    Word(&'static Word),
    /// A stage kind, or a name within one.
    Topic(&'m Topic<'a>),
    /// A field, with the names of the settings that have just this one.
    Field(Field<'a>, Vec<&'a str>),
}

impl Entry<'_, '_> {
    /// Says in which role the name is written.
    fn role(&self) -> String {
        match self {
            Self::Word(word) => word.place.to_owned(),
            Self::Topic(topic) => text::role(topic),
            Self::Field(_, owners) => format!("a setting of {}", owners.join(", ")),
        }
    }
}

impl<'a> Manual<'a> {
    /// Returns everything of a name: a stage kind and a source of data may share one. Names are found
    /// in any case; where only another case is the name of something, fields are found, too.
    fn find(&self, name: &str) -> Result<Vec<Entry<'_, 'a>>, CommandError> {
        let words = WORDS.iter().filter(|word| word.name.eq_ignore_ascii_case(name));
        let mut found: Vec<_> = words.map(Entry::Word).collect();
        let fits = |topic: &&Topic<'_>| topic.variant.name.eq_ignore_ascii_case(name);
        found.extend(self.topics.iter().filter(fits).map(Entry::Topic));
        let is_exact = WORDS.iter().any(|word| word.name == name)
            || self.topics.iter().any(|topic| topic.variant.name == name);
        if !is_exact {
            found.extend(self.fields(name));
            let has_field = |word: &&Word| word.fields.iter().any(|(field, ..)| *field == name);
            found.extend(WORDS.iter().filter(has_field).map(Entry::Word));
        }
        if found.is_empty() { Err(self.unknown(name)) } else { Ok(found) }
    }

    fn fields(&self, name: &str) -> Vec<Entry<'_, 'a>> {
        let mut found: Vec<(Field<'a>, Vec<&'a str>)> = Vec::new();
        for topic in &self.topics {
            let fields = topic.fields(self.document).into_iter();
            for field in fields.filter(|field| field.name.eq_ignore_ascii_case(name)) {
                let owner = topic.variant.name;
                match found.iter_mut().find(|(known, _)| known.schema == field.schema) {
                    Some((_, owners)) => owners.push(owner),
                    None => found.push((field, vec![owner])),
                }
            }
        }
        found.into_iter().map(|(field, owners)| Entry::Field(field, owners)).collect()
    }

    fn unknown(&self, name: &str) -> CommandError {
        let names = self.topics.iter().map(|topic| topic.variant.name);
        let names = names.chain(WORDS.iter().map(|word| word.name));
        let fields = self.topics.iter().flat_map(|topic| topic.fields(self.document));
        // Of names that are equally near, the last is taken: rather a kind than a field.
        let all: Vec<&str> = fields.map(|field| field.name).chain(names).collect();
        let error = CommandError::usage(format!("there is no stage kind or setting `{name}`"));
        error.hint(nearest(name, &all).map_or_else(
            || "`pcae-run explain` lists what there is".to_owned(),
            |name| format!("did you mean `{name}`?"),
        ))
    }

    fn list(&self) -> String {
        text::overview(self.document, &self.topics)
    }

    fn page(&self, entry: &Entry<'_, '_>) -> String {
        match entry {
            Entry::Word(word) => text::word(word),
            Entry::Topic(topic) => text::topic(self.document, topic),
            Entry::Field(field, owners) => text::field(self.document, field, owners),
        }
    }

    fn schema(&self, entry: &Entry<'_, '_>) -> Value {
        match entry {
            Entry::Word(word) => word.json(),
            Entry::Topic(topic) => {
                let (headline, more) = topic.about(self.document);
                let about = [headline, more].join("\n\n");
                let content = topic.variant.content.unwrap_or(topic.variant.schema);
                self.document.part(content, topic.variant.name, about.trim_end())
            }
            Entry::Field(field, _) => self.document.part(field.schema, field.name, field.about),
        }
    }
}
