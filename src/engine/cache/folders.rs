//! The folders of a cache: what is in them, and how it is removed.

use std::fs::{self, DirEntry, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::CacheError;

/// Removes a file or a folder, whatever lies there; it may be gone already.
pub(super) fn remove(path: &Path) -> Result<(), CacheError> {
    let once = || match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(cause) => Err(cause),
    };
    let mut removed = once();
    if removed.as_ref().is_err_and(|cause| cause.kind() == ErrorKind::PermissionDenied) {
        make_writable(path);
        removed = once();
    }
    match removed {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(CacheError::at(path)(cause)),
        _ => Ok(()),
    }
}

/// Moves a folder in place of an empty one or of none, if it is there.
pub(super) fn move_if_there(from: &Path, to: &Path) -> Result<(), CacheError> {
    match fs::rename(from, to) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(CacheError::at(from)(cause)),
        _ => Ok(()),
    }
}

/// Gives the right to remove what is in folders that a program has protected.
fn make_writable(folder: &Path) {
    if fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir()) {
        let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
        for item in fs::read_dir(folder).into_iter().flatten().flatten() {
            make_writable(&item.path());
        }
    }
}

/// Returns whether a folder has anything in it.
pub(super) fn is_filled(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut items| items.next().is_some())
}

/// Returns the names of what is in a folder, as far as they are text.
pub(super) fn names_in(folder: &Path) -> Vec<String> {
    let name = |item: DirEntry| item.file_name().into_string().ok();
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(name).collect()
}

/// Returns every file two levels below a folder.
pub(super) fn files_below(folder: &Path) -> Result<Vec<PathBuf>, CacheError> {
    let mut found = Vec::new();
    for shard in fs::read_dir(folder).map_err(CacheError::at(folder))? {
        let shard = shard.map_err(CacheError::at(folder))?.path();
        if shard.is_dir() {
            for file in fs::read_dir(&shard).map_err(CacheError::at(&shard))? {
                found.push(file.map_err(CacheError::at(&shard))?.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
