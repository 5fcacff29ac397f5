//! One result from a remote: its manifest, who vouches for it, then its files.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use super::signed_manifest::SignedManifest;
use super::store::{Content, StoreError, patience_for};
use super::{Remote, file_path, manifest_path};
use crate::engine::cache::{Entry, FileImporter, ImportError, IncomingFile};
use crate::engine::digest::StageKey;
use crate::engine::stage::artifact::StoredFile;

/// A manifest is never longer.
const LONGEST_MANIFEST: u64 = 64 << 20;

/// How often a file is gone on with after its connection was cut.
const MOST_RESUMPTIONS: usize = 3;

/// What came of asking for a result.
#[derive(Debug)]
pub enum Fetched {
    /// Its files are in the cache; the manifest is still to be.
    Hit(Box<FetchedResult>),
    /// There is none.
    Absent,
    /// There is one that is not used, and why.
    Unusable(String),
}

/// A result that was fetched.
#[derive(Debug)]
pub struct FetchedResult {
    /// Its manifest.
    pub entry: Entry,
    /// Bytes of the files that were transferred.
    pub bytes: u64,
    /// The other machine that it was computed on, if that may make a difference.
    pub computed_on: Option<String>,
}

/// What a remote says of a key.
pub(super) enum Found {
    Usable {
        entry: Box<Entry>,
        computed_on: Option<String>,
    },
    Unusable {
        why: String,
        /// Whether somebody has signed it, whom others may trust.
        is_signed: bool,
    },
    Absent,
}

impl Remote {
    /// Brings the files of a result into the cache; an error of the remote is a miss.
    pub fn fetch(&self, key: &StageKey, importer: &FileImporter, stop: &AtomicBool) -> Fetched {
        if self.memory().absent.contains(key) || self.given_up().is_some() {
            return Fetched::Absent;
        }
        let (entry, computed_on) = match self.find(key) {
            Ok(Found::Usable { entry, computed_on }) => (entry, computed_on),
            Ok(Found::Unusable { why, .. }) => {
                self.memory().absent.insert(*key);
                return Fetched::Unusable(why);
            }
            Ok(Found::Absent) => {
                self.memory().absent.insert(*key);
                return Fetched::Absent;
            }
            Err(_) => return Fetched::Absent,
        };
        let mut bytes = 0;
        for file in &entry.artifact.files {
            match self.fetch_file(file, importer, stop) {
                Ok(transferred) => bytes += transferred,
                Err(FetchError::Store(_)) => return Fetched::Absent,
                Err(FetchError::Unusable(why)) => {
                    self.memory().absent.insert(*key);
                    return Fetched::Unusable(why);
                }
            }
        }
        Fetched::Hit(Box::new(FetchedResult { entry: *entry, bytes, computed_on }))
    }

    /// Reads the manifest of a key and decides whether it is believed.
    pub(super) fn find(&self, key: &StageKey) -> Result<Found, StoreError> {
        let Some(manifest) = self.manifest(key)? else {
            return Ok(Found::Absent);
        };
        let Some(signed) = SignedManifest::parse(&manifest) else {
            let why = "something else than a manifest".to_owned();
            return Ok(Found::Unusable { why, is_signed: false });
        };
        Ok(match self.judge(key, &signed) {
            Ok((entry, computed_on)) => Found::Usable { entry: Box::new(entry), computed_on },
            Err(why) => Found::Unusable { why, is_signed: signed.signers().next().is_some() },
        })
    }

    fn judge(
        &self,
        key: &StageKey,
        signed: &SignedManifest,
    ) -> Result<(Entry, Option<String>), String> {
        self.settings.trust.check_signature(signed)?;
        let entry = Entry::parse(signed.body())?;
        if entry.key != *key {
            return Err("of another key than it is stored under".to_owned());
        }
        let computed_on = self.settings.trust.check_machine(&entry)?;
        Ok((entry, computed_on))
    }

    fn manifest(&self, key: &StageKey) -> Result<Option<Vec<u8>>, StoreError> {
        self.breaker.check()?;
        let read = |content: Content| {
            let mut bytes = Vec::new();
            let mut reader = content.reader.take(LONGEST_MANIFEST);
            reader
                .read_to_end(&mut bytes)
                .map_err(|cause| StoreError::Failed(cause.to_string()))?;
            Ok(bytes)
        };
        let patience = patience_for(0);
        let opened = self.store.read(&manifest_path(key), 0, patience);
        self.counted(opened.and_then(|content| content.map(read).transpose()))
    }

    /// Brings a file into the cache, if it is not there; returns how many bytes were transferred.
    fn fetch_file(
        &self,
        file: &StoredFile,
        importer: &FileImporter,
        stop: &AtomicBool,
    ) -> Result<u64, FetchError> {
        if importer.has(file) {
            return Ok(0);
        }
        let mut incoming = importer.begin(file).map_err(ImportError::Local)?;
        let begun = incoming.length();
        let mut tries = 0;
        while !incoming.is_whole() {
            if stop.load(Ordering::Relaxed) {
                return Err(StoreError::Stopped.into());
            }
            let before = incoming.length();
            let added = self.add(file, &mut incoming);
            if let Err(error) = added {
                // What came is kept; the rest is asked for again.
                tries += 1;
                let may_go_on = incoming.length() > before && tries <= MOST_RESUMPTIONS;
                if !may_go_on || !matches!(error, FetchError::Store(StoreError::Failed(_))) {
                    return Err(error);
                }
            }
        }
        match incoming.finish(importer) {
            Ok(()) => Ok(file.bytes.saturating_sub(begun)),
            // What was here from an earlier time may have been the wrong part.
            Err(ImportError::Wrong(_)) if begun > 0 => self.fetch_file(file, importer, stop),
            Err(ImportError::Wrong(why)) => Err(self.wrong(file, &why)),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks for what is still lacking of a file.
    fn add(&self, file: &StoredFile, incoming: &mut IncomingFile) -> Result<(), FetchError> {
        let begun = incoming.length();
        self.breaker.check()?;
        let patience = patience_for(file.bytes - begun);
        let content = self.store.read(&file_path(&file.digest), begun, patience);
        let Some(mut content) = self.counted(content)? else {
            self.memory().present.remove(&file.digest);
            return Err(FetchError::Unusable(format!("its file {} is missing", file.name)));
        };
        match incoming.add(content.offset, &mut content.reader) {
            Ok(()) if incoming.is_whole() => Ok(()),
            Ok(()) => Err(self.wrong(file, &format!("{} has the wrong size", file.name))),
            Err(ImportError::Wrong(why)) => Err(self.wrong(file, &why)),
            Err(error @ ImportError::Local(_)) => Err(error.into()),
            Err(ImportError::Source(_)) => {
                let cut = StoreError::Failed("the connection was cut, or too slow".to_owned());
                self.breaker.failed(&cut);
                Err(cut.into())
            }
        }
    }

    /// Remembers that a file there must be replaced.
    fn wrong(&self, file: &StoredFile, why: &str) -> FetchError {
        let mut memory = self.memory();
        memory.present.remove(&file.digest);
        memory.wrong.insert(file.digest);
        FetchError::Unusable(format!("its file {why}"))
    }
}

/// Why a file did not come.
enum FetchError {
    /// The store failed.
    Store(StoreError),
    /// What it has can't be used.
    Unusable(String),
}

impl From<StoreError> for FetchError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ImportError> for FetchError {
    fn from(error: ImportError) -> Self {
        Self::Unusable(format!("it can't be stored here: {error}"))
    }
}
