//! Servers that answer something else than the file: wrong sizes, wrong bytes, other statuses.

use super::server::{Server, Step, good, head, redirect, status};
use super::*;

const NO_PAUSE: Duration = Duration::ZERO;

/// Serves the right bytes at `good` and lets the test decide on the rest.
fn beside_good(
    bytes: &[u8],
    script: impl Fn(&server::Request) -> Vec<Step> + Send + Sync + 'static,
) -> Server {
    let bytes = bytes.to_vec();
    Server::new(move |request| match request.path.as_str() {
        "good" => good(request, &bytes),
        _ => script(request),
    })
}

/// Expects the first mirror to be given up after `requests` requests, for the given reason.
fn gives_up(bytes: &[u8], server: &Server, path: &str, requests: usize, reason: &str) -> Fixture {
    let mut fixture = Fixture::new();
    let mirrors = [server.url(path), server.url("good")];
    let origin = fixture.succeed(&pin(bytes, &mirrors), bytes);
    assert_eq!(origin, Origin::Mirror(mirrors[1].clone()));
    assert!(fixture.logged(&format!("{}: {reason}", mirrors[0])), "{:#?}", fixture.log.borrow());
    assert_eq!(server.count(), requests + 1);
    fixture
}

#[test]
fn a_file_arrives_raw() {
    let bytes = content(300_000);
    let server = beside_good(&bytes, |_| status("404 Not Found"));
    let mut fixture = Fixture::new();
    let origin = fixture.succeed(&pin(&bytes, &[server.url("good")]), &bytes);
    assert_eq!(origin, Origin::Mirror(server.url("good")));
    let last = fixture.seen.last().unwrap();
    assert_eq!((last.done, last.total), (300_000, 300_000));
}

#[test]
fn a_gzipped_mirror_is_unpacked_with_and_without_pinned_packing() {
    let bytes = content(300_000);
    let packed = gzipped(&bytes);
    let size = packed.len() as u64;
    let pinned = Gzip { bytes: Some(size), sha256: Some(sha256(&packed)) };
    let server = Server::new(move |request| good(request, &packed));
    for gzip in [None, Some(Gzip { bytes: Some(size), sha256: None }), Some(pinned)] {
        let file = PinnedFile { gzip, ..pin(&bytes, &[server.url("a.gz?key=1")]) };
        Fixture::new().succeed(&file, &bytes);
    }
}

#[test]
fn a_pinned_archive_from_a_mirror_stays_packed() {
    let archive = gzipped(&content(5000));
    let server = beside_good(&archive, |_| status("404 Not Found"));
    let name = FileName::new("set.tar.gz").unwrap();
    let served = archive.clone();
    let packed = Server::new(move |request| good(request, &served));
    let file =
        PinnedFile { name, ..pin(&archive, &[packed.url("set.tar.gz"), server.url("good")]) };
    assert_eq!(Fixture::new().succeed(&file, &archive), Origin::Mirror(packed.url("set.tar.gz")));
}

#[test]
fn statuses_that_will_not_change_lead_to_the_next_mirror_at_once() {
    let bytes = content(1000);
    for text in ["404 Not Found", "403 Forbidden", "410 Gone", "204 No Content", "304 Not Modified"]
    {
        let server = beside_good(&bytes, move |_| vec![head(text, &[])]);
        gives_up(&bytes, &server, "a", 1, text);
    }
}

#[test]
fn a_busy_server_is_asked_again_and_given_up_in_the_end() {
    let bytes = content(1000);
    for text in ["503 Service Unavailable", "500 Internal Server Error", "429 Too Many Requests"] {
        let server = beside_good(&bytes, move |_| status(text));
        gives_up(&bytes, &server, "a", 3, text);
    }
}

#[test]
fn a_size_other_than_pinned_is_refused_before_the_body() {
    let bytes = content(1000);
    for length in ["999", "1001", "18446744073709551615"] {
        let server = beside_good(&bytes, move |_| {
            let length = format!("Content-Length: {length}");
            vec![head("200 OK", &[&length]), Step::Hang]
        });
        gives_up(&bytes, &server, "a", 1, &format!("offers {length} bytes, expected 1000"));
    }
    let server = beside_good(&bytes, |_| vec![head("200 OK", &["Content-Length: 3000"])]);
    gives_up(&bytes, &server, "a.gz", 1, "offers 3000 bytes, expected at most 2149");
}

#[test]
fn a_body_without_end_is_left_at_the_pinned_size() {
    let bytes = content(200_000);
    let endless = |headers: &'static [&'static str], piece: Vec<u8>| {
        beside_good(&bytes, move |_| {
            vec![head("200 OK", headers), Step::Repeat(piece.clone(), NO_PAUSE)]
        })
    };
    let plain = endless(&[], vec![b'x'; 5000]);
    gives_up(&bytes, &plain, "a", 1, "sends more than 200000 bytes");
    let mut chunk = b"1000\r\n".to_vec();
    chunk.extend([b'x'; 0x1000]);
    chunk.extend(b"\r\n");
    let chunked = endless(&["Transfer-Encoding: chunked"], chunk);
    let fixture = gives_up(&bytes, &chunked, "a", 1, "sends more than 200000 bytes");
    let furthest = fixture.seen.iter().map(|transfer| transfer.done).max();
    assert_eq!(furthest, Some(200_000));
}

#[test]
fn wrong_bytes_are_kept_aside_once_and_never_used() {
    let bytes = content(1000);
    let served = vec![vec![1; 1000], vec![2; 1000]];
    let wrong = served.clone();
    let server = beside_good(&bytes, move |request| good(request, &served[request.number]));
    let mut fixture = Fixture::new();
    let mirrors = [server.url("first"), server.url("second")];
    let error = fixture.fail(&pin(&bytes, &mirrors));
    for (mirror, wrong) in mirrors.iter().zip(&wrong) {
        let (found, expected) = (sha256(wrong), sha256(&bytes));
        let clause = format!("{mirror}: its sha256 is {found}, expected {expected}");
        assert!(error.contains(&clause), "{error}");
    }
    let newest = format!("digits-idx3-ubyte.{}.bad", sha256(&wrong[1]).short());
    assert_eq!(fixture.leftovers("bad"), [newest.as_str()]);
    assert!(fixture.logged(&newest));
    assert_eq!(fs::read(fixture.path("parts").join(newest)).unwrap(), wrong[1]);
    assert_eq!(fixture.leftovers("part"), Vec::<String>::new());
    fixture.succeed(&pin(&bytes, &[server.url("good")]), &bytes);
}

#[test]
fn a_bomb_from_a_mirror_is_given_up() {
    let bytes = content(100_000);
    let bomb = gzipped(&vec![0; 4 << 20]);
    assert!(bomb.len() < 100_000);
    let server = beside_good(&bytes, move |request| good(request, &bomb));
    let reason = "unpacked, it has more than the expected 100000 bytes";
    gives_up(&bytes, &server, "a.gz", 1, reason);
}

#[test]
fn something_else_than_http_is_given_up() {
    let bytes = content(1000);
    let garbage = beside_good(&bytes, |_| vec![Step::Send(b"SSH-2.0-server\r\n\r\n".to_vec())]);
    gives_up(&bytes, &garbage, "a", 1, "protocol: ");
    let endless_head = beside_good(&bytes, |_| {
        let line = Step::Repeat(b"X-Filler: nothing at all\r\n".to_vec(), NO_PAUSE);
        vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), line]
    });
    gives_up(&bytes, &endless_head, "a", 1, "protocol: ");
}

#[test]
fn a_secure_address_without_a_secure_server_is_given_up() {
    let bytes = content(1000);
    let server = beside_good(&bytes, |_| status("404 Not Found"));
    let secure = server.url("good").replace("http:", "https:");
    let mut fixture = Fixture::new();
    let origin = fixture.succeed(&pin(&bytes, &[secure.clone(), server.url("good")]), &bytes);
    assert_eq!(origin, Origin::Mirror(server.url("good")));
    assert!(fixture.logged(&format!("{secure}: stalled for 200ms")), "{:#?}", fixture.log.borrow());
}

#[test]
fn redirects_are_followed_a_few_times_with_their_range() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| match request.path.as_str() {
        "a/b" => redirect("../1?x=1"),
        "1?x=1" => redirect("/2"),
        "2" => vec![
            head("301 Moved Permanently", &["Location: 3"]),
            Step::Repeat(b"a body that nobody reads".to_vec(), NO_PAUSE),
        ],
        "3" => good(request, &served),
        _ => status("404 Not Found"),
    });
    let mut fixture = Fixture::new();
    fixture.put_part(&sha256(&bytes).to_string(), &bytes[..400]);
    fixture.succeed(&pin(&bytes, &[server.url("a/b")]), &bytes);
    assert_eq!(server.offsets(), [400; 4]);
}

#[test]
fn redirects_that_never_end_or_leave_the_web_are_not_followed() {
    let bytes = content(1000);
    let server = beside_good(&bytes, |_| redirect("/loop"));
    gives_up(&bytes, &server, "loop", 6, "redirects more than 5 times");
    let secret = Fixture::new();
    let path = secret.put("secret", &bytes);
    let location = format!("file://{}", path.display());
    let server = beside_good(&bytes, move |_| redirect(&location));
    gives_up(&bytes, &server, "a", 1, "redirects to `file:`, only http and https are followed");
    let server = beside_good(&bytes, |_| vec![head("302 Found", &["Content-Length: 0"])]);
    gives_up(&bytes, &server, "a", 1, "302 Found");
}

#[test]
fn a_server_that_is_not_there_leads_to_the_next_mirror() {
    let bytes = content(1000);
    let gone = Server::new(|_| status("200 OK")).url("a");
    let server = beside_good(&bytes, |_| status("404 Not Found"));
    let mut fixture = Fixture::new();
    let origin = fixture.succeed(&pin(&bytes, &[gone.clone(), server.url("good")]), &bytes);
    assert_eq!(origin, Origin::Mirror(server.url("good")));
    let tries = format!("{gone}: Connection refused");
    let times = fixture.log.borrow().iter().filter(|line| line.starts_with(&tries)).count();
    assert_eq!(times, 3, "two retries and the final word: {:#?}", fixture.log.borrow());
}
