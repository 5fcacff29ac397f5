//! From the text of a pipeline file to typed stages, or to every mistake in it with its place.
//!
//! A [`source::Source`] is split into a [`spec::Spec`] without reading the stages; templates are
//! filled in for each combination of axis labels ([`expand`]) and only then parsed.

pub(crate) mod bounds;
mod choice;
pub mod diagnostic;
pub mod expand;
pub mod extend;
mod extent;
mod if_present;
pub mod lexer;
pub(crate) mod location;
pub mod parse_error;
pub(crate) mod placeholders;
mod punctuation;
pub mod scale;
pub mod search_paths;
pub mod source;
pub mod spec;
pub(crate) mod syntax;
pub mod template;
pub mod values;
