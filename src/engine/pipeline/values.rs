//! Values of a pipeline file: the RON dialect they are written in, and where they stand.

use ron::extensions::Extensions;
use ron::value::RawValue;

use super::lexer;
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
pub(super) fn place(source: &Source, raw: &RawValue) -> Span {
    let text = raw.get_ron();
    let base = source.span_of(text).start;
    let tokens = lexer::tokens(text);
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => Span::new(base + first.span.start, base + last.span.end),
        _ => source.span_of(text.trim()),
    }
}
