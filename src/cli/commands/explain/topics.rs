//! Everything that has a name in pipeline files, and where it is used.

use std::ptr;

use serde_json::Value;

use super::schema::{Document, Field, Form, Variant, definition};

/// Something that a pipeline file calls by a name that begins with a capital letter.
pub(super) struct Topic<'a> {
    /// The name, with what is written in its brackets.
    pub(super) variant: Variant<'a>,
    /// Where it can be written; nowhere but on its own if it is a stage kind.
    pub(super) places: Vec<Place<'a>>,
}

/// A place in which a name can be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// The field, if there is one between the owner and the name.
    pub(super) field: Option<&'a str>,
    /// The name of the settings.
    pub(super) owner: &'a str,
}

impl<'a> Topic<'a> {
    /// Returns what is said of the name: in one line, then at length.
    pub(super) fn about(&self, document: &'a Document) -> (&'a str, &'a str) {
        let content = self.variant.content.map_or("", |content| document.about(content));
        if self.variant.about.is_empty() { (content, "") } else { (self.variant.about, content) }
    }

    /// Returns the fields in the brackets after the name.
    pub(super) fn fields(&self, document: &'a Document) -> Vec<Field<'a>> {
        match self.variant.content.map(|content| document.form(content)) {
            Some(Form::Settings(fields)) => fields,
            _ => Vec::new(),
        }
    }

    /// Returns whether this is a stage kind.
    pub(super) const fn is_kind(&self) -> bool {
        self.places.is_empty()
    }
}

/// Collects the stage kinds and every name that can be written within one.
pub(super) fn topics(document: &Document) -> Vec<Topic<'_>> {
    let mut walk = Walk { document, topics: Vec::new() };
    if let Form::Choice(kinds) = document.form(document.root()) {
        // All kinds come before what is within them.
        walk.topics = kinds.into_iter().map(|variant| Topic { variant, places: vec![] }).collect();
    }
    for kind in 0..walk.topics.len() {
        walk.enter(walk.topics[kind].variant);
    }
    walk.topics
}

struct Walk<'a> {
    document: &'a Document,
    topics: Vec<Topic<'a>>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Value, place: Place<'a>) {
        match self.document.form(schema) {
            Form::Choice(variants) => {
                for variant in variants {
                    self.add(variant, place);
                }
            }
            Form::Settings(_) => {
                let name = definition(schema).unwrap_or_default();
                let schema = self.document.resolve(schema);
                self.add(Variant { name, about: "", content: Some(schema), schema }, place);
            }
            Form::List(inner) | Form::Map(inner) => self.visit(inner, place),
            Form::Tuple(items) => items.iter().for_each(|item| self.visit(item, place)),
            _ => {}
        }
    }

    fn add(&mut self, variant: Variant<'a>, place: Place<'a>) {
        let is_same = |topic: &&mut Topic<'a>| ptr::eq(topic.variant.schema, variant.schema);
        match self.topics.iter_mut().find(is_same) {
            Some(known) if known.places.contains(&place) => {}
            Some(known) => known.places.push(place),
            None => {
                self.topics.push(Topic { variant, places: vec![place] });
                self.enter(variant);
            }
        }
    }

    fn enter(&mut self, variant: Variant<'a>) {
        let owner = variant.name;
        let Some(content) = variant.content else {
            return;
        };
        match self.document.form(content) {
            Form::Settings(fields) => {
                for field in fields {
                    self.visit(field.schema, Place { field: Some(field.name), owner });
                }
            }
            _ => self.visit(content, Place { field: None, owner }),
        }
    }
}
