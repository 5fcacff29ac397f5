//! Fetches a file from one web mirror: follows redirects, goes on after a cut, tries again.
//!
//! Sizes are checked against the pin before a byte is written and with every piece, so a server
//! cannot fill the disk. Only when all bytes are here is the hash computed, over what is on disk.

use std::io::Write;
use std::time::Duration;

use ureq::http::{StatusCode, Uri};

use super::address::redirected;
use super::exchange::{Body, Exchange, Fault, Head};
use super::part::Part;
use super::verify::{Verdict, Wanted, move_if_right};
use super::watch::Watch;
use super::{DownloadError, PinnedFile, RetryPolicy};

/// Redirects that are followed for one request.
const MOST_REDIRECTS: usize = 5;

/// How many bytes a mirror is expected to send.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// The number, if it is pinned.
    exact: Option<u64>,
    /// The number that is never exceeded.
    most: u64,
}

impl Size {
    /// Returns what is known of the bytes that travel.
    pub(super) fn of(file: &PinnedFile, packed: bool) -> Self {
        if !packed {
            return Self { exact: Some(file.bytes), most: file.bytes };
        }
        let exact = file.gzip.as_ref().and_then(|gzip| gzip.bytes);
        // Data that cannot be compressed grows by a few bytes in every block; some packers add 5 %.
        let grown = file.bytes.saturating_add(file.bytes / 8).saturating_add(1024);
        Self { exact, most: exact.unwrap_or(grown) }
    }

    /// Returns a number for the progress bar.
    pub(super) fn estimate(self) -> u64 {
        self.most
    }

    /// Makes sure that the size a server tells is the expected one.
    fn check(self, told: Option<u64>) -> Result<(), Fault> {
        match (told, self.exact) {
            (Some(told), Some(exact)) if told != exact => {
                Err(Fault::Refused(format!("offers {told} bytes, expected {exact}")))
            }
            (Some(told), _) if told > self.most => {
                Err(Fault::Refused(format!("offers {told} bytes, expected at most {}", self.most)))
            }
            _ => Ok(()),
        }
    }

    /// Headway that is worth starting to count retries anew: a server that hands out single bytes
    /// must come to an end as well.
    fn headway(self) -> u64 {
        (self.most / 64).clamp(1, 1 << 20)
    }
}

/// A mirror on the web.
pub(super) struct WebMirror<'a> {
    address: &'a Uri,
    size: Size,
    part: Part,
    retry_policy: RetryPolicy,
    /// The part holds bytes from an earlier run or another mirror.
    begun_elsewhere: bool,
}

/// What an answer that is no fault leads to.
enum Answer {
    /// All bytes are here.
    Complete,
    /// What is here cannot be continued.
    StartOver,
}

impl<'a> WebMirror<'a> {
    pub(super) fn new(
        address: &'a Uri,
        size: Size,
        part: Part,
        retry_policy: RetryPolicy,
    ) -> Result<Self, DownloadError> {
        let begun_elsewhere = part.length()? > 0;
        Ok(Self { address, size, part, retry_policy, begun_elsewhere })
    }

    /// Fetches and checks the file.
    pub(super) fn fetch(
        &mut self,
        wanted: Wanted<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Verdict, DownloadError> {
        loop {
            match self.download(watch) {
                Ok(()) => {}
                Err(Fault::Refused(reason) | Fault::Transient { reason, .. }) => {
                    return Ok(Verdict::Wrong(reason));
                }
                Err(Fault::Ended(error)) => return Err(error),
            }
            let reason = match move_if_right(self.part.path(), wanted, watch)? {
                Verdict::Right => return Ok(Verdict::Right),
                Verdict::Wrong(reason) => reason,
            };
            let aside = self.part.set_aside(&wanted.file.name, watch)?;
            watch.log(&format!("{}: wrong file kept as {}", self.address, aside.display()));
            if !self.begun_elsewhere {
                return Ok(Verdict::Wrong(reason));
            }
            // This mirror need not be the one that sent wrong bytes.
            let address = self.address;
            watch.log(&format!(
                "{address}: {reason}; part of it came from another mirror: starting over"
            ));
            self.begun_elsewhere = false;
        }
    }

    /// Asks until all bytes are here or another try makes no sense.
    fn download(&mut self, watch: &mut Watch<'_>) -> Result<(), Fault> {
        let mut best = self.part.length()?;
        if best > self.size.most {
            self.start_over()?;
            best = 0;
        }
        let mut retries = 0;
        loop {
            let length = self.part.length()?;
            if length > 0 && Some(length) == self.size.exact {
                return Ok(());
            }
            match self.ask(watch) {
                Ok(Answer::Complete) => return Ok(()),
                Ok(Answer::StartOver) => self.start_over()?,
                Err(Fault::Transient { reason, after }) => {
                    let length = self.part.length()?;
                    if length >= best.saturating_add(self.size.headway()) {
                        best = length;
                        retries = 0;
                    }
                    if retries == self.retry_policy.retries {
                        return Err(Fault::Transient { reason, after });
                    }
                    let pause = self.retry_policy.pause_before(retries).max(after);
                    retries += 1;
                    self.wait(&reason, pause, watch)?;
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    fn start_over(&mut self) -> Result<(), DownloadError> {
        self.begun_elsewhere = false;
        self.part.clear()
    }

    fn wait(
        &self,
        reason: &str,
        pause: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<(), DownloadError> {
        let length = self.part.length()?;
        watch.log(&format!(
            "{}: {reason} ({length} bytes so far); retrying in {pause:?}",
            self.address
        ));
        watch.show(length, self.size.estimate(), &format!("{reason}: retrying in {pause:?}"));
        watch.pause(pause)
    }

    /// Sends one request, and those that its redirects lead to.
    fn ask(&mut self, watch: &mut Watch<'_>) -> Result<Answer, Fault> {
        let offset = self.part.length()?;
        let mut address = self.address.clone();
        for _ in 0..=MOST_REDIRECTS {
            let host = address.host().unwrap_or_default().to_owned();
            watch.show(offset, self.size.estimate(), &format!("connecting to {host}"));
            let exchange = Exchange::start(&address, offset, self.retry_policy)?;
            let head = exchange.head(watch)?;
            match &head.location {
                Some(location) if is_redirect(head.status) => {
                    address = redirected(&address, location).map_err(Fault::Refused)?;
                }
                _ => return self.answer(&head, offset, exchange, &host, watch),
            }
        }
        Err(Fault::Refused(format!("redirects more than {MOST_REDIRECTS} times")))
    }

    /// Judges the answer before its body is read.
    fn answer(
        &mut self,
        head: &Head,
        offset: u64,
        exchange: Exchange,
        host: &str,
        watch: &mut Watch<'_>,
    ) -> Result<Answer, Fault> {
        match head.status {
            StatusCode::OK => {
                self.size.check(head.length)?;
                self.start_over()?;
                self.receive(exchange, head.length, host, watch)
            }
            StatusCode::PARTIAL_CONTENT if offset > 0 => {
                let Some((first, total)) = head.range else { return Ok(Answer::StartOver) };
                self.size.check(total)?;
                if first != offset {
                    return Ok(Answer::StartOver);
                }
                self.receive(exchange, total, host, watch)
            }
            StatusCode::RANGE_NOT_SATISFIABLE if offset > 0 => Ok(Answer::StartOver),
            status if is_transient(status) => {
                let after = head.retry_after.unwrap_or_default();
                let after = after.min(self.retry_policy.longest_retry_after);
                Err(Fault::Transient { reason: status.to_string(), after })
            }
            status => Err(Fault::Refused(status.to_string())),
        }
    }

    /// Writes the body behind what is here.
    fn receive(
        &self,
        mut exchange: Exchange,
        told: Option<u64>,
        host: &str,
        watch: &mut Watch<'_>,
    ) -> Result<Answer, Fault> {
        let mut file = self.part.append()?;
        let mut length = self.part.length()?;
        let total = told.unwrap_or(self.size.estimate());
        loop {
            match exchange.body(watch)? {
                Some(Body::Piece(piece)) => {
                    let grown = length.saturating_add(piece.len() as u64);
                    if grown > self.size.most {
                        self.part.clear()?;
                        let most = self.size.most;
                        return Err(Fault::Refused(format!("sends more than {most} bytes")));
                    }
                    file.write_all(&piece).map_err(DownloadError::file(self.part.path()))?;
                    length = grown;
                }
                Some(Body::End) => break,
                None => {}
            }
            watch.report(length, total, host);
        }
        match self.size.exact.or(told) {
            Some(expected) if length < expected => {
                Err(Fault::transient(format!("ended after {length} of {expected} bytes")))
            }
            _ => Ok(Answer::Complete),
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Tells whether the server may answer otherwise in a moment.
fn is_transient(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429)
}
