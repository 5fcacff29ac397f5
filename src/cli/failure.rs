//! How the program ends when it can't do what was asked.

use crate::engine::cache::CacheError;
use crate::engine::select::{NoSuchStage, SelectError};
use crate::engine::source::SourceError;

/// Exit code: a stage failed.
pub(super) const STAGE_FAILED: u8 = 1;
/// Exit code of `diff`: a cell moved.
pub(super) const DIFFERENT: u8 = 1;
/// Exit code: the pipeline file or the command line is wrong.
pub(super) const USAGE: u8 = 2;
/// Exit code of `status --check`: something would run.
pub(super) const STALE: u8 = 3;
/// Exit code of `compare --strict`: a published number is not confirmed.
pub(super) const UNCONFIRMED: u8 = 4;
/// Exit code: the cache is damaged or can't be used.
pub(super) const INTEGRITY: u8 = 5;
/// Exit code: another process kept a lock for too long.
pub(super) const BUSY: u8 = 75;
/// Exit code: interrupted, state saved.
pub(super) const INTERRUPTED: u8 = 130;

/// A message for the user and an exit code.
#[derive(Debug)]
pub(super) struct Failure {
    /// The exit code.
    pub code: u8,
    /// One line, or a drawing that brings its own heading.
    pub message: String,
    /// Whether the message is a drawing.
    pub drawn: bool,
}

impl Failure {
    /// The user asked for something that can't be.
    pub(super) fn usage(message: impl ToString) -> Self {
        Self { code: USAGE, message: message.to_string(), drawn: false }
    }

    /// The pipeline file has mistakes; the message shows them.
    pub(super) fn drawing(message: String) -> Self {
        Self { code: USAGE, message, drawn: true }
    }

    /// A stage or its process failed.
    pub(super) fn stage(message: impl ToString) -> Self {
        Self { code: STAGE_FAILED, message: message.to_string(), drawn: false }
    }

    /// The cache is not as it should be.
    pub(super) fn integrity(message: impl ToString) -> Self {
        Self { code: INTEGRITY, message: message.to_string(), drawn: false }
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        let code = match error {
            CacheError::Waited { .. } | CacheError::InUse => BUSY,
            CacheError::NoOutput => STAGE_FAILED,
            CacheError::Variable(_) | CacheError::Folder { .. } => USAGE,
            CacheError::Stopped => INTERRUPTED,
            CacheError::File { .. }
            | CacheError::Index(_)
            | CacheError::Newer { .. }
            | CacheError::Manifest(_) => INTEGRITY,
        };
        Self { code, message: error.to_string(), drawn: false }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::usage(error)
    }
}

impl From<SelectError> for Failure {
    fn from(error: SelectError) -> Self {
        Self::usage(error)
    }
}

impl From<NoSuchStage> for Failure {
    fn from(error: NoSuchStage) -> Self {
        Self::usage(error)
    }
}
