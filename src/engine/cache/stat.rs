//! What the system says about files and folders without reading them.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::CacheError;
use crate::engine::digest::listing;

/// Some file systems keep times to two seconds.
const GRANULARITY: i64 = 2;

/// What the system says about a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// Asks about a file, or about everything in a folder.
    pub fn of(path: &Path) -> Result<Self, CacheError> {
        let about = fs::metadata(path).map_err(CacheError::at(path))?;
        if about.is_dir() {
            Self::of_folder(path).map_err(CacheError::at(path))
        } else {
            Ok(Self::of_file(&about))
        }
    }

    pub(super) fn of_file(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// Sums up the stamps of everything in a folder; the inode stands for all names and stamps.
    fn of_folder(folder: &Path) -> std::io::Result<Self> {
        let mut all = Vec::new();
        let mut sum = Self { device: 0, inode: 0, bytes: 0, modified: (0, 0), changed: (0, 0) };
        for (name, _, about) in listing(folder)? {
            let one = Self::of_file(&about);
            // No name has a zero in it, so no two folders look alike.
            all.extend(name.as_bytes());
            all.push(0);
            one.write(&mut all);
            sum.device = one.device;
            sum.bytes += one.bytes;
            sum.modified = sum.modified.max(one.modified);
            sum.changed = sum.changed.max(one.changed);
        }
        let hash = blake3::hash(&all);
        let (first, _) = hash.as_bytes().split_first_chunk().unwrap_or((&[0; 8], &[]));
        // SQLite's numbers are signed.
        sum.inode = u64::from_le_bytes(*first) >> 1;
        Ok(sum)
    }

    /// Returns whether it is of a file of this size.
    pub(super) fn is_of(&self, bytes: u64) -> bool {
        self.bytes == bytes
    }

    /// Adds all that it says, in a fixed number of bytes.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        for number in [self.device, self.inode, self.bytes] {
            bytes.extend(number.to_le_bytes());
        }
        for (seconds, rest) in [self.modified, self.changed] {
            bytes.extend(seconds.to_le_bytes());
            bytes.extend(rest.to_le_bytes());
        }
    }

    /// Returns whether a change after `now` would show.
    pub(super) fn at_rest(&self, now: u64) -> bool {
        let last = self.modified.0.max(self.changed.0);
        i64::try_from(now).is_ok_and(|now| last + GRANULARITY < now)
    }
}
