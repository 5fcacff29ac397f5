//! What is wrong with a value, before its place is known.

use crate::engine::pipeline::diagnostic::Diagnostic;
use crate::engine::pipeline::source::Span;

/// What is wrong with a value, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl Problem {
    /// Puts a problem into words.
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }

    /// Says where it is.
    pub(super) fn at(self, place: Span) -> Diagnostic {
        Diagnostic::new(place, self.message).help(self.help)
    }
}
