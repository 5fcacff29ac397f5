//! Where a remote is, as people write it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ureq::http::Uri;

use super::Store;
use super::credentials::{Environment, TOKEN_VARIABLE};
use super::folder::Folder;
use super::http::Web;
use super::s3::Bucket;
use crate::engine::remote::RemoteError;

/// Where a remote is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A folder of this machine or of a file server.
    Folder(PathBuf),
    /// Below a URL of a web server.
    Web(Uri),
    /// Below a prefix in a bucket.
    Bucket {
        /// The bucket.
        bucket: String,
        /// The prefix, without slashes at its ends; may be empty.
        prefix: String,
    },
}

/// Why a text is no address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(String);

impl Address {
    /// Returns whether it is reached through the network.
    pub const fn needs_network(&self) -> bool {
        !matches!(self, Self::Folder(_))
    }

    /// Opens what is there, with the credentials of the environment.
    pub(in crate::engine::remote) fn open(&self) -> Result<Box<dyn Store>, RemoteError> {
        let environment = Environment::of_process();
        Ok(match self {
            Self::Folder(root) => Box::new(Folder::new(root.clone())),
            Self::Web(base) => {
                let credentials = environment.web_credentials(base.host().unwrap_or_default())?;
                Box::new(Web::new(base, credentials))
            }
            Self::Bucket { bucket, prefix } => {
                Box::new(Bucket::new(bucket, prefix, environment.s3()?)?)
            }
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(root) => write!(f, "{}", root.display()),
            Self::Web(base) => write!(f, "{base}"),
            Self::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |what: &str| Err(AddressError(format!("the address of a remote cache {what}")));
        match text.split_once("://") {
            None if text.is_empty() => wrong("must not be empty"),
            None => Ok(Self::Folder(PathBuf::from(text))),
            Some(("file", path)) if path.starts_with('/') => Ok(Self::Folder(PathBuf::from(path))),
            Some(("file", _)) => wrong("must be absolute after `file://`: `file:///folder`"),
            Some(("http" | "https", rest)) => {
                if rest.split('/').next().is_some_and(|host| host.contains('@')) {
                    return wrong(&format!(
                        "must not contain a user or a password: put them into ~/.netrc, or a token into {TOKEN_VARIABLE}"
                    ));
                }
                match text.parse::<Uri>() {
                    Ok(uri) if uri.query().is_some() => wrong("must not contain `?`"),
                    Ok(uri) if uri.host().is_some_and(|host| !host.is_empty()) => {
                        Ok(Self::Web(uri))
                    }
                    _ => wrong("is not a valid URL"),
                }
            }
            Some(("s3", rest)) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
                if bucket.is_empty() || !bucket.chars().all(is_plain) {
                    return wrong("must be `s3://bucket/prefix`");
                }
                let prefix = prefix.trim_matches('/').to_owned();
                Ok(Self::Bucket { bucket: bucket.to_owned(), prefix })
            }
            Some((scheme, _)) => wrong(&format!(
                "must be a folder, or begin with `http://`, `https://` or `s3://`, not with `{}://`",
                scheme.escape_debug()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_as_they_are_written() {
        for text in ["/shared/cache", "https://cache.lab/pcae", "s3://bucket", "s3://bucket/a/b"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("file:///a/b".parse::<Address>().unwrap().to_string(), "/a/b");
        assert_eq!("s3://bucket/a/".parse::<Address>().unwrap().to_string(), "s3://bucket/a");
    }

    #[test]
    fn what_is_no_address_is_told_without_its_password() {
        for text in ["", "ftp://x/y", "s3://", "s3:///x", "http://", "file://x", "http://h/a?b=c"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        let message = "https://me:hunter2@h/x".parse::<Address>().unwrap_err().to_string();
        assert!(message.contains("~/.netrc") && !message.contains("hunter2"), "{message}");
    }
}
