//! Results that were computed elsewhere: their files first, then the manifest, as durably as own ones.
//!
//! Files come to lie in `incoming/` until they are whole and have their digest. One that was cut off stays
//! there, and the next import goes on behind it.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::folders::{names_in, remove};
use super::leftovers::remove_if_old;
use super::objects::Objects;
use super::publish::{parent, sync_folder};
use super::{Cache, CacheError, Entry, Lookup, StoredResult};
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::stage::artifact::StoredFile;
use crate::engine::system::host;

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// What came has other bytes than were promised.
    #[error("is not what its manifest says")]
    Wrong,
    /// It could not be read where it comes from.
    #[error("can't be read: {0}")]
    Source(io::Error),
    /// It could not be written here.
    #[error(transparent)]
    Local(#[from] CacheError),
}

/// Opens the bytes of a file of a result, wherever they are.
pub type FileSource<'a> = dyn FnMut(&StoredFile) -> io::Result<Box<dyn Read + 'a>> + 'a;

/// Brings files into a cache, on any thread.
#[derive(Clone, Debug)]
pub struct FileImporter {
    objects: Objects,
    incoming: PathBuf,
}

impl FileImporter {
    /// Opens where a file is to be written, for this thread alone; `None` if the cache has it. While another
    /// thread or process of this host writes it, that is waited for.
    pub fn begin(&self, file: &StoredFile) -> Result<Option<IncomingFile>, CacheError> {
        let at = CacheError::at(&self.incoming);
        loop {
            if self.objects.check_digest(file).is_ok() {
                return Ok(None);
            }
            fs::create_dir_all(&self.incoming).map_err(&at)?;
            // Locks may not reach from host to host.
            let path = self.incoming.join(format!("{}.{}.part", file.digest, host::name()));
            let target = open(&path).map_err(&at)?;
            target.lock().map_err(&at)?;
            let about = target.metadata().map_err(&at)?;
            // Whoever held the lock may have put it in its place, or thrown it away.
            let is_it = |there: Metadata| (there.dev(), there.ino()) == (about.dev(), about.ino());
            if fs::metadata(&path).is_ok_and(is_it) {
                let begun = IncomingFile { file: file.clone(), path, target, length: about.len() };
                return if begun.length > file.bytes { begun.emptied() } else { Ok(begun) }
                    .map(Some);
            }
        }
    }

    /// Puts a whole file in its place.
    fn finish(&self, incoming: &IncomingFile) -> Result<(), ImportError> {
        let IncomingFile { file, path, target, length } = incoming;
        let at = CacheError::at(path);
        let digest = ContentDigest::of_own_file(path).map_err(&at)?;
        if *length != file.bytes || digest != file.digest {
            let _ = fs::remove_file(path);
            return Err(ImportError::Wrong);
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
    fn emptied(mut self) -> Result<Self, CacheError> {
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
                let _ = fs::remove_file(&self.path);
                return Err(ImportError::Wrong);
            }
            if let Err(cause) = self.target.write_all(&piece[..read]) {
                // A full disk is not filled further.
                let _ = fs::remove_file(&self.path);
                return Err(at(cause).into());
            }
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

    /// Adds a result unless its key has one; `open` is called for the files that are not here yet.
    pub fn import(
        &self,
        entry: &Entry,
        open: &mut FileSource<'_>,
    ) -> Result<StoredResult, CacheError> {
        let importer = self.importer();
        for file in &entry.artifact.files {
            let Some(incoming) = importer.begin(file)? else {
                continue;
            };
            let copied = open(file).map_err(ImportError::Source).and_then(|mut source| {
                let mut incoming = incoming.emptied()?;
                incoming.add(0, &mut source)?;
                incoming.finish(&importer)
            });
            copied.map_err(|error| match error {
                ImportError::Local(error) => error,
                ImportError::Source(_) | ImportError::Wrong => CacheError::Foreign {
                    key: entry.key,
                    name: file.name.clone(),
                    what: error.to_string(),
                },
            })?;
        }
        self.import_entry(entry, false)
    }

    /// Publishes a result whose files are all here, as if it had been computed here, unless there is one
    /// by now. One that nobody vouches for is marked.
    pub fn import_entry(
        &self,
        entry: &Entry,
        is_vouched_for: bool,
    ) -> Result<StoredResult, CacheError> {
        if let Lookup::Hit(result) = self.lookup(&entry.key)? {
            return Ok(result);
        }
        let mark = self.mark(&entry.key);
        if !is_vouched_for {
            fs::create_dir_all(parent(&mark)).map_err(CacheError::at(&mark))?;
            File::create(&mark).map_err(CacheError::at(&mark))?;
        }
        let incoming = self.incoming();
        fs::create_dir_all(&incoming).map_err(CacheError::at(&incoming))?;
        let name = format!("{}.{}.{}.json", entry.key, host::name(), std::process::id());
        self.write_manifest(entry, &incoming.join(name))?;
        self.index.insert(entry)?;
        Ok(entry.clone().into())
    }

    /// Returns whether somebody vouches for a result: this machine, which has computed it, or a trusted key.
    pub fn is_vouched_for(&self, key: &StageKey) -> bool {
        !self.mark(key).exists()
    }

    /// Forgets where an earlier result of a key has come from.
    pub(super) fn vouch_for(&self, key: &StageKey) {
        let _ = fs::remove_file(self.mark(key));
    }

    fn mark(&self, key: &StageKey) -> PathBuf {
        self.root.join("unsigned").join(key.to_string())
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::engine::cache::{Check, Lookup};
    use crate::engine::key::KeyRecord;
    use crate::engine::stage::Kind;
    use crate::engine::stage::artifact::StoredArtifact;
    use crate::engine::stage::run_record::RunRecord;

    fn entry(contents: &[(&str, &str)]) -> Entry {
        let record = KeyRecord::new(Kind { name: "Test", version: 1 }, json!({}));
        let files = contents.iter().map(|(name, text)| StoredFile {
            name: (*name).to_owned(),
            digest: ContentDigest::of_bytes(text.as_bytes()),
            bytes: text.len() as u64,
        });
        let artifact = StoredArtifact::new("test", files.collect());
        let run = RunRecord::default();
        Entry { key: record.key(), record, trajectory: None, artifact, run }
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), Check::Everything).unwrap();
        (folder, cache)
    }

    #[test]
    fn an_imported_result_is_a_hit_and_each_file_is_fetched_once() {
        let (folder, cache) = cache();
        let contents = [("deep/a", "one"), ("b", "two"), ("c", "one")];
        let (entry, by_name) = (entry(&contents), BTreeMap::from(contents));
        let opened = Cell::new(0);
        let mut open = |file: &StoredFile| {
            opened.set(opened.get() + 1);
            Ok(Box::new(by_name[file.name.as_str()].as_bytes()) as Box<dyn Read>)
        };
        for _ in 0..2 {
            cache.import(&entry, &mut open).unwrap();
        }
        assert_eq!(opened.get(), 2, "equal files, and results that are known, are not read again");
        let Lookup::Hit(found) = cache.lookup(&entry.key).unwrap() else {
            panic!("it was imported");
        };
        assert_eq!(cache.reader(&found.artifact).read("deep/a").unwrap(), b"one");
        assert_eq!(cache.entry(&entry.key).unwrap(), entry);
        assert!(cache.verify().unwrap().is_sound());
        assert_eq!(fs::read_dir(folder.path().join("work")).unwrap().count(), 0);
        assert!(!folder.path().join("claims").join(format!("{}.lock", entry.key)).exists());
    }

    #[test]
    fn files_that_are_not_what_the_manifest_says_leave_nothing_behind() {
        let (folder, cache) = cache();
        let entry = entry(&[("a", "right"), ("b", "good")]);
        for text in ["left!", "right and more", "rig"] {
            let mut open = |file: &StoredFile| {
                let text = if file.name == "a" { text } else { "good" };
                Ok(Box::new(text.as_bytes()) as Box<dyn Read>)
            };
            let error = cache.import(&entry, &mut open).unwrap_err().to_string();
            assert!(
                error.starts_with("`a` of result")
                    && error.ends_with("is not what its manifest says"),
                "{error}"
            );
        }
        let mut unreadable = |_: &StoredFile| Err(io::Error::other("gone"));
        let error = cache.import(&entry, &mut unreadable).unwrap_err().to_string();
        assert!(error.ends_with("can't be read: gone"), "{error}");
        assert!(matches!(cache.lookup(&entry.key).unwrap(), Lookup::Miss));
        assert_eq!(fs::read_dir(folder.path().join("objects")).unwrap().count(), 0);
        assert_eq!(cache.size().unwrap(), (0, 0));
    }
}
