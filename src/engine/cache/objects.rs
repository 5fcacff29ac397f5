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

/// What is wrong with a file.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// Where the file is.
    pub(super) path: PathBuf,
    /// In words, with its name.
    pub(super) message: String,
    /// Whether other bytes lie there than were stored; else it is absent or can't be read.
    pub(super) is_wrong: bool,
}

impl Fault {
    fn wrong(file: &StoredFile, path: PathBuf, what: &str) -> Self {
        let message = format!("{} {what} ({})", file.name, path.display());
        Self { path, message, is_wrong: true }
    }

    fn unreadable(file: &StoredFile, path: PathBuf, cause: &io::Error) -> Self {
        let what = match cause.kind() {
            io::ErrorKind::NotFound => "is missing".to_owned(),
            _ => format!("can't be read: {cause}"),
        };
        Self { is_wrong: false, ..Self::wrong(file, path, &what) }
    }
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

    /// Asks about a file without reading it.
    pub(super) fn stamp(&self, file: &StoredFile) -> Result<FileStamp, Fault> {
        let path = self.path(&file.digest);
        let about = match fs::metadata(&path) {
            Ok(about) => about,
            Err(cause) => return Err(Fault::unreadable(file, path, &cause)),
        };
        if !about.is_file() {
            let what = format!("is {}", file_type::name(about.file_type()));
            Err(Fault::wrong(file, path, &what))
        } else if about.len() != file.bytes {
            Err(Fault::wrong(file, path, "has the wrong size"))
        } else {
            Ok(FileStamp::of_file(&about))
        }
    }

    /// Makes sure that a file has the digest that it is stored under.
    pub(super) fn check_digest(&self, file: &StoredFile) -> Result<(), Fault> {
        self.stamp(file)?;
        let path = self.path(&file.digest);
        let found = if is_small(file) {
            read_expected(&path, file.bytes).map(|content| ContentDigest::of_bytes(&content))
        } else {
            ContentDigest::of_file(&path)
        };
        match found {
            Ok(digest) if digest == file.digest => Ok(()),
            Ok(_) => Err(Fault::wrong(file, path, "has changed since it was stored")),
            Err(cause) => Err(Fault::unreadable(file, path, &cause)),
        }
    }

    /// Checks an artifact's files.
    pub(super) fn check(&self, artifact: &StoredArtifact, check: Check) -> Result<(), Fault> {
        for file in &artifact.files {
            if is_small(file) || check == Check::Everything {
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
