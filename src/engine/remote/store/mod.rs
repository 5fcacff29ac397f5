//! Where a remote keeps bytes by name: the little that folders, web servers and buckets have in common.

mod address;
mod credentials;
mod folder;
mod http;
mod s3;

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read};

pub use self::address::{Address, AddressError};

/// Why something could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The store did not answer, or not as it should.
    #[error("{0}")]
    Failed(String),
    /// It wants other credentials.
    #[error("{0}")]
    Denied(String),
    /// It can be read, but not written.
    #[error("{0}")]
    WriteRefused(String),
    /// It has failed too often to be asked again.
    #[error("it is left alone")]
    GivenUp,
    /// A file is larger than it takes.
    #[error("{0} bytes are more than it takes at once")]
    TooLarge(u64),
    /// Something on this machine failed.
    #[error(transparent)]
    Local(io::Error),
    /// The user wants to stop.
    #[error("stopped")]
    Stopped,
}

impl StoreError {
    /// Says that not all came that should.
    pub(super) fn cut() -> Self {
        Self::Failed("the connection was cut, or too slow".to_owned())
    }
}

/// Bytes that come from a store.
pub(super) struct Content {
    /// The first byte that comes; a store that can't begin in the middle begins at 0.
    pub(super) offset: u64,
    /// The bytes.
    pub(super) reader: Box<dyn Read>,
}

/// Bytes that go to a store.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'a> {
    /// Those of a file.
    File(&'a File),
    /// Those in memory.
    Memory(&'a [u8]),
}

impl Bytes<'_> {
    /// Returns how many there are.
    fn count(self) -> Result<u64, StoreError> {
        match self {
            Self::File(file) => Ok(file.metadata().map_err(StoreError::Local)?.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }
}

/// Bytes by name, from several threads.
pub(super) trait Store: Debug + Send + Sync {
    /// Opens what is stored under a name, from a byte on if it can; `None` if there is nothing.
    fn read(&self, name: &str, offset: u64) -> Result<Option<Content>, StoreError>;

    /// Returns how many bytes are stored under a name, if it can tell that there are any.
    fn size(&self, name: &str) -> Result<Option<u64>, StoreError>;

    /// Stores bytes; what was there before is replaced.
    fn write(&self, name: &str, bytes: Bytes<'_>) -> Result<(), StoreError>;
}
