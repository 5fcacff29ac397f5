//! `pcae-run explain`: what a stage kind or any other name in a pipeline means, with its settings.
//!
//! Everything comes from the types of the settings: a JSON Schema is derived from them, with their
//! doc comments as descriptions and with their defaults, and is put into words here. No kind is
//! known by name.

mod schema;
#[cfg(test)]
mod tests;
mod text;
mod topics;
mod words;

use serde_json::Value;

use self::schema::{Document, Field};
use self::topics::{Topic, topics};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::engine::pipeline::diagnostic::nearest;
use crate::stages::AnyStage;

/// Prints the documentation of a name, or the list of stage kinds; as JSON Schema if asked.
pub(super) fn explain(name: Option<&str>, is_json: bool) -> Result<(), CommandError> {
    let document = Document::of::<AnyStage>("A stage of a pipeline");
    let manual = Manual { document: &document, topics: topics(&document) };
    match (name, is_json) {
        (None, true) => terminal::json(document.root()),
        (None, false) => terminal::line(manual.list().trim_end()),
        (Some(name), true) => {
            manual.find(name)?.iter().for_each(|entry| terminal::json(&manual.schema(entry)));
        }
        (Some(name), false) => {
            let pages: Vec<_> = manual.find(name)?.iter().map(|entry| manual.page(entry)).collect();
            terminal::line(pages.join("\n").trim_end());
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
    /// A stage kind, or a name within one.
    Topic(&'m Topic<'a>),
    /// A field, with the names of the settings that have just this one.
    Field(Field<'a>, Vec<&'a str>),
}

impl<'a> Manual<'a> {
    /// Returns everything of a name: a stage kind and a source of data may share one. Fields are
    /// looked for only if nothing else has the name.
    fn find(&self, name: &str) -> Result<Vec<Entry<'_, 'a>>, CommandError> {
        let fits = |topic: &&Topic<'_>| topic.variant.name.eq_ignore_ascii_case(name);
        let mut found: Vec<_> = self.topics.iter().filter(fits).map(Entry::Topic).collect();
        if found.is_empty() {
            found = self.fields(name);
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
        let fields = self.topics.iter().flat_map(|topic| topic.fields(self.document));
        // Of names that are equally near, the last is taken: rather a kind than a field.
        let all: Vec<&str> = fields.map(|field| field.name).chain(names).collect();
        let error = CommandError::usage(format!("there is no stage kind or setting `{name}`"));
        error.hint(nearest(name, &all).map_or_else(
            || "`pcae-run explain` lists all stage kinds".to_owned(),
            |name| format!("did you mean `{name}`?"),
        ))
    }

    fn list(&self) -> String {
        text::kinds(self.document, &self.topics)
    }

    fn page(&self, entry: &Entry<'_, '_>) -> String {
        match entry {
            Entry::Topic(topic) => text::topic(self.document, topic),
            Entry::Field(field, owners) => text::field(self.document, field, owners),
        }
    }

    fn schema(&self, entry: &Entry<'_, '_>) -> Value {
        match entry {
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
