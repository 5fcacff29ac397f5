//! One HTTP request, read on a thread of its own.
//!
//! The thread blocks; its owner never waits longer than a slice, hence notices a wish to stop,
//! and judges the server by bytes that arrive: a server that sends header or chunk lines for ever
//! makes no headway. Dropping the exchange shuts its connection, which ends the thread.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, StatusCode, Uri, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Timeout};

use super::watch::{SLICE, Watch};
use super::{DownloadError, RetryPolicy};

/// Bytes read at once, and how many such pieces may wait for the disk.
const PIECE: usize = 128 * 1024;
const WAITING: usize = 4;

const USER_AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

/// Why a request brought no file.
pub(super) enum Fault {
    /// May go away by itself: worth another try, but not before `after`.
    Transient { reason: String, after: Duration },
    /// Will not go away: this mirror is of no use.
    Refused(String),
    /// Nothing to do with the mirror.
    Ended(DownloadError),
}

impl Fault {
    pub(super) fn transient(reason: impl Into<String>) -> Self {
        Self::Transient { reason: reason.into(), after: Duration::ZERO }
    }
}

impl From<DownloadError> for Fault {
    fn from(error: DownloadError) -> Self {
        Self::Ended(error)
    }
}

/// What a server says before the body.
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// Bytes of the body, if told.
    pub(super) length: Option<u64>,
    /// First byte and total size by `Content-Range`, if told; the total may be unknown.
    pub(super) range: Option<(u64, Option<u64>)>,
    pub(super) retry_after: Option<Duration>,
    pub(super) location: Option<String>,
}

/// A part of the body, or its end.
pub(super) enum Body {
    Piece(Vec<u8>),
    End,
}

enum Event {
    Head(Head),
    Piece(Vec<u8>),
    End,
    Failed(ureq::Error),
}

/// A request under way.
pub(super) struct Exchange {
    agent: Agent,
    events: Receiver<Event>,
    retry_policy: RetryPolicy,
    pace: Pace,
}

impl Exchange {
    /// Asks for a file, from byte `offset` on.
    pub(super) fn start(
        address: &Uri,
        offset: u64,
        retry_policy: RetryPolicy,
    ) -> Result<Self, Fault> {
        let agent = agent(retry_policy);
        let mut request = agent.get(address).header(header::ACCEPT_ENCODING, "identity");
        if offset > 0 {
            request = request.header(header::RANGE, format!("bytes={offset}-"));
        }
        let (sender, events) = sync_channel(WAITING);
        let run = move || {
            if let Err(error) = read(request, &sender) {
                // Nobody listens any more if this fails.
                let _ = sender.send(Event::Failed(error));
            }
        };
        let thread = thread::Builder::new().name("download".to_owned()).spawn(run);
        thread.map_err(|error| Fault::Refused(format!("no thread could be started: {error}")))?;
        Ok(Self { agent, events, retry_policy, pace: Pace::new() })
    }

    /// Waits for the answer's first part.
    pub(super) fn head(&self, watch: &Watch<'_>) -> Result<Head, Fault> {
        // Name, connection, request and answer each have a limit of their own below; this one
        // holds whatever the server does.
        let end = Instant::now() + 2 * (self.retry_policy.connect + self.retry_policy.idle);
        loop {
            watch.check()?;
            match self.events.recv_timeout(SLICE) {
                Ok(Event::Head(head)) => return Ok(head),
                Ok(Event::Failed(error)) => return Err(fault(error, self.retry_policy)),
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                Err(RecvTimeoutError::Timeout) => return Err(Fault::transient("no response")),
                _ => return Err(lost()),
            }
        }
    }

    /// Waits for the next bytes, or returns nothing after a slice of time.
    pub(super) fn body(&mut self, watch: &Watch<'_>) -> Result<Option<Body>, Fault> {
        watch.check()?;
        let body = match self.events.recv_timeout(SLICE.min(self.retry_policy.idle)) {
            Ok(Event::Piece(piece)) => {
                self.pace.bytes += piece.len() as u64;
                Some(Body::Piece(piece))
            }
            Ok(Event::End) => return Ok(Some(Body::End)),
            Ok(Event::Failed(error)) => return Err(fault(error, self.retry_policy)),
            Err(RecvTimeoutError::Timeout) => None,
            Ok(Event::Head(_)) | Err(RecvTimeoutError::Disconnected) => return Err(lost()),
        };
        self.pace.check_speed(self.retry_policy)?;
        Ok(body)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}

/// Bytes that arrived since a moment.
struct Pace {
    since: Instant,
    bytes: u64,
}

impl Pace {
    fn new() -> Self {
        Self { since: Instant::now(), bytes: 0 }
    }

    /// Gives a server up that sent next to nothing for too long.
    fn check_speed(&mut self, retry_policy: RetryPolicy) -> Result<(), Fault> {
        if self.since.elapsed() < retry_policy.idle {
            return Ok(());
        }
        if self.bytes < retry_policy.slowest {
            let (bytes, idle) = (self.bytes, retry_policy.idle);
            return Err(Fault::transient(format!("stalled: {bytes} bytes in {idle:?}")));
        }
        *self = Self::new();
        Ok(())
    }
}

/// One agent for each request: shutting it down touches no other transfer.
fn agent(retry_policy: RetryPolicy) -> Agent {
    let RetryPolicy { connect, idle, .. } = retry_policy;
    // The machine's own certificates, so that a proxy that its users trust is trusted here too; what
    // comes through is checked by its hash anyway.
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        // Redirects are followed by our own rules, and their bodies are not read.
        .max_redirects(0)
        .user_agent(USER_AGENT)
        .timeout_resolve(Some(connect))
        .timeout_connect(Some(connect))
        .timeout_send_request(Some(idle))
        .timeout_recv_response(Some(idle))
        // Restarts with every read, so a long body is fine as long as it keeps coming.
        .timeout_per_read(Some(idle));
    // A proxy of whoever runs the tests does not know their loopback server.
    #[cfg(test)]
    let config = config.proxy(None);
    config.build().into()
}

/// Passes on everything that the server sends; ends early if nobody listens.
fn read(
    request: ureq::RequestBuilder<ureq::typestate::WithoutBody>,
    sender: &SyncSender<Event>,
) -> Result<(), ureq::Error> {
    let response = request.call()?;
    let (parts, body) = response.into_parts();
    let head = Head {
        status: parts.status,
        length: body.content_length(),
        range: text(&parts.headers, header::CONTENT_RANGE).and_then(content_range),
        retry_after: text(&parts.headers, header::RETRY_AFTER)
            .and_then(|seconds| seconds.parse().ok())
            .map(Duration::from_secs),
        location: text(&parts.headers, header::LOCATION).map(str::to_owned),
    };
    let has_body = head.status.is_success();
    if sender.send(Event::Head(head)).is_err() || !has_body {
        return Ok(());
    }
    let mut reader = body.into_reader();
    let mut buffer = vec![0; PIECE];
    loop {
        let event = match reader.read(&mut buffer) {
            Ok(0) => Event::End,
            Ok(count) => Event::Piece(buffer[..count].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        let is_last = matches!(event, Event::End);
        if sender.send(event).is_err() || is_last {
            return Ok(());
        }
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Reads `bytes 5-9/10` or `bytes 5-9/*`: the first byte and the total.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes")?.trim_start().split_once('/')?;
    let (first, _) = range.split_once('-')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    Some((first.parse().ok()?, total))
}

fn lost() -> Fault {
    Fault::transient("the connection was lost")
}

/// Sorts the ways in which a request can fail.
fn fault(error: ureq::Error, retry_policy: RetryPolicy) -> Fault {
    match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            Fault::transient(format!("no connection within {:?}", retry_policy.connect))
        }
        ureq::Error::Timeout(_) => Fault::transient(format!("stalled for {:?}", retry_policy.idle)),
        // So end certificates that are not accepted, which another try will not change.
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            Fault::Refused(error.to_string())
        }
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Fault::transient("the connection was closed early")
        }
        ureq::Error::Io(error) => Fault::transient(error.to_string()),
        error @ (ureq::Error::HostNotFound | ureq::Error::ConnectionFailed) => {
            Fault::transient(error.to_string())
        }
        error => Fault::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_an_answer_is_read_with_and_without_its_total() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 5-9/*"), Some((5, None)));
        for text in ["", "bytes", "bytes */10", "5-9/10", "bytes 5/10", "bytes 5-9/x"] {
            assert_eq!(content_range(text), None, "{text}");
        }
    }
}
