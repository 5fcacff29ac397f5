//! Which files a stage would have to fetch, found out before anything runs.

use std::path::{Path, PathBuf};

use super::AnyStage;
use crate::download::{PinnedFile, is_near};
use crate::engine::cache::Aliases;

/// A file that is not on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingFile {
    /// Its name.
    pub name: String,
    /// Its size in bytes, unpacked.
    pub bytes: u64,
    /// Where it can be had.
    pub mirrors: Vec<String>,
}

impl MissingFile {
    /// Returns whether an address on the web is known.
    pub fn is_on_the_web(&self) -> bool {
        self.mirrors.iter().any(|mirror| mirror.to_ascii_lowercase().starts_with("http"))
    }
}

/// Returns the files of a stage that are neither in these folders, nor in the cache, nor kept by a
/// download that was stopped. Files are looked for by name; whether they are the right ones shows
/// when they are read.
pub fn missing_files(
    stage: &AnyStage,
    folders: &[PathBuf],
    aliases: &Aliases,
    kept: Option<&Path>,
) -> Vec<MissingFile> {
    let AnyStage::Download(download) = stage else {
        return Vec::new();
    };
    let is_here = |file: &PinnedFile| {
        aliases.leads_somewhere(&file.sha256.to_string())
            || kept.is_some_and(|kept| super::download::kept_file(kept, file).is_file())
            || is_near(file, folders)
    };
    let missing = download.files.files().into_iter().filter(|file| !is_here(file));
    missing
        .map(|PinnedFile { name, bytes, mirrors, .. }| MissingFile {
            name: name.as_str().to_owned(),
            bytes,
            mirrors,
        })
        .collect()
}
