//! Results that were computed elsewhere: their files first, then the manifest, as durably as own ones.
//!
//! Files come to lie in `incoming/` until they are whole and have their digest. One that was cut off stays
//! there, and the next import goes on behind it.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::folders::{names_in, remove};
use super::leftovers::remove_if_old;
use super::objects::Objects;
use super::publish::{parent, sync_folder};
use super::{Cache, CacheError, Entry, StoredResult};
use crate::engine::digest::ContentDigest;
use crate::engine::stage::artifact::StoredFile;

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// What came is not what was promised.
    #[error("{0}")]
    Wrong(String),
    /// It could not be read where it comes from.
    #[error(transparent)]
    Source(io::Error),
    /// It could not be written here.
    #[error("{0}")]
    Local(#[from] CacheError),
}

/// Brings files into a cache, on any thread.
#[derive(Clone, Debug)]
pub struct FileImporter {
    objects: Objects,
    incoming: PathBuf,
}

impl FileImporter {
    /// Returns whether the cache has a file, and it is right.
    pub fn has(&self, file: &StoredFile) -> bool {
        self.objects.check_digest(file).is_ok()
    }

    /// Opens where a file is to be written, for this thread alone.
    pub fn begin(&self, file: &StoredFile) -> Result<IncomingFile, CacheError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let at = CacheError::at(&self.incoming);
        fs::create_dir_all(&self.incoming).map_err(&at)?;
        let path = self.incoming.join(format!("{}.part", file.digest));
        let target = open(&path).map_err(&at)?;
        // Of what another process is writing just now, a second copy is made.
        let (path, target) = if target.try_lock().is_ok() {
            (path, target)
        } else {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}.{}-{count}.part", file.digest, std::process::id());
            let path = self.incoming.join(name);
            let target = open(&path).map_err(&at)?;
            (path, target)
        };
        let about = target.metadata().map_err(&at)?;
        let begun = IncomingFile { file: file.clone(), path, target, length: about.len() };
        if begun.length > file.bytes { begun.emptied() } else { Ok(begun) }
    }

    /// Puts a whole file in its place.
    fn finish(&self, incoming: &IncomingFile) -> Result<(), ImportError> {
        let IncomingFile { file, path, target, length } = incoming;
        let at = CacheError::at(path);
        let digest = ContentDigest::of_own_file(path).map_err(&at)?;
        if *length != file.bytes || digest != file.digest {
            let _ = fs::remove_file(path);
            return Err(ImportError::Wrong(format!("{} has the wrong content", file.name)));
        }
        target.sync_all().map_err(&at)?;
        fs::set_permissions(path, Permissions::from_mode(0o444)).map_err(&at)?;
        let to = self.objects.path(&file.digest);
        let folder = parent(&to);
        fs::create_dir_all(folder).map_err(CacheError::at(folder))?;
        // Whatever has come to lie in its place.
        if to.is_dir() {
            remove(&to)?;
        }
        fs::rename(path, &to).map_err(CacheError::at(&to))?;
        sync_folder(folder)?;
        Ok(sync_folder(parent(folder))?)
    }
}

/// A file that comes in piece by piece.
#[derive(Debug)]
pub struct IncomingFile {
    file: StoredFile,
    path: PathBuf,
    target: File,
    length: u64,
}

impl IncomingFile {
    /// Returns how many bytes are here.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns whether all bytes are here.
    pub fn is_whole(&self) -> bool {
        self.length == self.file.bytes
    }

    /// Forgets what is here.
    pub fn emptied(mut self) -> Result<Self, CacheError> {
        self.target.set_len(0).map_err(CacheError::at(&self.path))?;
        self.length = 0;
        Ok(self)
    }

    /// Adds what a reader gives, which begins at `offset` of the file; no more than the file should have.
    pub fn add(&mut self, offset: u64, reader: &mut dyn Read) -> Result<(), ImportError> {
        const PIECE: usize = 1 << 16;
        let at = CacheError::at(&self.path);
        self.target.seek(SeekFrom::Start(offset)).map_err(&at)?;
        self.length = offset;
        let mut piece = vec![0; PIECE];
        loop {
            let read = match reader.read(&mut piece) {
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(ImportError::Source)?,
            };
            if read == 0 {
                return Ok(());
            }
            if self.length + read as u64 > self.file.bytes {
                let _ = self.target.set_len(0);
                self.length = 0;
                return Err(ImportError::Wrong(format!("{} has the wrong size", self.file.name)));
            }
            io::Write::write_all(&mut self.target, &piece[..read]).map_err(&at)?;
            self.length += read as u64;
        }
    }

    /// Checks the content and puts it where the cache looks for it.
    pub fn finish(self, importer: &FileImporter) -> Result<(), ImportError> {
        importer.finish(&self)
    }
}

impl Cache {
    /// Returns what brings files into this cache.
    pub fn importer(&self) -> FileImporter {
        FileImporter { objects: self.objects.clone(), incoming: self.incoming() }
    }

    /// Publishes a result whose files are all here, as if it had been computed here.
    pub fn import_entry(&self, entry: &Entry) -> Result<StoredResult, CacheError> {
        let incoming = self.incoming();
        fs::create_dir_all(&incoming).map_err(CacheError::at(&incoming))?;
        let name = format!("{}.{}.json", entry.key, std::process::id());
        self.write_manifest(entry, &incoming.join(name))?;
        self.index.insert(entry)?;
        Ok(entry.clone().into())
    }

    /// Imports a result with its files, which are opened one after the other as they are needed.
    pub fn import(
        &self,
        entry: &Entry,
        open: &mut dyn FnMut(&StoredFile) -> io::Result<Box<dyn Read>>,
    ) -> Result<StoredResult, ImportError> {
        let importer = self.importer();
        for file in entry.artifact.files.iter().filter(|file| !importer.has(file)) {
            let mut incoming = importer.begin(file)?.emptied()?;
            incoming.add(0, &mut *open(file).map_err(ImportError::Source)?)?;
            incoming.finish(&importer)?;
        }
        Ok(self.import_entry(entry)?)
    }

    /// Removes what was begun and not continued for a while.
    pub(super) fn remove_old_imports(&self) {
        for name in names_in(&self.incoming()) {
            remove_if_old(&self.incoming().join(name));
        }
    }

    fn incoming(&self) -> PathBuf {
        self.root.join("incoming")
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).read(true).write(true).truncate(false).open(path)
}
