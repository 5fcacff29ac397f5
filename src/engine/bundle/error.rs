//! Why a bundle can't be made or is not taken.

use std::io;
use std::path::{Path, PathBuf};

use crate::engine::remote::signature::KeyError;

/// Why a bundle can't be made or is not taken.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file system failed.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file concerned.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// It is not what this program writes, or nobody vouches for it.
    #[error("{} is refused: {what}", path.display())]
    Refused {
        /// The bundle.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Something can't be packed.
    #[error("`{name}` can't be packed: {what}")]
    Unpackable {
        /// Its name in the bundle.
        name: String,
        /// Why.
        what: String,
    },
    /// The signing key can't be used.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl BundleError {
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::File { path: path.clone(), cause }
    }
}

/// What is wrong with a bundle, before it is said with which.
#[derive(Debug)]
pub(super) enum Problem {
    /// The file system failed.
    File(io::Error),
    /// It is refused.
    Refused(String),
}

impl Problem {
    pub(super) fn refused<T>(what: impl Into<String>) -> Result<T, Self> {
        Err(Self::Refused(what.into()))
    }

    /// Says of which bundle it is.
    pub(super) fn of(self, path: &Path) -> BundleError {
        let path = path.to_owned();
        match self {
            // What unpacks to something else than it should is told as an error of reading it.
            Self::File(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                BundleError::Refused { path, what: cause.to_string() }
            }
            Self::File(cause) => BundleError::File { path, cause },
            Self::Refused(what) => BundleError::Refused { path, what },
        }
    }
}

impl From<io::Error> for Problem {
    fn from(cause: io::Error) -> Self {
        Self::File(cause)
    }
}
