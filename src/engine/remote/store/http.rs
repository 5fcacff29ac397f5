//! A web server that answers GET and HEAD, and PUT if results are to be sent there.

use std::io;
use std::time::Duration;

use ureq::http::{Response, StatusCode, Uri, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Timeout};

use super::credentials::Secret;
use super::{Bytes, Content, Store, StoreError, patience_for};

/// How long a connection may take, and how long nothing may come or go through it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections that are kept for the next request.
const KEPT_CONNECTIONS: usize = 32;

const USER_AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

/// The requests of a store, with its limits of time.
#[derive(Debug)]
pub(super) struct Client(Agent);

impl Client {
    pub(super) fn new() -> Self {
        // The machine's own certificates, so that a server that its users trust is trusted here, too.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(5)
            .max_idle_connections(KEPT_CONNECTIONS)
            .max_idle_connections_per_host(KEPT_CONNECTIONS)
            .user_agent(USER_AGENT)
            .timeout_resolve(Some(PATIENCE))
            .timeout_connect(Some(PATIENCE))
            .timeout_send_request(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            // These begin anew with every piece.
            .timeout_per_read(Some(PATIENCE))
            .timeout_per_write(Some(PATIENCE));
        // A proxy of whoever runs the tests does not know their loopback server.
        #[cfg(test)]
        let config = config.proxy(None);
        Self(config.build().into())
    }

    pub(super) fn get(
        &self,
        url: &str,
        offset: u64,
        patience: Duration,
        authorization: Option<&Secret>,
    ) -> Result<Option<Content>, StoreError> {
        let request = self.0.get(url).config().timeout_global(Some(patience)).build();
        let mut request = request.header(header::ACCEPT_ENCODING, "identity");
        if offset > 0 {
            request = request.header(header::RANGE, format!("bytes={offset}-"));
        }
        if let Some(Secret(value)) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        let response = request.call().map_err(failure)?;
        match response.status() {
            StatusCode::OK => Ok(Some(content(response, 0))),
            StatusCode::PARTIAL_CONTENT if begins_at(&response, offset) => {
                Ok(Some(content(response, offset)))
            }
            // It has fewer bytes than are here already.
            StatusCode::RANGE_NOT_SATISFIABLE if offset > 0 => {
                self.get(url, 0, patience, authorization)
            }
            status => absence(status).map(|()| None),
        }
    }

    pub(super) fn head(
        &self,
        url: &str,
        authorization: Option<&Secret>,
    ) -> Result<Option<u64>, StoreError> {
        let request = self.0.head(url).config().timeout_global(Some(patience_for(0)));
        let mut request = request.build();
        if let Some(Secret(value)) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        let response = request.call().map_err(failure)?;
        if !response.status().is_success() {
            return absence(response.status()).map(|()| None);
        }
        let length = response.headers().get(header::CONTENT_LENGTH);
        Ok(length.and_then(|length| length.to_str().ok()?.trim().parse().ok()))
    }

    pub(super) fn put(
        &self,
        url: &str,
        bytes: Bytes<'_>,
        authorization: Option<&Secret>,
    ) -> Result<(), StoreError> {
        let patience = patience_for(bytes.count()?);
        let request = self.0.put(url).config().timeout_global(Some(patience)).build();
        let mut request = request.content_type("application/octet-stream");
        if let Some(Secret(value)) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        let response = match bytes {
            Bytes::File(file) => request.send(file),
            Bytes::Memory(bytes) => request.send(bytes),
        };
        let status = response.map_err(failure)?.status();
        match status.as_u16() {
            _ if status.is_success() => Ok(()),
            401 | 403 | 404 | 405 | 501 => Err(StoreError::WriteRefused(format!("PUT: {status}"))),
            _ => Err(StoreError::Failed(status.to_string())),
        }
    }
}

/// Decides whether an answer means that there is nothing.
fn absence(status: StatusCode) -> Result<(), StoreError> {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Ok(()),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Err(StoreError::Denied(format!("access denied ({status}): check the credentials")))
        }
        status => Err(StoreError::Failed(status.to_string())),
    }
}

/// Returns whether an answer begins where it was asked to.
fn begins_at(response: &Response<Body>, offset: u64) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.trim().starts_with(&format!("bytes {offset}-")))
}

fn content(response: Response<Body>, offset: u64) -> Content {
    Content { offset, reader: Box::new(response.into_body().into_reader()) }
}

/// Says what went wrong, without the URL: that of a bucket is signed.
fn failure(error: ureq::Error) -> StoreError {
    StoreError::Failed(match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            format!("no connection within {PATIENCE:?}")
        }
        ureq::Error::Timeout(_) => format!("nothing came for {PATIENCE:?}"),
        ureq::Error::Io(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection was cut".to_owned()
        }
        ureq::Error::Io(cause) => cause.to_string(),
        ureq::Error::HostNotFound => "the host is not known".to_owned(),
        ureq::Error::ConnectionFailed => "no connection".to_owned(),
        ureq::Error::BadUri(_) => "its URL is not valid".to_owned(),
        other => other.to_string(),
    })
}

/// Everything below a URL.
#[derive(Debug)]
pub(super) struct Web {
    client: Client,
    base: String,
    authorization: Option<Secret>,
}

impl Web {
    pub(super) fn new(base: &Uri, authorization: Option<Secret>) -> Self {
        let base = base.to_string().trim_end_matches('/').to_owned();
        Self { client: Client::new(), base, authorization }
    }

    fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }
}

impl Store for Web {
    fn read(
        &self,
        name: &str,
        offset: u64,
        patience: Duration,
    ) -> Result<Option<Content>, StoreError> {
        self.client.get(&self.url(name), offset, patience, self.authorization.as_ref())
    }

    fn size(&self, name: &str) -> Result<Option<u64>, StoreError> {
        self.client.head(&self.url(name), self.authorization.as_ref())
    }

    fn write(&self, name: &str, bytes: Bytes<'_>) -> Result<(), StoreError> {
        self.client.put(&self.url(name), bytes, self.authorization.as_ref())
    }
}
