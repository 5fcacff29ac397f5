//! One result from a remote: its manifest, who vouches for it, then its files.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use super::breaker::Act;
use super::signed_manifest::SignedManifest;
use super::store::{Content, StoreError};
use super::{Remote, file_path, manifest_path};
use crate::engine::cache::{Entry, FileImporter, ImportError, IncomingFile};
use crate::engine::digest::StageKey;
use crate::engine::stage::artifact::StoredFile;

/// A longer manifest is neither sent nor read.
pub(super) const LONGEST_MANIFEST: u64 = 64 << 20;

/// How often a file is gone on with after its connection was cut.
const MOST_RESUMPTIONS: usize = 3;

/// What came of asking for a result.
#[derive(Debug)]
pub enum Fetched {
    /// Its files are in the cache; the manifest is still to be.
    Hit(Box<FetchedResult>),
    /// There is none.
    Absent,
    /// There is one that is not used.
    Unusable(Refusal),
}

/// Why a result that is there is not used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Refusal {
    /// No trusted key has signed it.
    #[error("{0}")]
    Untrusted(String),
    /// It was computed on another kind of machine.
    #[error("was computed on {0}")]
    OtherMachine(String),
    /// Its manifest is none, or another key's.
    #[error("has a damaged manifest")]
    DamagedManifest,
    /// One of its files is not there.
    #[error("lacks a file")]
    MissingFile,
    /// One of its files has other bytes than it should.
    #[error("has a damaged file")]
    DamagedFile,
}

/// A result that was fetched.
#[derive(Debug)]
pub struct FetchedResult {
    /// Its manifest.
    pub entry: Entry,
    /// Whether a trusted key has signed it.
    pub is_signed: bool,
    /// Bytes of the files that were transferred.
    pub bytes: u64,
    /// The other machine that it was computed on, if that may make a difference.
    pub computed_on: Option<String>,
}

/// What a remote says of a key.
pub(super) enum Found {
    /// A result that is believed.
    Usable {
        entry: Box<Entry>,
        /// Whether a trusted key has signed it; else whatever is there is believed.
        is_signed: bool,
    },
    /// One that is not.
    Unusable {
        why: Refusal,
        /// Whether somebody has signed it, whom others may trust.
        is_signed: bool,
    },
    Absent,
}

impl Remote {
    /// Brings the files of a result into the cache; an error of the remote is a miss.
    pub fn fetch(&self, key: &StageKey, importer: &FileImporter, stop: &AtomicBool) -> Fetched {
        if !self.may_have(key) {
            return Fetched::Absent;
        }
        match self.try_fetch(key, importer, stop) {
            Ok(Some(fetched)) => Fetched::Hit(Box::new(fetched)),
            Ok(None) => {
                self.memory().absent.insert(*key);
                Fetched::Absent
            }
            Err(FetchError::Unusable(why)) => {
                self.memory().absent.insert(*key);
                Fetched::Unusable(why)
            }
            Err(FetchError::Store(_)) => Fetched::Absent,
            Err(FetchError::Local(error)) => {
                self.breaker.stop(format!("its results can't be stored here: {error}"));
                Fetched::Absent
            }
        }
    }

    fn try_fetch(
        &self,
        key: &StageKey,
        importer: &FileImporter,
        stop: &AtomicBool,
    ) -> Result<Option<FetchedResult>, FetchError> {
        let (entry, is_signed) = match self.find(key)? {
            Found::Usable { entry, is_signed } => (entry, is_signed),
            Found::Unusable { why, .. } => return Err(FetchError::Unusable(why)),
            Found::Absent => return Ok(None),
        };
        let refuse = |machine| FetchError::Unusable(Refusal::OtherMachine(machine));
        let computed_on = self.settings.trust.check_machine(&entry).map_err(refuse)?;
        let mut bytes = 0;
        for file in &entry.artifact.files {
            bytes += self.fetch_file(file, importer, stop)?;
        }
        Ok(Some(FetchedResult { entry: *entry, is_signed, bytes, computed_on }))
    }

    /// Reads the manifest of a key and decides whether it is believed.
    pub(super) fn find(&self, key: &StageKey) -> Result<Found, StoreError> {
        let Some(manifest) = self.manifest(key)? else {
            return Ok(Found::Absent);
        };
        let Some(signed) = SignedManifest::parse(&manifest) else {
            return Ok(Found::Unusable { why: Refusal::DamagedManifest, is_signed: false });
        };
        let is_signed = signed.signers().next().is_some();
        if let Err(why) = self.settings.trust.check_signature(&signed) {
            return Ok(Found::Unusable { why: Refusal::Untrusted(why), is_signed });
        }
        Ok(match Entry::parse(signed.body()) {
            Ok(entry) if entry.key == *key => Found::Usable {
                entry: Box::new(entry),
                is_signed: signed.signed_by(&self.settings.trust.keys).is_some(),
            },
            _ => Found::Unusable { why: Refusal::DamagedManifest, is_signed },
        })
    }

    fn manifest(&self, key: &StageKey) -> Result<Option<Vec<u8>>, StoreError> {
        let read = |content: Content| {
            let mut bytes = Vec::new();
            let mut reader = content.reader.take(LONGEST_MANIFEST);
            reader.read_to_end(&mut bytes).map_err(|_| StoreError::cut())?;
            Ok(bytes)
        };
        self.act(Act::Ask, || self.store.read(&manifest_path(key), 0)?.map(read).transpose())
    }

    /// Brings a file into the cache, if it is not there; returns how many bytes were transferred.
    fn fetch_file(
        &self,
        file: &StoredFile,
        importer: &FileImporter,
        stop: &AtomicBool,
    ) -> Result<u64, FetchError> {
        let Some(mut incoming) = importer.begin(file).map_err(ImportError::Local)? else {
            return Ok(0);
        };
        let begun = incoming.length();
        let mut tries = 0;
        while !incoming.is_whole() {
            if stop.load(Ordering::Relaxed) {
                return Err(StoreError::Stopped.into());
            }
            let before = incoming.length();
            if let Err(error) = self.add(file, &mut incoming) {
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
            Err(ImportError::Wrong) if begun > 0 => self.fetch_file(file, importer, stop),
            Err(ImportError::Wrong) => Err(self.wrong(file)),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks for what is still lacking of a file.
    fn add(&self, file: &StoredFile, incoming: &mut IncomingFile) -> Result<(), FetchError> {
        let offset = incoming.length();
        // It has succeeded when all of it is here, not when it begins.
        self.breaker.check()?;
        let content = self.store.read(&file_path(&file.digest), offset);
        let content = content.inspect_err(|error| self.breaker.failed(Act::Read, error))?;
        let Some(mut content) = content else {
            self.memory().present.remove(&file.digest);
            return Err(FetchError::Unusable(Refusal::MissingFile));
        };
        match incoming.add(content.offset, &mut content.reader) {
            Ok(()) if incoming.is_whole() => {
                self.breaker.succeeded(Act::Read);
                Ok(())
            }
            Ok(()) | Err(ImportError::Wrong) => Err(self.wrong(file)),
            Err(error @ ImportError::Local(_)) => Err(error.into()),
            Err(ImportError::Source(_)) => {
                let cut = StoreError::cut();
                self.breaker.failed(Act::Read, &cut);
                Err(cut.into())
            }
        }
    }

    /// Remembers that a file there must be replaced.
    fn wrong(&self, file: &StoredFile) -> FetchError {
        let mut memory = self.memory();
        memory.present.remove(&file.digest);
        memory.wrong.insert(file.digest);
        FetchError::Unusable(Refusal::DamagedFile)
    }
}

/// Why a result did not come.
enum FetchError {
    /// The store failed.
    Store(StoreError),
    /// What it has can't be used.
    Unusable(Refusal),
    /// It can't be kept here.
    Local(ImportError),
}

impl From<StoreError> for FetchError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ImportError> for FetchError {
    fn from(error: ImportError) -> Self {
        Self::Local(error)
    }
}
