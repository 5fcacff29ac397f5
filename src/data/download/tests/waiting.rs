//! Servers that keep one waiting, the wish to stop, and other processes.

use std::cell::Cell;
use std::thread;
use std::time::Instant;

use super::server::{Server, Step, good, head};
use super::*;

/// Runs and makes sure that it took no longer than a person would expect.
fn within<T>(limit: Duration, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    let took = start.elapsed();
    assert!(took < limit, "took {took:?}");
    result
}

#[test]
fn a_server_that_stalls_is_asked_again_and_goes_on() {
    let bytes = content(100_000);
    let served = bytes.clone();
    let server = Server::new(move |request| match request.number {
        0 => vec![Step::Hang],
        1 => vec![
            head("200 OK", &["Content-Length: 100000"]),
            Step::Send(served[..40_000].to_vec()),
            Step::Hang,
        ],
        _ => good(request, &served),
    });
    let mut fixture = Fixture::new();
    within(Duration::from_secs(3), || fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes));
    assert_eq!(server.offsets(), [0, 0, 40_000]);
    assert!(fixture.logged("stalled"));
}

#[test]
fn servers_that_drip_are_given_up() {
    let bytes = content(1000);
    let pause = Duration::from_millis(30);
    let drips: [fn(Duration) -> Vec<Step>; 3] = [
        |pause| vec![head("200 OK", &[]), Step::Repeat(b"x".to_vec(), pause)],
        |pause| {
            let start = b"HTTP/1.1 200 OK\r\nX-Filler: ".to_vec();
            vec![Step::Send(start), Step::Repeat(b"x".to_vec(), pause)]
        },
        // A chunk's size followed by a remark that never ends: bytes arrive, but none of the body.
        |pause| {
            let start = Step::Send(b"5;remark=".to_vec());
            let drip = Step::Repeat(b"x".to_vec(), pause);
            vec![head("200 OK", &["Transfer-Encoding: chunked"]), start, drip]
        },
    ];
    for drip in drips {
        let server = Server::new(move |_| drip(pause));
        let mut fixture = Fixture::new();
        let error =
            within(Duration::from_secs(3), || fixture.fail(&pin(&bytes, &[server.url("a")])));
        assert!(error.contains("stalled"), "{error}");
        assert_eq!(server.count(), 3);
    }
}

#[test]
fn a_slow_but_steady_body_may_take_longer_than_the_idle_time() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |_| {
        let pieces = served
            .chunks(100)
            .flat_map(|piece| [Step::Send(piece.to_vec()), Step::Pause(Duration::from_millis(60))]);
        [head("200 OK", &["Content-Length: 1000"])].into_iter().chain(pieces).collect()
    });
    let start = Instant::now();
    Fixture::new().succeed(&pin(&bytes, &[server.url("a")]), &bytes);
    assert!(start.elapsed() > Duration::from_millis(400), "the test is too fast to say anything");
    assert_eq!(server.count(), 1);
}

#[test]
fn a_server_that_names_a_time_is_left_alone_for_as_long_within_limits() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| match request.number {
        0 => vec![head("503 Service Unavailable", &["Retry-After: 86400", "Content-Length: 0"])],
        _ => good(request, &served),
    });
    let mut fixture = Fixture::new();
    let start = Instant::now();
    within(Duration::from_secs(3), || fixture.succeed(&pin(&bytes, &[server.url("a")]), &bytes));
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(fixture.logged("503 Service Unavailable (0 bytes so far); retrying in 300ms"));
}

#[test]
fn pauses_double() {
    let retry_policy = RetryPolicy::default();
    let pauses = [0, 1, 2].map(|retry| retry_policy.pause_before(retry).as_secs());
    assert_eq!(pauses, [1, 2, 4]);
}

#[test]
fn a_wish_to_stop_is_noticed_while_a_server_is_silent() {
    let bytes = content(1000);
    let scripts: [fn() -> Vec<Step>; 3] = [
        || vec![Step::Hang],
        || vec![head("200 OK", &["Content-Length: 1000"]), Step::Hang],
        || vec![head("503 Busy", &["Retry-After: 20", "Content-Length: 0"])],
    ];
    for script in scripts {
        let server = Server::new(move |_| script());
        let mut fixture = Fixture::new();
        fixture.retry_policy = RetryPolicy::default();
        let start = Instant::now();
        let stop = || start.elapsed() > Duration::from_millis(150);
        let error = within(Duration::from_secs(1), || {
            fixture.obtain_until(&pin(&bytes, &[server.url("a")]), &stop).unwrap_err()
        });
        assert!(matches!(error, DownloadError::Stopped), "{error}");
        assert!(server.is_left_within(Duration::from_secs(1)), "a connection stays open");
    }
}

#[test]
fn a_stopped_transfer_is_continued_by_the_next_run() {
    let bytes = content(1000);
    let served = bytes.clone();
    let server = Server::new(move |request| match request.number {
        0 => vec![
            head("200 OK", &["Content-Length: 1000"]),
            Step::Send(served[..500].to_vec()),
            Step::Hang,
        ],
        _ => good(request, &served),
    });
    let mut fixture = Fixture::new();
    fixture.retry_policy = RetryPolicy::default();
    let file = pin(&bytes, &[server.url("a")]);
    let start = Instant::now();
    let error = fixture.obtain_until(&file, &|| start.elapsed() > Duration::from_millis(200));
    assert!(matches!(error, Err(DownloadError::Stopped)));
    fixture.succeed(&file, &bytes);
    assert_eq!(server.offsets(), [0, 500]);
}

#[test]
fn only_one_process_writes_a_part_and_the_others_wait() {
    let bytes = content(200_000);
    let served = bytes.clone();
    let server = Server::new(move |request| good(request, &served));
    let file = pin(&bytes, &[server.url("a")]);
    let mut fixture = Fixture::new();
    fs::create_dir(fixture.path("parts")).unwrap();
    let path = fixture.path("parts").join(format!("{}.lock", sha256(&bytes)));
    let lock = fs::File::create(path).unwrap();
    lock.lock().unwrap();
    let looks = Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        looks.get() > 6
    };
    assert!(matches!(fixture.obtain_until(&file, &stop), Err(DownloadError::Stopped)));
    assert_eq!(server.count(), 0);
    assert!(fixture.logged("another process is downloading digits-idx3-ubyte"));
    let release = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        drop(lock);
    });
    fixture.succeed(&file, &bytes);
    release.join().unwrap();
}

#[test]
fn several_at_once_all_end_up_with_the_right_bytes() {
    let bytes = content(500_000);
    let served = bytes.clone();
    let server = Server::new(move |request| good(request, &served));
    let folder = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for number in 0..4 {
            let (bytes, folder, mirror) = (&bytes, folder.path(), server.url("a"));
            scope.spawn(move || {
                let to = folder.join(format!("out-{number}"));
                let options = FetchOptions {
                    local: &[],
                    parts: &folder.join("parts"),
                    offline: false,
                    retry_policy: RetryPolicy::default(),
                    stop: &|| false,
                    progress: &mut |_| (),
                    log: &|_| (),
                };
                obtain(&pin(bytes, &[mirror]), &to, options).unwrap();
                assert!(fs::read(to).unwrap() == *bytes);
            });
        }
    });
}
