//! Digests and keys: the same 32 bytes of BLAKE3, in types that never mix.
//!
//! A [`ContentDigest`] names bytes, a [`StageKey`] names a computation, a [`TrajectoryKey`] names the
//! state that longer and shorter computations share. There is no conversion between them, so a key
//! can't be stored where a digest belongs.

pub mod encoding;

use std::fmt;
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, Read as _};
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::encoding::Encoder;
use crate::engine::system::{parallel, regular_file};

/// Marks a digest of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {}

/// Marks a digest of a key record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {}

/// Marks a digest of a key record without the settings that say how far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trajectory {}

/// A digest of the bytes of a file or an artifact.
pub type ContentDigest = Digest<Content>;

/// The identity of one computation: kind, version, settings and input contents.
pub type StageKey = Digest<Key>;

/// The identity of what computations share that differ only in how far they go.
pub type TrajectoryKey = Digest<Trajectory>;

/// A BLAKE3 digest whose type says what it identifies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest<T> {
    bytes: [u8; 32],
    names: PhantomData<T>,
}

impl<T> Digest<T> {
    /// Wraps a finished hash.
    pub fn of_hash(hash: blake3::Hash) -> Self {
        Self { bytes: *hash.as_bytes(), names: PhantomData }
    }

    /// Returns the bytes of the hash.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Returns the hexadecimal digits.
    pub fn hex(&self) -> impl Deref<Target = str> + use<T> {
        blake3::Hash::from_bytes(self.bytes).to_hex()
    }

    /// Returns the first eight hexadecimal digits, for people.
    pub fn short(&self) -> String {
        self.hex()[..8].to_owned()
    }
}

impl ContentDigest {
    /// Hashes bytes in memory.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::of_hash(blake3::hash(bytes))
    }

    /// Hashes a file that this process has just written, on all cores where it is large.
    pub fn of_own_file(path: &Path) -> io::Result<Self> {
        const LARGE: u64 = 4 << 20;
        if fs::metadata(path)?.len() < LARGE {
            return Self::of_file(path);
        }
        // Mapped: a file that became shorter or unreadable meanwhile would end the process.
        Ok(Self::of_hash(blake3::Hasher::new().update_mmap_rayon(path)?.finalize()))
    }

    /// Hashes a file that may change meanwhile, in constant memory; a large one on all cores.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        const SMALL_PIECE: usize = 1 << 16;
        const LARGE_PIECE: usize = 1 << 22;
        let mut file = regular_file::open(path)?;
        let is_large = file.metadata()?.len() >= LARGE_PIECE as u64;
        let mut buffer = vec![0; if is_large { LARGE_PIECE } else { SMALL_PIECE }];
        let mut hasher = blake3::Hasher::new();
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(Self::of_hash(hasher.finalize()));
            }
            if is_large {
                hasher.update_rayon(&buffer[..read]);
            } else {
                hasher.update(&buffer[..read]);
            }
        }
    }

    /// Hashes a file, or the names and contents of everything in a folder.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        if !path.is_dir() {
            return Self::of_file(path);
        }
        let files = files_in(path)?;
        let digests = parallel::map(&files, |(_, file)| Self::of_file(file));
        let mut encoder = Encoder::default();
        encoder.count(files.len());
        for ((name, _), digest) in files.iter().zip(digests) {
            encoder.text(name);
            encoder.text(&digest?.hex());
        }
        Ok(Self::of_hash(encoder.finish("pcae-run folder v1")))
    }
}

/// Returns every file below a folder with its name from there, in order of names. Hidden files, which
/// programs leave behind by themselves, do not count.
pub fn files_in(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    Ok(listing(folder)?.into_iter().map(|(name, path, _)| (name, path)).collect())
}

/// Returns the files below a folder as [`files_in`] does, with what the system says about them.
pub(crate) fn listing(folder: &Path) -> io::Result<Vec<(String, PathBuf, Metadata)>> {
    const DEEPEST: usize = 32;
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), folder.to_owned(), 0)];
    while let Some((prefix, folder, depth)) = folders.pop() {
        if depth > DEEPEST {
            let message = format!("{} is nested too deeply, or links to itself", folder.display());
            return Err(io::Error::other(message));
        }
        let mut items = fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
        items.sort_by_cached_key(DirEntry::file_name);
        for item in parallel::map(&items, ask) {
            let Some((name, path, about)) = item? else {
                continue;
            };
            let name = format!("{prefix}{name}");
            if about.is_dir() {
                folders.push((format!("{name}/"), path, depth + 1));
            } else {
                regular_file::check(&about)
                    .map_err(|cause| about_path(&path, &cause.to_string()))?;
                found.push((name, path, about));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Asks about an item of a folder, unless it is hidden.
fn ask(item: &DirEntry) -> io::Result<Option<(String, PathBuf, Metadata)>> {
    let path = item.path();
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(about_path(&path, "its name is not valid text"));
    };
    if name.starts_with('.') {
        return Ok(None);
    }
    // The item itself is faster to ask than its path, but does not follow links.
    let is_link = item.file_type().is_ok_and(|kind| kind.is_symlink());
    let about = if is_link { fs::metadata(&path) } else { item.metadata() };
    let about = about.map_err(|cause| about_path(&path, &cause.to_string()))?;
    Ok(Some((name.to_owned(), path, about)))
}

fn about_path(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

impl<T> fmt::Display for Digest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl<T> fmt::Debug for Digest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

impl<T> FromStr for Digest<T> {
    type Err = blake3::HexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::of_hash(blake3::Hash::from_hex(text)?))
    }
}

impl<T> Serialize for Digest<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T> Deserialize<'de> for Digest<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits<T>(PhantomData<T>);
        impl<T> Visitor<'_> for Digits<T> {
            type Value = Digest<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 hexadecimal digits")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Digits(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn text_form_round_trips() {
        let digest = ContentDigest::of_bytes(b"ellipse");
        assert_eq!(digest.to_string().parse::<ContentDigest>().unwrap(), digest);
        assert_eq!(digest.short().len(), 8);
    }

    #[test]
    fn a_file_has_the_digest_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let bytes = vec![7_u8; 200_000];
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(ContentDigest::of_file(&path).unwrap(), ContentDigest::of_bytes(&bytes));
        for size in [0, 5, 10_000_000] {
            let bytes: Vec<u8> = (0..size).map(|at: u32| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let digest = ContentDigest::of_own_file(&path).unwrap();
            assert_eq!(digest, ContentDigest::of_bytes(&bytes));
        }
    }

    #[test]
    fn a_named_pipe_has_no_digest_and_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&pipe, folder.path()] {
            let refused = ContentDigest::of_path(path).unwrap_err().to_string();
            assert!(refused.ends_with("it is a named pipe, not a regular file"), "{refused}");
        }
    }

    #[test]
    fn a_folder_has_the_digest_of_all_names_and_contents_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let digest = || ContentDigest::of_path(folder.path()).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        write("a", "one");
        write("deep/b", "two");
        let first = digest();
        write("deep/b", "three");
        let edited = digest();
        write("deep/b", "two");
        write(".hidden", "left by a file browser");
        assert_eq!(digest(), first);
        fs::rename(folder.path().join("a"), folder.path().join("c")).unwrap();
        let renamed = digest();
        assert!(first != edited && first != renamed && edited != renamed);
    }
}
