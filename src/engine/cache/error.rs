//! Why the cache could not do what was asked.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::engine::digest::StageKey;

/// Why the cache could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The file system failed.
    #[error("{}: {}", path.display(), io_message(cause))]
    File {
        /// The file or folder concerned.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The index failed.
    #[error("{}", index_message(.0))]
    Index(#[from] rusqlite::Error),
    /// The folder can't be made or used.
    #[error("can't use `{}` as the cache folder: {cause}; choose another with `--cache DIR`", path.display())]
    Folder {
        /// The cache folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// There is no cache, and a command that computes nothing makes none.
    #[error("there is no cache at `{}`", path.display())]
    Absent {
        /// The cache folder.
        path: PathBuf,
    },
    /// The folder was written by a newer program.
    #[error("`{}` has layout {found}, but this version reads {known}: use a newer pcae-run", path.display())]
    Newer {
        /// The cache folder.
        path: PathBuf,
        /// Its layout.
        found: u32,
        /// The newest layout that this program knows.
        known: u32,
    },
    /// The index was written by a newer program.
    #[error("the cache index has version {0}: it was written by a newer pcae-run")]
    NewerIndex(u32),
    /// Another process kept a key or a trajectory for too long.
    #[error("waited {seconds} s for another process that {what}")]
    Waited {
        /// What the other process does.
        what: String,
        /// How long this process waited.
        seconds: u64,
    },
    /// This process was asked to stop while it waited.
    #[error("stopped while waiting for another process")]
    Stopped,
    /// A declared environment variable that can't be put into a key.
    #[error("the environment variable `{0}` is not valid text")]
    Variable(String),
    /// The manifest of a result that the index knows.
    #[error("the manifest of result {} can't be read: `pcae-run cache rebuild` drops it", .0.short())]
    Manifest(StageKey),
    /// A stage left no files.
    #[error("the stage ended without writing anything")]
    NoOutput,
    /// A stage left a file that it did not write as its own.
    #[error("`{0}` was written into the output folder although it is not a declared output")]
    Undeclared(String),
    /// An input that is not what was stored.
    #[error("{0}")]
    DamagedInput(String),
    /// A file from elsewhere is not what the manifest of its result says.
    #[error("`{name}` of result {} {what}", key.short())]
    Foreign {
        /// The result.
        key: StageKey,
        /// The file's name in it.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// A run is using the cache while it should be cleaned.
    #[error("a run is using this cache: try again when it has finished")]
    InUse,
}

const NO_SPACE: &str = "No space left on device; free some and run again: finished stages are kept";

fn io_message(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::StorageFull => NO_SPACE.to_owned(),
        _ => cause.to_string(),
    }
}

fn index_message(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => NO_SPACE.to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!("the cache can't be written: {error}; choose another with `--cache DIR`")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "the cache index is damaged: `pcae-run cache rebuild` rebuilds it".to_owned()
        }
        _ => format!("the cache index failed: {error}"),
    }
}

impl CacheError {
    /// Returns whether it says that the index can't be used as it is.
    pub(super) fn is_damage(&self) -> bool {
        let damage = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase];
        match self {
            Self::Index(error) => error.sqlite_error_code().is_some_and(|c| damage.contains(&c)),
            // Something else than a file lies in its place.
            Self::File { cause, .. } => cause.kind() == io::ErrorKind::InvalidInput,
            _ => false,
        }
    }

    /// Returns whether it says that the cache can't be written, which reading does not need.
    pub(super) fn prevents_writing(&self) -> bool {
        match self {
            Self::File { cause, .. } | Self::Folder { cause, .. } => matches!(
                cause.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
            ),
            Self::Index(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::ReadOnly
                        | ErrorCode::CannotOpen
                        | ErrorCode::PermissionDenied
                        | ErrorCode::DiskFull
                        | ErrorCode::SystemIoFailure
                )
            ),
            _ => false,
        }
    }

    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::File { path: path.clone(), cause }
    }
}
