//! One result to a remote: files that are not there, then the manifest that names them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::breaker::Act;
use super::fetch::{Found, LONGEST_MANIFEST};
use super::signed_manifest::SignedManifest;
use super::store::{Bytes, StoreError};
use super::{Remote, file_path, manifest_path};
use crate::engine::cache::{Cache, Entry};
use crate::engine::stage::artifact::StoredFile;

/// A result that is to be sent.
#[derive(Clone, Debug)]
pub struct Parcel {
    entry: Entry,
    /// Where its files are, in their order.
    paths: Vec<PathBuf>,
}

impl Parcel {
    /// Takes a result out of a cache.
    pub fn new(entry: Entry, cache: &Cache) -> Self {
        let paths = entry.artifact.files.iter().map(|file| cache.object_path(file));
        Self { paths: paths.collect(), entry }
    }
}

/// What came of sending a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is there now; so many bytes were transferred.
    Stored(u64),
    /// It had been there before.
    Known,
    /// The remote failed, or takes nothing.
    Failed,
}

impl Remote {
    /// Sends a result; an error of the remote only means that it is not there.
    pub fn send(&self, parcel: &Parcel, stop: &AtomicBool) -> Sent {
        if self.given_up().is_some() || self.refuses_writing().is_some() {
            return Sent::Failed;
        }
        self.store_parcel(parcel, stop).unwrap_or(Sent::Failed)
    }

    fn store_parcel(&self, parcel: &Parcel, stop: &AtomicBool) -> Result<Sent, StoreError> {
        let Parcel { entry, paths } = parcel;
        let keeps_manifest = match self.find(&entry.key)? {
            Found::Usable { entry: there, .. } if there.artifact == entry.artifact => true,
            // Another result of the same key: the first one stays, as long as it is whole.
            Found::Usable { entry: there, .. } if self.has_all(&there)? => return Ok(Sent::Known),
            // Others may trust who signed it: who can't sign does not replace it.
            Found::Unusable { is_signed: true, .. } if self.settings.signing_key.is_none() => {
                return Ok(Sent::Known);
            }
            Found::Usable { .. } | Found::Unusable { .. } | Found::Absent => false,
        };
        let (mut is_new, mut bytes) = (!keeps_manifest, 0);
        for (file, path) in entry.artifact.files.iter().zip(paths) {
            if stop.load(Ordering::Relaxed) {
                return Err(StoreError::Stopped);
            }
            if !self.has(file)? {
                self.store_file(file, path)?;
                (is_new, bytes) = (true, bytes + file.bytes);
            }
        }
        if !keeps_manifest {
            self.write_manifest(entry)?;
        }
        self.memory().absent.remove(&entry.key);
        Ok(if is_new { Sent::Stored(bytes) } else { Sent::Known })
    }

    /// Returns whether all files of a result are there.
    fn has_all(&self, entry: &Entry) -> Result<bool, StoreError> {
        for file in &entry.artifact.files {
            if !self.has(file)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether the remote has a file that is not known to be wrong.
    fn has(&self, file: &StoredFile) -> Result<bool, StoreError> {
        {
            let memory = self.memory();
            if memory.wrong.contains(&file.digest) {
                return Ok(false);
            }
            if memory.present.contains(&file.digest) {
                return Ok(true);
            }
        }
        let size = self.act(Act::Ask, || self.store.size(&file_path(&file.digest)))?;
        let is_there = size == Some(file.bytes);
        if is_there {
            self.memory().present.insert(file.digest);
        }
        Ok(is_there)
    }

    fn store_file(&self, file: &StoredFile, path: &Path) -> Result<(), StoreError> {
        let opened = File::open(path).map_err(StoreError::Local)?;
        let (name, bytes) = (file_path(&file.digest), Bytes::File(&opened));
        self.act(Act::Write, || self.store.write(&name, bytes))?;
        let mut memory = self.memory();
        memory.wrong.remove(&file.digest);
        memory.present.insert(file.digest);
        Ok(())
    }

    fn write_manifest(&self, entry: &Entry) -> Result<(), StoreError> {
        let local = |error: String| StoreError::Local(io::Error::other(error));
        let body = serde_json::to_vec_pretty(entry).map_err(|error| local(error.to_string()))?;
        let signed = SignedManifest::new(body, self.settings.signing_key.as_ref());
        let bytes = signed.map_err(|error| local(error.to_string()))?.to_bytes();
        if bytes.len() as u64 > LONGEST_MANIFEST {
            return Err(StoreError::TooLarge(bytes.len() as u64));
        }
        let name = manifest_path(&entry.key);
        self.act(Act::Write, || self.store.write(&name, Bytes::Memory(&bytes)))
    }
}
