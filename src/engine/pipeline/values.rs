//! Values of a pipeline file: the RON dialect they are written in, and where they stand.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use ron::extensions::Extensions;
use ron::value::RawValue;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::diagnostic::Diagnostic;
use super::lexer;
use super::parse_error;
use super::source::{Source, Span};

/// Returns the RON dialect of pipeline files.
pub fn dialect() -> ron::Options {
    ron::Options::default()
        .with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES)
        .with_default_extension(Extensions::IMPLICIT_SOME)
}

/// A value with a name, somewhere in the file.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name as written, without quotes.
    pub name: String,
    /// Where the name is written.
    pub at: Span,
    /// Where the value is written.
    pub value: Span,
}

/// Returns where a value stands, without the comments around it.
pub(crate) fn place(source: &Source, raw: &RawValue) -> Span {
    let text = raw.get_ron();
    let base = source.span_of(text).start;
    let tokens = lexer::tokens(text);
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => Span::new(base + first.span.start, base + last.span.end),
        _ => source.span_of(text.trim()),
    }
}

/// A map read as pairs, so that order and duplicates stay visible.
#[derive(Default)]
pub(crate) struct Entries<'a>(pub Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Pairs<'a> {
            type Value = Entries<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names to values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<&RawValue, &RawValue>()? {
                    pairs.push(pair);
                }
                Ok(Entries(pairs))
            }
        }
        deserializer.deserialize_map(Pairs(PhantomData))
    }
}

/// Reads one value, or explains why that can't be done.
pub(crate) fn typed<'de, T: Deserialize<'de>>(
    source: &Source,
    raw: &'de RawValue,
) -> Result<T, Diagnostic> {
    parse(source, raw.get_ron(), "value")
}

/// Reads a part of a file that is called `what`, or explains why that can't be done.
pub(crate) fn parse<'de, T: Deserialize<'de>>(
    source: &Source,
    text: &'de str,
    what: &str,
) -> Result<T, Diagnostic> {
    let base = source.span_of(text).start;
    let shift = |span: Span| Span::new(base + span.start, base + span.end);
    dialect().from_str(text).map_err(|error| parse_error::explain(text, &error, what, shift))
}

/// Reads the names of a map of what is called `what`; each may be there once.
pub(crate) fn named(
    source: &Source,
    entries: &Entries<'_>,
    what: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<Named> {
    let mut seen = BTreeMap::<String, Span>::new();
    let mut found = Vec::new();
    for (key, value) in &entries.0 {
        let name = match typed::<String>(source, key) {
            Ok(name) => name,
            Err(mistake) => {
                mistakes.push(mistake);
                continue;
            }
        };
        let at = place(source, key);
        if let Some(first) = seen.insert(name.clone(), at) {
            mistakes.push(
                Diagnostic::new(at, format!("the {what} `{name}` is defined twice"))
                    .label("again here")
                    .context(first, "first here")
                    .help("rename or delete one of them"),
            );
            continue;
        }
        found.push(Named { name, at, value: place(source, value) });
    }
    found
}
