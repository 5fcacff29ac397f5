//! A bucket of an S3 service. Requests are signed by their URLs.

use std::path::PathBuf;
use std::time::Duration;

use rusty_s3::{Credentials, S3Action, UrlStyle};

use super::credentials::S3Settings;
use super::http::Client;
use super::{Bytes, Content, Store, StoreError};
use crate::engine::remote::RemoteError;

/// How long a signed URL can be used; it is looked at when a request begins.
const VALIDITY: Duration = Duration::from_hours(1);

/// The largest file that a bucket takes by one request.
const LARGEST: u64 = 5 << 30;

/// Everything below a prefix in a bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    client: Client,
    signer: rusty_s3::Bucket,
    /// With a slash at its end, unless it is empty.
    prefix: String,
    credentials: Option<Credentials>,
}

impl Bucket {
    pub(super) fn new(name: &str, prefix: &str, settings: S3Settings) -> Result<Self, RemoteError> {
        let S3Settings { credentials, region, endpoint } = settings;
        // Other services seldom have a host name for each bucket.
        let style = if endpoint.is_some() { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let wrong = |reason: String| RemoteError::Credentials {
            path: PathBuf::from("AWS_ENDPOINT_URL"),
            reason,
        };
        let url = endpoint.parse().map_err(|cause| wrong(format!("not a URL: {cause}")))?;
        let bucket = rusty_s3::Bucket::new(url, style, name.to_owned(), region);
        let bucket = bucket.map_err(|cause| wrong(cause.to_string()))?;
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Self { client: Client::new(), signer: bucket, prefix, credentials })
    }

    fn object(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Store for Bucket {
    fn read(&self, name: &str, offset: u64) -> Result<Option<Content>, StoreError> {
        let object = self.object(name);
        let action = self.signer.get_object(self.credentials.as_ref(), &object);
        self.client.get(action.sign(VALIDITY).as_str(), offset, None)
    }

    fn size(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let object = self.object(name);
        let action = self.signer.head_object(self.credentials.as_ref(), &object);
        self.client.head(action.sign(VALIDITY).as_str(), None)
    }

    fn write(&self, name: &str, bytes: Bytes<'_>) -> Result<(), StoreError> {
        let count = bytes.count()?;
        if count > LARGEST {
            return Err(StoreError::TooLarge(count));
        }
        let object = self.object(name);
        let action = self.signer.put_object(self.credentials.as_ref(), &object);
        self.client.put(action.sign(VALIDITY).as_str(), bytes, None)
    }
}
