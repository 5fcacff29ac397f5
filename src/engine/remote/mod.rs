//! Results in a place that several machines share: a folder, a web server or a bucket.
//!
//! ```text
//! ac/ab/abcd..   the signed manifest of a result, under its key
//! cas/ab/abcd..  the bytes of a file, under their BLAKE3 digest
//! ```
//!
//! Files are sent before the manifest that names them. Nothing that comes from there is believed: a manifest
//! needs the signature of a key that the reader trusts and must be of the key that was asked for, and every
//! file must have its digest. What is absent or wrong is a miss, and what can't be reached is left alone after
//! a few errors, so that a run is never worse off than without it.

mod breaker;
mod fetch;
mod send;
pub mod signature;
pub mod signed_manifest;
mod store;
mod traffic;
pub mod trust;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::digest::{ContentDigest, StageKey};

pub use self::fetch::{Fetched, FetchedResult, Refusal};
pub use self::send::{Parcel, Sent};
pub use self::signature::{PublicKey, SecretKey};
pub use self::store::{Address, AddressError};
pub use self::traffic::{Fetches, UploadCount, Uploads};
pub use self::trust::Trust;

use self::breaker::{Act, Breaker};
use self::store::{Store, StoreError};

/// How a remote is to be used.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// Where it is.
    pub address: Address,
    /// What is taken from it.
    pub trust: Trust,
    /// The key that signs what is sent, if it is signed.
    pub signing_key: Option<SecretKey>,
}

/// Results that machines share. Used from several threads.
#[derive(Debug)]
pub struct Remote {
    store: Box<dyn Store>,
    settings: RemoteSettings,
    breaker: Breaker,
    memory: Mutex<Memory>,
}

/// What was found out, so that it is not asked again.
#[derive(Debug, Default)]
struct Memory {
    /// Keys that are not there.
    absent: BTreeSet<StageKey>,
    /// Files that are there.
    present: BTreeSet<ContentDigest>,
    /// Files that are there with other bytes.
    wrong: BTreeSet<ContentDigest>,
}

impl Remote {
    /// Opens a remote; nothing is asked of it yet.
    pub fn open(settings: RemoteSettings) -> Result<Self, RemoteError> {
        let store = settings.address.open()?;
        Ok(Self { store, settings, breaker: Breaker::default(), memory: Mutex::default() })
    }

    /// Returns why it is left alone from now on, if it is.
    pub fn given_up(&self) -> Option<String> {
        let why = self.breaker.reason()?;
        Some(format!("the remote cache {} is left alone: {why}", self.settings.address))
    }

    /// Returns whether a result may be there, as far as is known without asking.
    pub fn may_have(&self, key: &StageKey) -> bool {
        self.breaker.reason().is_none() && !self.memory().absent.contains(key)
    }

    /// Returns why nothing more is sent there, if it can still be read.
    pub fn refuses_writing(&self) -> Option<String> {
        let why = self.breaker.write_refusal()?;
        Some(format!("nothing is sent to the remote cache {}: {why}", self.settings.address))
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something at the store, unless it has failed too often, and counts how it ended.
    fn act<T>(
        &self,
        act: Act,
        request: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.breaker.check()?;
        let result = request();
        match &result {
            Ok(_) => self.breaker.succeeded(act),
            Err(error) => self.breaker.failed(act, error),
        }
        result
    }
}

/// Why a remote can't be used at all.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Its address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A file of credentials can't be read.
    #[error("{}: {reason}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What is wrong, without any of its content.
        reason: String,
    },
}

fn manifest_path(key: &StageKey) -> String {
    let key = key.to_string();
    format!("ac/{}/{key}", &key[..2])
}

fn file_path(digest: &ContentDigest) -> String {
    let digest = digest.to_string();
    format!("cas/{}/{digest}", &digest[..2])
}
