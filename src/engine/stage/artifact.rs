//! Artifacts: what a stage leaves behind, as files that other programs can open.
//!
//! An artifact is one or more named files. Its bytes hold results only: never a time, a host or a
//! path, so that equal results have equal digests and stop reruns downstream.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Component, Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::engine::digest::ContentDigest;
use crate::engine::digest::encoding::Encoder;

/// The kind of an artifact, such as `train-images` or `table`.
pub type ArtifactKind = &'static str;

/// Why an artifact could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A file of the artifact failed.
    #[error("{name}: {cause}")]
    File {
        /// The file's name inside the artifact.
        name: String,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The artifact lacks a file that its kind promises.
    #[error("the artifact has no file `{name}`, only {}", present.join(", "))]
    Missing {
        /// The file that was wanted.
        name: String,
        /// The files that are there.
        present: Vec<String>,
    },
    /// A file holds something else than its kind promises.
    #[error("{name} is invalid: {reason}")]
    Malformed {
        /// The file's name inside the artifact.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file name that would leave the artifact's folder.
    #[error("`{0}` can't be a file of an artifact: use a plain relative path")]
    BadName(String),
}

impl ArtifactError {
    /// Names the file that an I/O error is about.
    pub fn file(name: &str) -> impl FnOnce(io::Error) -> Self {
        let name = name.to_owned();
        move |cause| Self::File { name, cause }
    }

    /// Says that a file does not hold what it should.
    pub fn malformed(name: &str, reason: impl ToString) -> Self {
        Self::Malformed { name: name.to_owned(), reason: reason.to_string() }
    }
}

/// A value that is kept in the cache.
pub trait Artifact: Sized {
    /// The artifact kinds that this type can be read from.
    const KINDS: &'static [ArtifactKind];

    /// Writes the value's files.
    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError>;

    /// Reads the value back.
    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError>;
}

/// Gives out the files of an artifact that is being made.
#[derive(Debug)]
pub struct ArtifactWriter {
    folder: PathBuf,
    /// Names that were given out: what else is in the folder does not belong to the artifact.
    names: RefCell<BTreeSet<String>>,
}

impl ArtifactWriter {
    /// Writes into an existing folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, names: RefCell::default() }
    }

    /// Returns the names of all files that were asked for.
    pub fn names(&self) -> BTreeSet<String> {
        self.names.borrow().clone()
    }

    /// Returns the path for a file, making its parent folders.
    pub fn path(&self, name: &str) -> Result<PathBuf, ArtifactError> {
        let path = self.folder.join(plain_path(name)?);
        self.names.borrow_mut().insert(name.to_owned());
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(ArtifactError::file(name))?;
        }
        Ok(path)
    }

    /// Creates a file.
    pub fn create(&mut self, name: &str) -> Result<BufWriter<File>, ArtifactError> {
        let file = File::create(self.path(name)?).map_err(ArtifactError::file(name))?;
        Ok(BufWriter::new(file))
    }

    /// Writes a whole file.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        fs::write(self.path(name)?, bytes).map_err(ArtifactError::file(name))
    }

    /// Returns a reader for files that have been written.
    pub fn reader(&self, names: &[&str]) -> Result<ArtifactReader, ArtifactError> {
        let files = names.iter().map(|name| Ok(((*name).to_owned(), self.path(name)?)));
        files.collect::<Result<_, _>>().map(ArtifactReader::new)
    }

    /// Writes a value as indented JSON.
    pub fn write_json(&mut self, name: &str, value: &impl Serialize) -> Result<(), ArtifactError> {
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|error| ArtifactError::malformed(name, error))?;
        text.push('\n');
        self.write(name, text.as_bytes())
    }
}

/// Opens the files of a finished artifact.
#[derive(Clone, Debug, Default)]
pub struct ArtifactReader {
    files: BTreeMap<String, PathBuf>,
}

impl ArtifactReader {
    /// Reads from files by name.
    pub fn new(files: BTreeMap<String, PathBuf>) -> Self {
        Self { files }
    }

    /// Returns the names and paths of all files.
    pub fn files(&self) -> &BTreeMap<String, PathBuf> {
        &self.files
    }

    /// Returns where a file is.
    pub fn path(&self, name: &str) -> Result<&Path, ArtifactError> {
        self.files.get(name).map(PathBuf::as_path).ok_or_else(|| ArtifactError::Missing {
            name: name.to_owned(),
            present: self.files.keys().cloned().collect(),
        })
    }

    /// Opens a file.
    pub fn open(&self, name: &str) -> Result<BufReader<File>, ArtifactError> {
        let file = File::open(self.path(name)?).map_err(ArtifactError::file(name))?;
        Ok(BufReader::new(file))
    }

    /// Reads a whole file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, ArtifactError> {
        fs::read(self.path(name)?).map_err(ArtifactError::file(name))
    }

    /// Reads a JSON file.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, ArtifactError> {
        serde_json::from_slice(&self.read(name)?)
            .map_err(|error| ArtifactError::malformed(name, error))
    }
}

/// A file of a stored artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Its name inside the artifact.
    pub name: String,
    /// The digest of its bytes.
    pub digest: ContentDigest,
    /// Its size.
    pub bytes: u64,
}

/// An artifact in the cache: its kind and files, in name order.
///
/// One that was read is what its digest says, and none of its names leaves a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenArtifact")]
pub struct StoredArtifact {
    /// What it holds.
    pub kind: String,
    /// The digest of kind, names and contents.
    pub digest: ContentDigest,
    /// Its files, sorted by name.
    pub files: Vec<StoredFile>,
}

impl StoredArtifact {
    /// Describes files that are in the cache.
    pub fn new(kind: &str, mut files: Vec<StoredFile>) -> Self {
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let mut encoder = Encoder::default();
        encoder.text(kind);
        encoder.count(files.len());
        for file in &files {
            encoder.text(&file.name);
            encoder.text(&file.digest.to_string());
        }
        let digest = ContentDigest::of_hash(encoder.finish("pcae-run artifact v1"));
        Self { kind: kind.to_owned(), digest, files }
    }

    /// Returns the size of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// An artifact as a manifest has it, to be checked.
#[derive(Deserialize)]
struct WrittenArtifact {
    kind: String,
    digest: ContentDigest,
    files: Vec<StoredFile>,
}

impl TryFrom<WrittenArtifact> for StoredArtifact {
    type Error = String;

    fn try_from(written: WrittenArtifact) -> Result<Self, String> {
        let WrittenArtifact { kind, digest, files } = written;
        if files.is_empty() {
            return Err("it has no files".to_owned());
        }
        for file in &files {
            plain_path(&file.name).map_err(|error| error.to_string())?;
        }
        if !files.is_sorted_by(|a, b| a.name < b.name) {
            return Err("its files are not in order of their names".to_owned());
        }
        let total = files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes));
        if total.is_none_or(|total| i64::try_from(total).is_err()) {
            return Err("the sizes of its files are impossible".to_owned());
        }
        let artifact = Self::new(&kind, files);
        let same = artifact.digest == digest;
        same.then_some(artifact).ok_or_else(|| "its digest is not that of its files".to_owned())
    }
}

/// Returns the path if it stays inside its folder.
pub fn plain_path(name: &str) -> Result<&Path, ArtifactError> {
    let path = Path::new(name);
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    if inside && !name.is_empty() { Ok(path) } else { Err(ArtifactError::BadName(name.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_can_not_leave_its_artifact() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArtifactWriter::new(folder.path().to_owned());
        writer.write("deep/inside.txt", b"ok").unwrap();
        for name in ["../out", "/etc/x", "", "a/../../b"] {
            assert!(matches!(writer.write(name, b""), Err(ArtifactError::BadName(_))), "{name}");
        }
    }

    #[test]
    fn an_artifact_is_read_only_if_it_is_what_it_says() {
        let file = |name: &str, bytes: u64| StoredFile {
            name: name.to_owned(),
            digest: ContentDigest::of_bytes(b"1"),
            bytes,
        };
        let read = |kind: &str, files: Vec<StoredFile>| {
            let StoredArtifact { digest, files, .. } = StoredArtifact::new("k", files);
            let text = serde_json::json!({"kind": kind, "digest": digest, "files": files});
            serde_json::from_value::<StoredArtifact>(text).map_err(|error| error.to_string())
        };
        assert!(read("k", vec![file("deep/a", 1), file("b", 2)]).is_ok());
        for (kind, files, why) in [
            ("k", vec![], "no files"),
            ("k", vec![file("../../x", 1)], "plain relative path"),
            ("k", vec![file("/abs/x", 1)], "plain relative path"),
            ("k", vec![file("a", 1), file("a", 1)], "in order"),
            ("k", vec![file("a", 1 << 63)], "impossible"),
            ("k", vec![file("a", u64::MAX), file("b", 1)], "impossible"),
            ("other", vec![file("a", 1)], "digest"),
        ] {
            let error = read(kind, files).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn names_and_contents_make_the_digest_but_not_their_order() {
        let file = |name: &str, text: &str| StoredFile {
            name: name.to_owned(),
            digest: ContentDigest::of_bytes(text.as_bytes()),
            bytes: 1,
        };
        let digest = |files| StoredArtifact::new("k", files).digest;
        let both = digest(vec![file("a", "1"), file("b", "2")]);
        assert_eq!(both, digest(vec![file("b", "2"), file("a", "1")]));
        assert_ne!(both, digest(vec![file("a", "2"), file("b", "1")]));
    }
}
