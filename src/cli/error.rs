//! Errors of commands, and every exit code.
//!
//! An error has a kind, which decides the exit code, a source, which says what went wrong, and
//! hints, which say what to do about it. A person gets it on standard error:
//!
//! ```text
//! error: `total` has no cached result
//! help: run `pcae-run sums.ron --until total`
//! ```
//!
//! With `--json` it goes to standard output, like all JSON, as the last line: an object with the
//! only key `error`, which no other line has. Mistakes in a pipeline file come with their places.
//!
//! ```text
//! {"error": {"kind": "usage", "exit_code": 2, "message": "...", "hints": ["..."]}}
//! {"error": {"kind": "invalid-pipeline", "exit_code": 2, "message": "...", "hints": [],
//!            "diagnostics": [{"file": "p.ron", "line": 3, "column": 9, "message": "...",
//!                             "hints": ["..."]}]}}
//! ```

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Value, json};

use super::suggestion;
use crate::engine::cache::CacheError;
use crate::engine::pipeline::diagnostic::{Diagnostic, Style, draw};
use crate::engine::pipeline::source::{Source, SourceError};
use crate::engine::plan::select::{NoSuchStage, SelectError};
use crate::engine::run::options::RunReport;
use crate::engine::site::SiteError;

/// What sort of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ErrorKind {
    /// A stage failed, or a file can't be written.
    Failed,
    /// The command line asks for something that does not exist or can't be done.
    Usage,
    /// The pipeline file has mistakes.
    InvalidPipeline,
    /// The cache is damaged or can't be used.
    Cache,
    /// Another process holds what this one needs.
    Busy,
    /// The program was asked to stop; running stages saved their state.
    Interrupted,
}

impl ErrorKind {
    /// Returns the exit code.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage | Self::InvalidPipeline => 2,
            Self::Cache => 5,
            Self::Busy => 75,
            Self::Interrupted => 130,
        }
    }

    /// Returns how a run went wrong, if it did.
    pub(crate) fn of_run(report: &RunReport) -> Option<Self> {
        match report.failed.len() {
            _ if report.interrupted => Some(Self::Interrupted),
            0 => None,
            failed if failed == report.busy => Some(Self::Busy),
            _ => Some(Self::Failed),
        }
    }
}

impl From<ErrorKind> for ExitCode {
    fn from(kind: ErrorKind) -> Self {
        kind.exit_code().into()
    }
}

/// An answer that is not an error, but that a script must be able to tell from success.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Finding {
    /// `diff` found cells that changed, `report --check` a report that does not match, or `replay` a bundle
    /// whose results come out otherwise.
    Different = 1,
    /// `status --check` found stages that would run.
    Stale = 3,
    /// `compare --strict` found published numbers that are not confirmed.
    Unconfirmed = 4,
    /// `doctor` found a check that fails.
    Unhealthy = 5,
}

impl From<Finding> for ExitCode {
    fn from(finding: Finding) -> Self {
        (finding as u8).into()
    }
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: ErrorKind,
    source: Box<dyn Error + Send + Sync>,
    hints: Vec<String>,
}

impl CommandError {
    fn new(kind: ErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: source.into(), hints: Vec::new() }
    }

    /// The user asked for something that does not exist or can't be done.
    pub(crate) fn usage(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Usage, source)
    }

    /// A stage or its process failed, or a file can't be written.
    pub(crate) fn failed(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Failed, source)
    }

    /// The cache is damaged or can't be used.
    pub(crate) fn cache(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Cache, source)
    }

    /// The user asked to stop.
    pub(crate) fn interrupted(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Interrupted, source)
    }

    /// The pipeline file has mistakes.
    pub(crate) fn invalid_pipeline(source: &Source, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort();
        let invalid = InvalidPipeline { source: source.clone(), diagnostics };
        Self::new(ErrorKind::InvalidPipeline, invalid)
    }

    /// Adds what may help.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the kind.
    pub(crate) const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the hints.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Returns the mistakes in the pipeline file, drawn, if that is the source.
    pub(crate) fn drawing(&self, style: Style) -> Option<String> {
        let invalid = self.source.downcast_ref::<InvalidPipeline>()?;
        Some(draw(&invalid.source, &invalid.diagnostics, style))
    }

    /// Returns the error as a tool reads it.
    pub(crate) fn json(&self) -> Value {
        let mut error = json!({
            "kind": self.kind, "exit_code": self.kind.exit_code(),
            "message": self.to_string(), "hints": self.hints,
        });
        if let Some(invalid) = self.source.downcast_ref::<InvalidPipeline>() {
            error["diagnostics"] = invalid.json();
        }
        json!({ "error": error })
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(formatter)
    }
}

impl From<CacheError> for CommandError {
    fn from(error: CacheError) -> Self {
        let kind = match error {
            CacheError::Waited { .. } | CacheError::InUse => ErrorKind::Busy,
            CacheError::NoOutput | CacheError::Undeclared(_) => ErrorKind::Failed,
            CacheError::Variable(_) | CacheError::Folder { .. } | CacheError::Absent { .. } => {
                ErrorKind::Usage
            }
            CacheError::Stopped => ErrorKind::Interrupted,
            CacheError::File { .. }
            | CacheError::Index(_)
            | CacheError::Newer { .. }
            | CacheError::NewerIndex(_)
            | CacheError::DamagedInput(_)
            | CacheError::Foreign { .. }
            | CacheError::Manifest(_) => ErrorKind::Cache,
        };
        Self::new(kind, error)
    }
}

impl From<SourceError> for CommandError {
    fn from(error: SourceError) -> Self {
        let hint = match &error {
            SourceError::Unreadable { path, cause } if cause.kind() == io::ErrorKind::NotFound => {
                suggestion::for_missing_pipeline(path)
            }
            _ => None,
        };
        Self { hints: hint.into_iter().collect(), ..Self::usage(error) }
    }
}

impl From<SiteError> for CommandError {
    fn from(error: SiteError) -> Self {
        let hints = error.hint().into_iter().collect();
        match error {
            SiteError::Invalid { source_file, mistakes } => {
                Self::invalid_pipeline(&source_file, mistakes)
            }
            error => Self { hints, ..Self::usage(error) },
        }
    }
}

impl From<SelectError> for CommandError {
    fn from(error: SelectError) -> Self {
        match error {
            SelectError::NoSuchStage(error) => error.into(),
            SelectError::ForcedOutside(_) => Self::usage(error),
        }
    }
}

impl From<NoSuchStage> for CommandError {
    fn from(error: NoSuchStage) -> Self {
        let hint = error.hint.as_ref().map(|name| format!("did you mean `{name}`?"));
        Self { hints: hint.into_iter().collect(), ..Self::usage(error) }
    }
}

/// Every mistake in a pipeline file.
#[derive(Debug)]
struct InvalidPipeline {
    source: Source,
    diagnostics: Vec<Diagnostic>,
}

impl InvalidPipeline {
    fn json(&self) -> Value {
        let text = self.source.text();
        let one = |diagnostic: &Diagnostic| {
            let start = diagnostic.at.start.min(text.len());
            let line = text[..start].rsplit('\n').next().unwrap_or_default();
            json!({
                "file": self.source.path(), "line": self.source.line(start),
                "column": line.chars().count() + 1, "message": diagnostic.message,
                "hints": diagnostic.help.as_slice(),
            })
        };
        self.diagnostics.iter().map(one).collect()
    }
}

impl fmt::Display for InvalidPipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.diagnostics.len();
        let noun = if count == 1 { "mistake" } else { "mistakes" };
        write!(formatter, "{count} {noun} in {}", self.source.path().display())
    }
}

impl Error for InvalidPipeline {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pipeline::source::Span;

    #[test]
    fn a_tool_gets_the_kind_the_exit_code_and_the_hints() {
        let error = CommandError::usage("no stage matches `a`").hint("did you mean `b`?");
        let expected = json!({"error": {
            "kind": "usage", "exit_code": 2, "message": "no stage matches `a`",
            "hints": ["did you mean `b`?"],
        }});
        assert_eq!(error.json(), expected);
    }

    #[test]
    fn mistakes_in_a_pipeline_come_with_their_places() {
        let source = Source::new("p.ron", "Pipeline(\n  näme: 1)");
        let mistake = Diagnostic::new(Span::new(19, 20), "expected text").help("quote it");
        let error = CommandError::invalid_pipeline(&source, vec![mistake]).json();
        assert_eq!(error["error"]["kind"], "invalid-pipeline");
        assert_eq!(error["error"]["message"], "1 mistake in p.ron");
        let expected = json!([{
            "file": "p.ron", "line": 2, "column": 9, "message": "expected text",
            "hints": ["quote it"],
        }]);
        assert_eq!(error["error"]["diagnostics"], expected);
    }
}
