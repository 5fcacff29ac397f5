//! Files by digest.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::stat::FileStamp;
use crate::engine::digest::ContentDigest;
use crate::engine::stage::artifact::{StoredArtifact, StoredFile};

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
        match fs::metadata(&path) {
            Err(_) => Err(damage(file, &path, "is missing")),
            Ok(about) if about.len() != file.bytes => {
                Err(damage(file, &path, "has the wrong size"))
            }
            Ok(about) => Ok(FileStamp::of_file(&about)),
        }
    }

    /// Checks an artifact's files; the error says what is wrong with which.
    pub(super) fn check(&self, artifact: &StoredArtifact, check: Check) -> Result<(), String> {
        for file in &artifact.files {
            let path = self.path(&file.digest);
            let damage = |what| Err(damage(file, &path, what));
            let found = if file.bytes <= SMALL {
                read_expected(&path, file.bytes)
                    .map(|content| (content.len() as u64, Some(ContentDigest::of_bytes(&content))))
            } else if check == Check::Everything {
                fs::metadata(&path).map(|about| {
                    let whole = about.len() == file.bytes;
                    let digest = whole.then(|| ContentDigest::of_file(&path).ok());
                    (about.len(), digest.flatten())
                })
            } else {
                // As if it had been hashed.
                fs::metadata(&path).map(|about| (about.len(), Some(file.digest)))
            };
            match found {
                Err(_) => return damage("is missing"),
                Ok((bytes, _)) if bytes != file.bytes => return damage("has the wrong size"),
                Ok((_, digest)) if digest != Some(file.digest) => {
                    return damage("has changed since it was stored");
                }
                Ok(_) => {}
            }
        }
        Ok(())
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
