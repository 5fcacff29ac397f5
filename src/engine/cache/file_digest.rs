//! Digests of outside files and folders, remembered while the file is surely the same.
//!
//! A remembered digest counts only if inode, size and both times are unchanged *and* the file was
//! already at rest when it was hashed: a file changed within the clock's granularity of the hash
//! could have been changed again without a trace.

use std::path::Path;

use super::error::CacheError;
use super::index::Index;
use super::stat::FileStamp;
use crate::engine::digest::ContentDigest;
use crate::engine::system::clock;

/// Returns the digest of a file or folder, from memory if it is surely unchanged.
pub(super) fn digest(index: &Index, path: &Path) -> Result<ContentDigest, CacheError> {
    let stamp = FileStamp::of(path)?;
    // Memory saves time, no more: what fails there has nothing to do with the file.
    if let Ok(Some((known, digest))) = index.known_file(path)
        && known == stamp
    {
        return Ok(digest);
    }
    let now = clock::now();
    let digest = ContentDigest::of_path(path).map_err(CacheError::at(path))?;
    if stamp.at_rest(now) {
        let _ = index.remember_file(path, &stamp, &digest);
    }
    Ok(digest)
}
