//! Transfers that are cut and go on.

use super::server::{Server, Step, cut, good, head, status};
use super::*;

fn raw_key(bytes: &[u8]) -> String {
    sha256(bytes).to_string()
}

#[test]
fn a_cut_transfer_goes_on_where_it_was_cut() {
    let bytes = content(100_000);
    let served = bytes.clone();
    let server = Server::new(move |request| match request.number {
        0 => cut(request, &served, 70_000),
        _ => good(request, &served),
    });
    let mut fixture = Fixture::new();
    fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    assert_eq!(server.offsets(), [0, 70_000]);
    assert!(
        fixture.logged("the connection was closed early (70000 bytes so far); retrying in 10ms")
    );
}

#[test]
fn headway_allows_more_cuts_than_retries() {
    let bytes = content(100_000);
    let served = bytes.clone();
    let server = Server::new(move |request| {
        cut(request, &served, (request.from + 10_000).min(served.len()))
    });
    Fixture::new().succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    assert_eq!(server.offsets(), (0..10).map(|cut| cut * 10_000).collect::<Vec<_>>());
}

#[test]
fn single_bytes_are_no_headway() {
    let bytes = content(100_000);
    let served = bytes.clone();
    let server = Server::new(move |request| cut(request, &served, request.from + 1));
    let error = Fixture::new().fail(&pin(&bytes, &[server.url("a")]));
    assert!(error.contains("the connection was closed early"), "{error}");
    assert_eq!(server.offsets(), [0, 1, 2]);
}

#[test]
fn another_process_goes_on_with_the_part_of_a_killed_one() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| good(request, &served));
    let mut fixture = Fixture::new();
    fixture.put_part(&raw_key(&bytes), &bytes[..600]);
    fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    assert_eq!(server.offsets(), [600]);
    fixture.put_part(&raw_key(&bytes), &bytes);
    fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    assert_eq!(server.count(), 1, "a complete part needs no server");
}

#[test]
fn another_mirror_goes_on_with_what_the_first_one_sent() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| match (request.path.as_str(), request.from) {
        ("a", 0) => cut(request, &served, 300),
        ("a", _) => status("404 Not Found"),
        _ => good(request, &served),
    });
    Fixture::new().succeed(&pin(&bytes, &[server.url("a"), server.url("b")]), &bytes);
    assert_eq!(server.offsets(), [0, 300, 300]);
}

#[test]
fn packed_parts_are_shared_between_mirrors_only_if_their_hash_is_pinned() {
    let bytes = content(1000);
    let packed = gzipped(&bytes);
    let pinned = Gzip { bytes: Some(packed.len() as u64), sha256: Some(sha256(&packed)) };
    for (gzip, offsets) in [(None, [0, 300, 0]), (Some(pinned), [0, 300, 300])] {
        let served = packed.clone();
        let server = Server::new(move |request| match (request.path.as_str(), request.from) {
            ("a.gz", 0) => cut(request, &served, 300),
            ("a.gz", _) => status("404 Not Found"),
            _ => good(request, &served),
        });
        let mirrors = [server.url("a.gz"), server.url("b.gz")];
        // Succeeds only if no part is left behind, hence the first mirror's is gone as well.
        Fixture::new().succeed(&PinnedFile { gzip, ..pin(&bytes, &mirrors) }, &bytes);
        assert_eq!(server.offsets(), offsets);
    }
}

#[test]
fn a_server_that_ignores_ranges_or_refuses_them_starts_again() {
    let bytes = content(1000);
    let whole = |served: &[u8]| {
        vec![head("200 OK", &["Content-Length: 1000"]), Step::Send(served.to_vec())]
    };
    let ranges: [fn() -> Vec<Step>; 4] = [
        || status("416 Range Not Satisfiable"),
        || vec![head("206 Partial Content", &["Content-Range: bytes 0-999/1000"]), Step::Hang],
        || vec![head("206 Partial Content", &["Content-Length: 600"]), Step::Hang],
        || vec![head("206 Partial Content", &["Content-Range: pages 4-9/1000"]), Step::Hang],
    ];
    for range in ranges {
        let served = bytes.clone();
        let server = Server::new(move |request| match request.from {
            0 => whole(&served),
            _ => range(),
        });
        let mut fixture = Fixture::new();
        fixture.put_part(&raw_key(&bytes), &bytes[..400]);
        fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes);
        assert_eq!(server.offsets(), [400, 0]);
    }
    let served = bytes.clone();
    let server = Server::new(move |_| whole(&served));
    let mut fixture = Fixture::new();
    fixture.put_part(&raw_key(&bytes), &bytes[..400]);
    fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    assert_eq!(server.offsets(), [400], "the whole file came at once");
}

#[test]
fn a_range_of_a_file_of_another_size_is_refused_at_once() {
    let bytes = content(1000);
    let server = Server::new(|_| {
        vec![head("206 Partial Content", &["Content-Range: bytes 400-1999/2000"]), Step::Hang]
    });
    let mut fixture = Fixture::new();
    fixture.put_part(&raw_key(&bytes), &bytes[..400]);
    let error = fixture.fail(&pin(&bytes, &[server.url("a")]));
    assert!(error.contains("a: offers 2000 bytes, expected 1000; it is in"), "{error}");
    assert_eq!(server.count(), 1);
    assert_eq!(fixture.leftovers("part").len(), 1, "another mirror may go on with it");
}

#[test]
fn an_answer_with_a_range_that_was_not_asked_for_is_refused() {
    let bytes = content(1000);
    let server = Server::new(|_| {
        vec![head("206 Partial Content", &["Content-Range: bytes 0-999/1000"]), Step::Hang]
    });
    let error = Fixture::new().fail(&pin(&bytes, &[server.url("a")]));
    assert!(error.contains("206 Partial Content"), "{error}");
    assert_eq!(server.count(), 1);
}

#[test]
fn a_length_that_never_comes_ends_after_the_retries() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| cut(request, &served, 900));
    let mut fixture = Fixture::new();
    let error = fixture.fail(&pin(&bytes, &[server.url("a")]));
    assert!(error.contains("the connection was closed early"), "{error}");
    assert_eq!(server.offsets(), [0, 900, 900]);
    assert_eq!(fixture.leftovers("part").len(), 1, "a later run may go on");
}

#[test]
fn a_short_body_of_unknown_length_is_a_cut() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| match request.from {
        0 => vec![head("200 OK", &[]), Step::Send(served[..300].to_vec())],
        _ => good(request, &served),
    });
    let mut fixture = Fixture::new();
    fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    assert_eq!(server.offsets(), [0, 300]);
    assert!(fixture.logged("ended after 300 of 1000 bytes"));
}

#[test]
fn a_wrong_part_of_somebody_else_does_not_spoil_a_good_mirror() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| good(request, &served));
    for length in [400, 1000, 1001] {
        let mut fixture = Fixture::new();
        fixture.put_part(&raw_key(&bytes), &vec![9; length]);
        fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    }
    assert_eq!(server.offsets(), [400, 0, 0, 0]);
}

#[test]
fn a_part_on_a_folder_that_cannot_be_written_is_no_fault_of_the_mirror() {
    let server = Server::new(|_| status("404 Not Found"));
    let mut fixture = Fixture::new();
    fs::write(fixture.path("parts"), "a file where the folder should be").unwrap();
    let error = fixture.obtain(&pin(&content(10), &[server.url("a")])).unwrap_err();
    assert!(matches!(error, DownloadError::File { .. }), "{error}");
    assert_eq!(server.count(), 0);
}
