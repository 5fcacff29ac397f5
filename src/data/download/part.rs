//! A half-fetched file that outlives its process, and the lock that keeps it to one writer.
//!
//! A part is named after the bytes that it will hold, so any mirror of the same bytes can go on
//! where another one, or another run, was cut. Packed bytes whose hash is not known may differ
//! from mirror to mirror: those parts are named after the mirror as well.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::watch::{SLICE, Watch};
use super::{DownloadError, FileName, PinnedFile, Sha256Digest, verify};

/// Returns the name under which the bytes of a mirror are collected.
pub(super) fn key(file: &PinnedFile, mirror: &str, packed: bool) -> String {
    match file.gzip.as_ref().and_then(|gzip| gzip.sha256) {
        _ if !packed => file.sha256.to_string(),
        Some(sha256) => sha256.to_string(),
        None => {
            let mirror = Sha256Digest::from_bytes(Sha256::digest(mirror).into()).short();
            format!("{}.{mirror}.gz", file.sha256)
        }
    }
}

/// A part that this process alone may write, until dropped.
pub(super) struct Part {
    path: PathBuf,
    _lock: File,
}

impl Part {
    /// Waits until no other process writes this part.
    pub(super) fn lock(
        folder: &Path,
        key: &str,
        file: &FileName,
        total: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Self, DownloadError> {
        fs::create_dir_all(folder).map_err(DownloadError::file(folder))?;
        let (part, lock) = paths(folder, key);
        let opened = open_lock(&lock).map_err(DownloadError::file(&lock))?;
        let mut is_logged = false;
        loop {
            match opened.try_lock() {
                Ok(()) => return Ok(Self { path: part, _lock: opened }),
                Err(TryLockError::WouldBlock) => {
                    if !is_logged {
                        watch
                            .log(&format!("another process is downloading {file}: waiting for it"));
                        is_logged = true;
                    }
                    let done = fs::metadata(&part).map_or(0, |data| data.len()).min(total);
                    watch.report(done, total, "another process is downloading this file");
                    watch.pause(SLICE)?;
                }
                Err(TryLockError::Error(cause)) => {
                    return Err(DownloadError::File { path: lock, cause });
                }
            }
        }
    }

    /// Returns where the part lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes that are here already.
    pub(super) fn length(&self) -> Result<u64, DownloadError> {
        match fs::metadata(&self.path) {
            Ok(data) => Ok(data.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(cause) => Err(DownloadError::File { path: self.path.clone(), cause }),
        }
    }

    /// Opens the part for writing at its end.
    pub(super) fn append(&self) -> Result<File, DownloadError> {
        let opened = OpenOptions::new().create(true).append(true).open(&self.path);
        opened.map_err(DownloadError::file(&self.path))
    }

    /// Throws away what is here.
    pub(super) fn clear(&self) -> Result<(), DownloadError> {
        remove(&self.path)
    }

    /// Keeps a wrong file for the user to look at, in place of earlier ones of this name.
    pub(super) fn set_aside(
        &self,
        name: &FileName,
        watch: &mut Watch<'_>,
    ) -> Result<PathBuf, DownloadError> {
        let sha256 = verify::hash_of(&self.path, watch)?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        for entry in fs::read_dir(folder).map_err(DownloadError::file(folder))? {
            let entry = entry.map_err(DownloadError::file(folder))?;
            if entry.file_name().to_str().is_some_and(|other| is_bad_file_of(name, other)) {
                remove(&entry.path())?;
            }
        }
        let aside = folder.join(format!("{name}.{}.bad", sha256.short()));
        fs::rename(&self.path, &aside).map_err(DownloadError::file(&aside))?;
        Ok(aside)
    }
}

/// Removes parts that are no longer needed, except those that another process writes.
pub(super) fn remove_all(folder: &Path, keys: impl Iterator<Item = String>) {
    for key in keys {
        let (part, lock) = paths(folder, &key);
        // What cannot be removed now wastes space but does no harm: the file itself is here.
        if part.exists()
            && let Ok(lock) = open_lock(&lock)
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_file(part);
        }
    }
}

fn paths(folder: &Path, key: &str) -> (PathBuf, PathBuf) {
    (folder.join(format!("{key}.part")), folder.join(format!("{key}.lock")))
}

/// Lock files stay: whoever removed one could let two others lock different files of its name.
fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

fn is_bad_file_of(name: &FileName, other: &str) -> bool {
    other
        .strip_prefix(name.as_str())
        .and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".bad"))
        .is_some_and(|hash| hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn remove(path: &Path) -> Result<(), DownloadError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DownloadError::File { path: path.to_owned(), cause: error })
        }
        _ => Ok(()),
    }
}
