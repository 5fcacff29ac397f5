//! The text of a pipeline file and places in it.
//!
//! Offsets are bytes from the start of the file; lines and columns are worked out only when an
//! error is drawn.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::bounds::LARGEST_FILE;
use crate::engine::system::regular_file;

/// A stretch of the pipeline file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// Returns the span from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the same stretch as a range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// Why a pipeline file could not be taken in.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file is missing or unreadable.
    #[error("can't read the pipeline file `{}`: {cause}", path.display())]
    Unreadable {
        /// What was asked for.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is far larger than a pipeline can be.
    #[error("`{}` has {bytes} bytes; pipeline files are limited to {LARGEST_FILE}", path.display())]
    TooLarge {
        /// What was asked for.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
}

/// Which scale is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScaleChoice {
    /// By name.
    pub name: Option<String>,
    /// Whether models run on something else than the processor, for files that decide by that.
    pub on_gpu: bool,
}

/// A pipeline file in memory, with the scale that is asked for.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    text: String,
    line_ends: Vec<usize>,
    scale: ScaleChoice,
}

impl Source {
    /// Reads a pipeline file.
    pub fn read(path: &Path) -> Result<Self, SourceError> {
        let unreadable = |cause| SourceError::Unreadable { path: path.to_owned(), cause };
        let file = regular_file::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        let mut text = String::new();
        // What is longer than it said is read no further.
        if bytes <= LARGEST_FILE {
            file.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(unreadable)?;
        }
        let bytes = bytes.max(text.len() as u64);
        if bytes > LARGEST_FILE {
            return Err(SourceError::TooLarge { path: path.to_owned(), bytes });
        }
        // Some editors put a byte-order mark in front.
        Ok(Self::new(path, text.trim_start_matches('\u{feff}')))
    }

    /// Wraps text that is already in memory.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let text = text.into();
        let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { path: path.into(), text, line_ends, scale: ScaleChoice::default() }
    }

    /// Asks for a scale of the pipeline.
    #[must_use]
    pub fn at_scale(self, scale: ScaleChoice) -> Self {
        Self { scale, ..self }
    }

    /// Returns which scale is asked for.
    pub fn scale(&self) -> &ScaleChoice {
        &self.scale
    }

    /// Returns the path as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder that relative paths in the pipeline start from.
    pub fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        }
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a span.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    /// Returns where a borrowed slice of this text lies.
    pub fn span_of(&self, slice: &str) -> Span {
        let start = (slice.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        Span::new(start, start + slice.len())
    }

    /// Returns the one-based line of an offset.
    pub fn line(&self, offset: usize) -> usize {
        self.line_ends.partition_point(|&end| end < offset) + 1
    }
}

/// Returns the byte offset of a one-based line and a one-based column counted in characters.
pub fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_start = match line.checked_sub(2) {
        None => 0,
        Some(nth) => text.match_indices('\n').nth(nth).map_or(text.len(), |(at, _)| at + 1),
    };
    text[line_start..]
        .char_indices()
        .nth(column.saturating_sub(1))
        .map_or(text.len(), |(at, _)| line_start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_and_column_lead_to_the_byte() {
        let text = "äb\ncd\n";
        assert_eq!(offset_of(text, 1, 2), 2);
        assert_eq!(offset_of(text, 2, 2), 5);
        assert_eq!(offset_of(text, 9, 1), text.len());
    }

    #[test]
    fn a_borrowed_slice_knows_its_place() {
        let source = Source::new("p.ron", "abc def");
        let slice = &source.text()[4..6];
        assert_eq!(source.span_of(slice), Span::new(4, 6));
    }
}
