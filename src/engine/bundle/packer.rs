//! Writes a bundle: equal contents give equal bytes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::bounds::{LARGEST_TOTAL, MOST_FILES, is_suspicious};
use super::error::BundleError;
use super::inventory::{About, INVENTORY, Inventory, ListedFile};
use super::layout::{Directory, Member};
use super::names;
use crate::engine::digest::ContentDigest;
use crate::engine::remote::SecretKey;
use crate::engine::remote::signed_manifest::SignedManifest;
use crate::engine::stage::artifact::StoredFile;
use crate::engine::system::regular_file;

/// Collects what goes into a bundle.
#[derive(Debug)]
pub struct Packer {
    about: About,
    files: BTreeMap<String, (ListedFile, Content)>,
}

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    File(PathBuf),
}

impl Content {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(&bytes[..]),
            Self::File(path) => Box::new(regular_file::open(path)?),
        })
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The size of the bundle.
    pub bytes: u64,
    /// How many files are in it.
    pub files: usize,
}

impl Packer {
    /// Begins a bundle.
    pub fn new(about: About) -> Self {
        Self { about, files: BTreeMap::new() }
    }

    /// Adds a file that is in memory.
    pub fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let (name, bytes) = (name.into(), bytes.into());
        let digest = ContentDigest::of_bytes(&bytes);
        let listed = ListedFile { name: name.clone(), bytes: bytes.len() as u64, digest };
        self.files.insert(name, (listed, Content::Bytes(bytes)));
    }

    /// Adds a file on disk.
    pub fn add_file(&mut self, name: impl Into<String>, path: &Path) -> Result<(), BundleError> {
        let about = |path: &Path| -> io::Result<(u64, ContentDigest)> {
            Ok((fs::metadata(path)?.len(), ContentDigest::of_file(path)?))
        };
        let (bytes, digest) = about(path).map_err(BundleError::at(path))?;
        let name = name.into();
        let listed = ListedFile { name: name.clone(), bytes, digest };
        self.files.insert(name, (listed, Content::File(path.to_owned())));
        Ok(())
    }

    /// Adds a file of a result, whose digest is known.
    pub fn add_stored(&mut self, name: impl Into<String>, file: &StoredFile, path: &Path) {
        let name = name.into();
        let listed = ListedFile { name: name.clone(), bytes: file.bytes, digest: file.digest };
        self.files.insert(name, (listed, Content::File(path.to_owned())));
    }

    /// Returns whether a file of this name has been added.
    pub fn contains(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Returns everything that has been added, sorted by name.
    pub fn files(&self) -> impl Iterator<Item = &ListedFile> {
        self.files.values().map(|(file, _)| file)
    }

    /// Writes the bundle, whole or not at all, and signs it if there is a key.
    pub fn write(&self, path: &Path, key: Option<&SecretKey>) -> Result<Packed, BundleError> {
        self.check()?;
        let files = self.files().cloned().collect();
        let inventory = Inventory::new(self.about.clone(), files).text().into_bytes();
        let inventory = SignedManifest::new(inventory, key)?.to_bytes();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
        let written = self.write_all(&temporary, inventory).and_then(|bytes| {
            fs::rename(&temporary, path).map_err(BundleError::at(path))?;
            Ok(Packed { bytes, files: self.files.len() })
        });
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Makes sure that whoever reads it will take it.
    fn check(&self) -> Result<(), BundleError> {
        let unpackable =
            |name: &str, what: String| Err(BundleError::Unpackable { name: name.to_owned(), what });
        for name in self.files.keys() {
            if let Some(problem) = names::problem(name) {
                return unpackable(name, problem);
            }
        }
        if let Some(problem) = names::clash(self.files.keys().map(String::as_str)) {
            return unpackable(&self.about.pipeline, problem);
        }
        let bytes = self.files().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
        if self.files.len() as u64 >= MOST_FILES || bytes > LARGEST_TOTAL {
            let files = self.files.len();
            return unpackable(&self.about.pipeline, format!("{files} files of {bytes} bytes"));
        }
        Ok(())
    }

    fn write_all(&self, path: &Path, inventory: Vec<u8>) -> Result<u64, BundleError> {
        let at = BundleError::at(path);
        let file = File::options().write(true).create_new(true).open(path).map_err(&at)?;
        let mut out = Out { file, at: 0, path };
        let first = ListedFile {
            name: INVENTORY.to_owned(),
            bytes: inventory.len() as u64,
            digest: ContentDigest::of_bytes(&inventory),
        };
        let first = (first, Content::Bytes(inventory));
        let mut directory = Vec::new();
        for (listed, content) in std::iter::once(&first).chain(self.files.values()) {
            directory.extend(out.member(listed, content)?.central_header());
        }
        let (start, length) = (out.at, directory.len() as u64);
        let end = Directory { members: self.files.len() as u64 + 1, start, length }.end();
        out.file.write_all(&directory).and_then(|()| out.file.write_all(&end)).map_err(&at)?;
        out.file.sync_all().map_err(&at)?;
        Ok(start + length + end.len() as u64)
    }
}

/// The archive that is being written.
struct Out<'a> {
    file: File,
    /// Where the next file begins.
    at: u64,
    path: &'a Path,
}

impl Out<'_> {
    /// Writes a file: deflated, unless that makes it no smaller or so small that readers take fright.
    fn member(&mut self, listed: &ListedFile, content: &Content) -> Result<Member, BundleError> {
        let mut member = Member {
            name: listed.name.clone(),
            is_deflated: true,
            crc: 0,
            packed: 0,
            bytes: listed.bytes,
            offset: self.at,
        };
        let start = self.at + member.local_header().len() as u64;
        (member.packed, member.crc) =
            self.content(listed, content, start, Compression::default())?;
        if member.packed >= member.bytes || is_suspicious(member.bytes, member.packed) {
            member.is_deflated = false;
            (member.packed, member.crc) =
                self.content(listed, content, start, Compression::none())?;
        }
        let header = member.local_header();
        let at = BundleError::at(self.path);
        self.file.seek(SeekFrom::Start(self.at)).map_err(&at)?;
        self.file.write_all(&header).map_err(&at)?;
        self.at = start + member.packed;
        self.file.seek(SeekFrom::Start(self.at)).map_err(&at)?;
        Ok(member)
    }

    /// Writes the content of a file from a place on, deflated or, without compression, as it is; returns
    /// its size there and its checksum.
    fn content(
        &mut self,
        listed: &ListedFile,
        content: &Content,
        start: u64,
        level: Compression,
    ) -> Result<(u64, u32), BundleError> {
        let at = BundleError::at(self.path);
        self.file.set_len(start).map_err(&at)?;
        self.file.seek(SeekFrom::Start(start)).map_err(&at)?;
        let unreadable = |cause: io::Error| BundleError::Unpackable {
            name: listed.name.clone(),
            what: cause.to_string(),
        };
        let mut source = Checked {
            source: content.open().map_err(unreadable)?,
            hasher: blake3::Hasher::new(),
            crc: Crc::new(),
        };
        let mut writer = BufWriter::new(&mut self.file);
        if level == Compression::none() {
            io::copy(&mut source, &mut writer).map_err(unreadable)?;
        } else {
            let mut encoder = DeflateEncoder::new(&mut writer, level);
            io::copy(&mut source, &mut encoder).map_err(unreadable)?;
            encoder.finish().map_err(&at)?;
        }
        writer.flush().map_err(&at)?;
        drop(writer);
        if ContentDigest::of_hash(source.hasher.finalize()) != listed.digest {
            let what = "its bytes are not the ones that were stored".to_owned();
            return Err(BundleError::Unpackable { name: listed.name.clone(), what });
        }
        let end = self.file.stream_position().map_err(&at)?;
        Ok((end - start, source.crc.sum()))
    }
}

/// What is being read, with its digests so far.
struct Checked<'a> {
    source: Box<dyn Read + 'a>,
    hasher: blake3::Hasher,
    crc: Crc,
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.crc.update(&buffer[..read]);
        Ok(read)
    }
}
