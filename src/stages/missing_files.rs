//! The files that a stage would have to download, listed before anything runs.

use std::path::{Path, PathBuf};

use super::AnyStage;
use crate::data::download::{PinnedFile, is_local};
use crate::engine::cache::Aliases;

/// A file that is not on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingFile {
    /// Its name.
    pub name: String,
    /// Its size in bytes, unpacked.
    pub bytes: u64,
    /// Where it can be downloaded.
    pub mirrors: Vec<String>,
}

impl MissingFile {
    /// Returns whether an address on the web is known.
    pub fn is_on_the_web(&self) -> bool {
        self.mirrors.iter().any(|mirror| mirror.to_ascii_lowercase().starts_with("http"))
    }
}

/// Returns the files of a stage that are neither in these folders, nor in the cache, nor in the state
/// of a stopped download. Files are looked up by name; their content is checked when they are read.
pub fn missing_files(
    stage: &AnyStage,
    folders: &[PathBuf],
    aliases: &Aliases,
    state: Option<&Path>,
) -> Vec<MissingFile> {
    let AnyStage::Download(download) = stage else {
        return Vec::new();
    };
    let is_here = |file: &PinnedFile| {
        aliases.leads_somewhere(&file.sha256.to_string())
            || state.is_some_and(|state| super::download::complete_file(state, file).is_file())
            || is_local(file, folders)
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
