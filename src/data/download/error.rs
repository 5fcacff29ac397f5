//! Why a pinned file is not available: one line that says what was tried and what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::pin::FileName;

/// Says why a pinned file is not available.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
    /// The network is off and no folder and no `file:` mirror holds the file.
    #[error(
        "`{name}` is not available offline: {}{}; put it {}, raw or gzipped, or run without \
         --offline",
        places(searched),
        tried(failures),
        put(searched)
    )]
    Offline {
        /// The file's name.
        name: FileName,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
        /// What became of `file:` mirrors, and of files of that name in the folders.
        failures: Vec<MirrorFailure>,
    },
    /// No folder holds the file and no mirror served it.
    #[error(
        "`{name}` is not available: {}; {}: check the pipeline's `sha256` and `mirrors`, or \
         put the file, raw or gzipped, into a folder and pass --data FOLDER",
        outcome(failures),
        places(searched)
    )]
    Unavailable {
        /// The file's name.
        name: FileName,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
        /// What became of files of that name in the folders, and of each mirror, in order.
        failures: Vec<MirrorFailure>,
    },
    /// The system could not write a file of ours.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
}

impl DownloadError {
    /// Names the file that a system error is about.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::File { path, cause }
    }
}

/// What became of one mirror.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{mirror}: {reason}")]
pub struct MirrorFailure {
    /// The mirror as the user wrote it.
    pub mirror: String,
    /// What went wrong there, with found and expected.
    pub reason: String,
}

fn places(searched: &[PathBuf]) -> String {
    if searched.is_empty() {
        return "no data folder was given".to_owned();
    }
    let folders: Vec<String> = searched.iter().map(|path| path.display().to_string()).collect();
    format!("it is in none of the data folders (searched: {})", folders.join(", "))
}

fn put(searched: &[PathBuf]) -> &'static str {
    if searched.is_empty() { "into a folder and pass --data FOLDER" } else { "there" }
}

fn tried(failures: &[MirrorFailure]) -> String {
    if failures.is_empty() { String::new() } else { format!(" ({})", clauses(failures)) }
}

fn outcome(failures: &[MirrorFailure]) -> String {
    match failures {
        [] => "it has no mirror".to_owned(),
        failures => clauses(failures),
    }
}

fn clauses(failures: &[MirrorFailure]) -> String {
    failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> FileName {
        FileName::new("digits").unwrap()
    }

    #[test]
    fn an_offline_error_says_where_the_file_may_be_put() {
        let searched = vec![PathBuf::from("/data"), PathBuf::from("more")];
        let error = DownloadError::Offline { name: name(), searched, failures: Vec::new() };
        assert_eq!(
            error.to_string(),
            "`digits` is not available offline: it is in none of the data folders (searched: /data, \
             more); put it there, raw or gzipped, or run without --offline"
        );
    }

    #[test]
    fn an_error_has_one_clause_for_each_mirror() {
        let failure = |mirror: &str, reason: &str| MirrorFailure {
            mirror: mirror.to_owned(),
            reason: reason.to_owned(),
        };
        let failures = vec![failure("https://h/x", "404 Not Found"), failure("file:/y", "no")];
        let error = DownloadError::Unavailable { name: name(), searched: Vec::new(), failures };
        assert_eq!(
            error.to_string(),
            "`digits` is not available: https://h/x: 404 Not Found; file:/y: no; no data folder \
             was given: check the pipeline's `sha256` and `mirrors`, or put the file, raw or \
             gzipped, into a folder and pass --data FOLDER"
        );
    }
}
