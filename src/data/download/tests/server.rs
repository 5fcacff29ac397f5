//! A small HTTP server on loopback that misbehaves as told.
//!
//! Every connection serves one request on a thread of its own; the script sees the request and
//! its number and returns what to send, byte for byte. Dropping the server ends all threads.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What a client asked for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// First byte by the `Range` header, or zero.
    pub(crate) from: usize,
    /// How many requests came before this one.
    pub(crate) number: usize,
}

/// One thing that the server does.
pub(crate) enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// Sends the same bytes again and again, with a pause between.
    Repeat(Vec<u8>, Duration),
    /// Keeps the connection open and silent.
    Hang,
}

type Script = dyn Fn(&Request) -> Vec<Step> + Send + Sync;

/// A server that runs until dropped.
pub(crate) struct Server {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Connections that are open.
    open: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn new(script: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let closing = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let open = Arc::new(AtomicUsize::new(0));
        let script: Arc<Script> = Arc::new(script);
        let shared = (Arc::clone(&closing), Arc::clone(&requests), Arc::clone(&open));
        let thread = thread::spawn(move || {
            let (closing, requests, open) = shared;
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if closing.load(Ordering::SeqCst) {
                    break;
                }
                let (closing, requests) = (Arc::clone(&closing), Arc::clone(&requests));
                let (script, open) = (Arc::clone(&script), Arc::clone(&open));
                let stream = stream.unwrap();
                open.fetch_add(1, Ordering::SeqCst);
                connections.push(thread::spawn(move || {
                    serve(stream, &requests, &*script, &closing);
                    open.fetch_sub(1, Ordering::SeqCst);
                }));
            }
            for connection in connections {
                connection.join().unwrap();
            }
        });
        Self { address, closing, requests, open, thread: Some(thread) }
    }

    /// Returns the address of a path on this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Returns the first bytes that were asked for, request by request.
    pub(crate) fn offsets(&self) -> Vec<usize> {
        self.requests.lock().unwrap().iter().map(|request| request.from).collect()
    }

    /// Tells whether the clients close all connections within the given time.
    pub(crate) fn is_left_within(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while self.open.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        self.open.load(Ordering::SeqCst) == 0
    }

    /// Returns the number of requests so far.
    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        let ended = self.thread.take().unwrap().join();
        assert!(thread::panicking() || ended.is_ok(), "the server panicked");
    }
}

fn serve(
    mut stream: TcpStream,
    requests: &Mutex<Vec<Request>>,
    script: &Script,
    closing: &AtomicBool,
) {
    let Some(text) = read_request(&mut stream) else { return };
    let request = {
        let mut requests = requests.lock().unwrap();
        let path = text.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        let from = text
            .lines()
            .find_map(|line| {
                line.to_lowercase().strip_prefix("range: bytes=")?.strip_suffix('-')?.parse().ok()
            })
            .unwrap_or(0);
        let request = Request { path, from, number: requests.len() };
        requests.push(request.clone());
        request
    };
    for step in script(&request) {
        let alive = match step {
            Step::Send(bytes) => stream.write_all(&bytes).is_ok(),
            Step::Pause(duration) => {
                thread::sleep(duration);
                true
            }
            Step::Repeat(bytes, pause) => {
                while !closing.load(Ordering::SeqCst) && stream.write_all(&bytes).is_ok() {
                    thread::sleep(pause);
                }
                false
            }
            Step::Hang => {
                wait_for_client(&mut stream, closing);
                false
            }
        };
        if !alive {
            return;
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => text.push(byte[0]),
            _ => return None,
        }
    }
    String::from_utf8(text).ok()
}

/// Returns once the client has closed the connection.
fn wait_for_client(stream: &mut TcpStream, closing: &AtomicBool) {
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let is_silent = |stream: &mut TcpStream| match stream.read(&mut [0]) {
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        Ok(count) => count > 0,
    };
    while !closing.load(Ordering::SeqCst) && is_silent(stream) {}
}

/// Returns the start of an answer: status, headers, empty line.
pub(crate) fn head(status: &str, headers: &[&str]) -> Step {
    let status = format!("HTTP/1.1 {status}");
    let lines = [&[status.as_str(), "Connection: close"], headers, &["", ""]].concat();
    Step::Send(lines.join("\r\n").into_bytes())
}

/// Returns an answer without a body.
pub(crate) fn status(status: &str) -> Vec<Step> {
    vec![head(status, &["Content-Length: 0"])]
}

/// Returns a redirect.
pub(crate) fn redirect(location: &str) -> Vec<Step> {
    vec![head("302 Found", &[&format!("Location: {location}"), "Content-Length: 0"])]
}

/// Answers as a good server does, with the range that was asked for.
pub(crate) fn good(request: &Request, content: &[u8]) -> Vec<Step> {
    cut(request, content, content.len())
}

/// Answers like a good server whose connection breaks before byte `end`.
pub(crate) fn cut(request: &Request, content: &[u8], end: usize) -> Vec<Step> {
    let (from, total) = (request.from, content.len());
    if from > 0 && from >= total {
        return vec![head("416 Range Not Satisfiable", &["Content-Length: 0"])];
    }
    let length = format!("Content-Length: {}", total - from);
    let start = if from == 0 {
        head("200 OK", &[&length])
    } else {
        let last = total - 1;
        let range = format!("Content-Range: bytes {from}-{last}/{total}");
        head("206 Partial Content", &[&length, &range])
    };
    vec![start, Step::Send(content[from..end.max(from)].to_vec())]
}
