//! A web server that answers GET and HEAD, and PUT if results are to be sent there.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use ureq::http::{Response, StatusCode, Uri, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Timeout};

use super::credentials::Secret;
use super::{Bytes, Content, Store, StoreError};

/// How long a connection may take.
const CONNECTING: Duration = Duration::from_secs(5);

/// How long an answer may take to begin, and how long nothing may come or go.
const SILENCE: Duration = Duration::from_secs(10);

/// Transfers that are slower than this are no help; several share a line.
const LEAST_BYTES_PER_SECOND: u64 = 12_500;

/// What a server may need to store what it was sent, besides `SILENCE`.
const LEAST_STORED_PER_SECOND: u64 = 10_000_000;

/// Bytes of an answer in which the reason of a refusal is looked for.
const REASON: u64 = 4096;

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
            .timeout_resolve(Some(CONNECTING))
            .timeout_connect(Some(CONNECTING))
            .timeout_send_request(Some(SILENCE))
            .timeout_recv_response(Some(SILENCE))
            // These begin anew with every piece.
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE));
        // A proxy of whoever runs the tests does not know their loopback server.
        #[cfg(test)]
        let config = config.proxy(None);
        Self(config.build().into())
    }

    pub(super) fn get(
        &self,
        url: &str,
        offset: u64,
        authorization: Option<&Secret>,
    ) -> Result<Option<Content>, StoreError> {
        let mut request = self.0.get(url).header(header::ACCEPT_ENCODING, "identity");
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
            StatusCode::RANGE_NOT_SATISFIABLE if offset > 0 => self.get(url, 0, authorization),
            StatusCode::FORBIDDEN if is_hidden_absence(response) => Ok(None),
            status => absence(status).map(|()| None),
        }
    }

    /// Returns the size of what is there. Whoever asks has been allowed to read before: a refusal is that
    /// of a bucket which does not tell what it lacks.
    pub(super) fn head(
        &self,
        url: &str,
        authorization: Option<&Secret>,
    ) -> Result<Option<u64>, StoreError> {
        let mut request = self.0.head(url);
        if let Some(Secret(value)) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        let response = request.call().map_err(failure)?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::FORBIDDEN => return Ok(None),
            status => return absence(status).map(|()| None),
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
        let count = bytes.count()?;
        let storing = SILENCE + Duration::from_secs(count / LEAST_STORED_PER_SECOND);
        let all = storing + Duration::from_secs(count / LEAST_BYTES_PER_SECOND);
        let request = self.0.put(url).config().timeout_recv_response(Some(storing));
        // Where a redirect leads, a PUT becomes a GET.
        let request =
            request.timeout_global(Some(all)).max_redirects(0).max_redirects_will_error(false);
        let mut request = request.build().content_type("application/octet-stream");
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
            401 | 403 | 404 | 405 | 501 | 507 => {
                Err(StoreError::WriteRefused(format!("PUT: {status}")))
            }
            413 => Err(StoreError::TooLarge(count)),
            300..=399 => Err(StoreError::WriteRefused(format!(
                "PUT: {status}, a redirect: check the address, and the region of a bucket"
            ))),
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
    let reader =
        Paced { reader: response.into_body().into_reader(), began: Instant::now(), read: 0 };
    Content { offset, reader: Box::new(reader) }
}

/// Breaks off what comes too slowly.
struct Paced<R> {
    reader: R,
    began: Instant,
    read: u64,
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.read += read as u64;
        let patience = SILENCE + Duration::from_secs(self.read / LEAST_BYTES_PER_SECOND);
        if read > 0 && self.began.elapsed() > patience {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "too slow"));
        }
        Ok(read)
    }
}

/// Returns whether a refusal only hides that there is nothing: buckets answer so whoever may not list them.
fn is_hidden_absence(response: Response<Body>) -> bool {
    let mut text = String::new();
    let mut body = response.into_body().into_reader().take(REASON);
    body.read_to_string(&mut text).is_ok() && text.contains("<Code>AccessDenied</Code>")
}

/// Says what went wrong, without the URL: that of a bucket is signed.
fn failure(error: ureq::Error) -> StoreError {
    StoreError::Failed(match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            format!("no connection within {CONNECTING:?}")
        }
        ureq::Error::Timeout(Timeout::Global) => {
            format!("slower than {LEAST_BYTES_PER_SECOND} bytes a second")
        }
        ureq::Error::Timeout(_) => format!("no answer within {SILENCE:?}"),
        ureq::Error::Io(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection was cut".to_owned()
        }
        ureq::Error::Io(cause) => cause.to_string(),
        ureq::Error::HostNotFound => "the host is not known".to_owned(),
        ureq::Error::ConnectionFailed => "no connection".to_owned(),
        ureq::Error::BadUri(_) => "its URL is not valid".to_owned(),
        ureq::Error::Tls(why) => why.to_owned(),
        // Others may repeat a signed URL.
        _ => "no valid answer".to_owned(),
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
    fn read(&self, name: &str, offset: u64) -> Result<Option<Content>, StoreError> {
        self.client.get(&self.url(name), offset, self.authorization.as_ref())
    }

    fn size(&self, name: &str) -> Result<Option<u64>, StoreError> {
        self.client.head(&self.url(name), self.authorization.as_ref())
    }

    fn write(&self, name: &str, bytes: Bytes<'_>) -> Result<(), StoreError> {
        self.client.put(&self.url(name), bytes, self.authorization.as_ref())
    }
}
