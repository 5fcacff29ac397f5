//! Mistakes of a whole file that are found before anything in it is read.

use super::bounds::DEEPEST_BRACKETS;
use super::diagnostic::Diagnostic;
use super::lexer::{self, Token};
use super::punctuation;
use super::source::Source;

/// Returns the mistakes for which the rest of a file can't be read.
pub(crate) fn mistakes(source: &Source) -> Vec<Diagnostic> {
    let tokens = lexer::tokens(source.text());
    if let Some(place) = lexer::too_deep(&tokens, DEEPEST_BRACKETS) {
        let message = format!("brackets are nested more than {DEEPEST_BRACKETS} deep");
        return vec![Diagnostic::new(place, message).help("flatten this value")];
    }
    if let Some(attribute) = extension_header(source, &tokens) {
        return vec![attribute];
    }
    punctuation::mistakes(source, &tokens)
}

fn extension_header(source: &Source, tokens: &[Token]) -> Option<Diagnostic> {
    let first = tokens.first()?;
    first.text(source.text()).starts_with("#!").then(|| {
        Diagnostic::new(first.span, "`#![enable(..)]` headers are not used here")
            .help("delete this line: the extensions that are needed are always on")
    })
}
