//! Files by digest.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::stat::FileStamp;
use crate::engine::digest::ContentDigest;
use crate::engine::stage::artifact::{StoredArtifact, StoredFile};
use crate::engine::system::file_type;

/// Files up to this size are hashed; reading them costs next to nothing.
const SMALL: u64 = 64 << 10;

/// How thoroughly a hit is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every size, and the digest of small files.
    Small,
    /// Every digest.
    Everything,
}

/// The folder of files by digest.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    root: PathBuf,
}

impl Objects {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Returns where a file is or belongs.
    pub(super) fn path(&self, digest: &ContentDigest) -> PathBuf {
        let name = digest.to_string();
        self.root.join(&name[..2]).join(&name[2..])
    }

    /// Asks about a file without reading it; the error says what is wrong.
    pub(super) fn stamp(&self, file: &StoredFile) -> Result<FileStamp, String> {
        let path = self.path(&file.digest);
        let about = fs::metadata(&path).map_err(|cause| damage(file, &path, &absence(&cause)))?;
        if !about.is_file() {
            Err(damage(file, &path, &format!("is {}", file_type::name(about.file_type()))))
        } else if about.len() != file.bytes {
            Err(damage(file, &path, "has the wrong size"))
        } else {
            Ok(FileStamp::of_file(&about))
        }
    }

    /// Returns whether a file has the digest that it is stored under; the error says what is wrong.
    pub(super) fn check_digest(&self, file: &StoredFile) -> Result<(), String> {
        self.stamp(file)?;
        let path = self.path(&file.digest);
        let found = if file.bytes <= SMALL {
            read_expected(&path, file.bytes).map(|content| ContentDigest::of_bytes(&content))
        } else {
            ContentDigest::of_file(&path)
        };
        match found {
            Ok(digest) if digest == file.digest => Ok(()),
            Ok(_) => Err(damage(file, &path, "has changed since it was stored")),
            Err(cause) => Err(damage(file, &path, &absence(&cause))),
        }
    }

    /// Checks an artifact's files; the error says what is wrong with which.
    pub(super) fn check(&self, artifact: &StoredArtifact, check: Check) -> Result<(), String> {
        for file in &artifact.files {
            if file.bytes <= SMALL || check == Check::Everything {
                self.check_digest(file)?;
            } else {
                self.stamp(file)?;
            }
        }
        Ok(())
    }
}

/// Returns whether a file is so small that it is hashed whenever it is used.
pub(super) fn is_small(file: &StoredFile) -> bool {
    file.bytes <= SMALL
}

/// Says why a file can't be read.
fn absence(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "is missing".to_owned(),
        _ => format!("can't be read: {cause}"),
    }
}

fn damage(file: &StoredFile, path: &Path, what: &str) -> String {
    format!("{} {what} ({})", file.name, path.display())
}

/// Reads a file that should have so many bytes; of a longer one, one byte more.
///
/// By a single call where it has.
fn read_expected(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut content = vec![0; bytes as usize + 1];
    let mut filled = 0;
    loop {
        let read = file.read(&mut content[filled..])?;
        filled += read;
        if read == 0 || filled as u64 >= bytes {
            content.truncate(filled);
            return Ok(content);
        }
    }
}
