//! The user's folders and `file:` mirrors.

use super::*;

fn file_url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
fn a_file_of_the_data_folder_is_taken_under_either_spelling_raw_or_gzipped() {
    let bytes = content(5000);
    let cases = [
        ("digits-idx3-ubyte", false),
        ("digits.idx3-ubyte", false),
        ("digits-idx3-ubyte.gz", true),
        ("digits-idx3-ubyte", true),
        ("digits-idx3-ubyte.gz", false),
        ("deep/er/digits.idx3-ubyte.gz", true),
    ];
    for (name, packed) in cases {
        let mut fixture = Fixture::new();
        let path = fixture.put(name, &if packed { gzipped(&bytes) } else { bytes.clone() });
        let origin = fixture.succeed(&pin(&bytes, &[]), &bytes);
        assert_eq!(origin, Origin::Local(path.clone()));
        assert!(path.exists(), "the user's file is gone");
    }
}

#[test]
fn a_local_file_of_another_content_is_named_and_left_alone() {
    let mut fixture = Fixture::new();
    let bytes = content(500);
    let (wrong, short) = (vec![7; 500], vec![7; 20]);
    let first = fixture.put("digits-idx3-ubyte", &wrong);
    let second = fixture.put("digits.idx3-ubyte", &short);
    let third = fixture.put("other/digits-idx3-ubyte.gz", &gzipped(&wrong));
    let right = fixture.put("right/digits-idx3-ubyte", &bytes);
    assert_eq!(fixture.succeed(&pin(&bytes, &[]), &bytes), Origin::Local(right));
    let difference = format!("its sha256 is {}, expected {}", sha256(&wrong), sha256(&bytes));
    assert!(fixture.logged(&format!("found {} but {difference}", first.display())));
    assert!(
        fixture.logged(&format!("found {} but it has 20 bytes, expected 500", second.display()))
    );
    assert!(fixture.logged(&format!("found {} but unpacked, {difference}", third.display())));
    assert_eq!(fs::read(first).unwrap(), wrong);
    assert_eq!(fs::read(second).unwrap(), short);
}

#[test]
fn a_gzip_bomb_is_unpacked_no_further_than_the_pinned_size() {
    let mut fixture = Fixture::new();
    let path = fixture.put("digits-idx3-ubyte.gz", &gzipped(&vec![0; 4 << 20]));
    let file = pin(&content(1000), &[file_url(&path)]);
    fixture.fail(&file);
    assert!(fixture.logged("but unpacked, it has more than the expected 1000 bytes"));
    let furthest = fixture.seen.iter().map(|transfer| transfer.done).max().unwrap_or(0);
    assert!(furthest <= 1000, "{furthest} bytes were written");
}

#[test]
fn a_truncated_gzip_is_damaged_not_short() {
    let mut fixture = Fixture::new();
    let bytes = content(5000);
    let packed = gzipped(&bytes);
    fixture.put("digits-idx3-ubyte.gz", &packed[..packed.len() / 2]);
    fixture.fail(&pin(&bytes, &[]));
    assert!(fixture.logged("but it is a damaged gzip file: "));
}

#[test]
fn an_archive_that_is_pinned_itself_is_not_unpacked() {
    let mut fixture = Fixture::new();
    let archive = gzipped(&content(5000));
    let mut file = pin(&archive, &[]);
    file.name = FileName::new("set.tar.gz").unwrap();
    fixture.put("set.tar.gz", &archive);
    fixture.succeed(&file, &archive);
}

#[test]
fn file_mirrors_are_verified_in_order_and_never_changed() {
    let mut fixture = Fixture::new();
    let bytes = content(700);
    let wrong = fixture.path("wrong");
    let right = fixture.path("right.gz");
    fs::write(&wrong, [1, 2, 3]).unwrap();
    fs::write(&right, gzipped(&bytes)).unwrap();
    let missing = file_url(&fixture.path("missing"));
    let mirrors = [missing, file_url(&wrong), file_url(&right)];
    let origin = fixture.succeed(&pin(&bytes, &mirrors), &bytes);
    assert_eq!(origin, Origin::Mirror(mirrors[2].clone()));
    assert!(fixture.logged("missing: it cannot be read: "));
    assert!(fixture.logged("wrong: it has 3 bytes, expected 700"));
    assert_eq!(fs::read(&wrong).unwrap(), [1, 2, 3]);
    assert!(right.exists());
}

#[test]
fn a_folder_or_a_device_is_no_file() {
    let mut fixture = Fixture::new();
    let mirrors = [file_url(&fixture.path("data")), "file:/dev/zero".to_owned()];
    let error = fixture.fail(&pin(&content(10), &mirrors));
    assert_eq!(error.matches("it cannot be read: not a regular file").count(), 2, "{error}");
}

#[test]
fn offline_asks_no_server_but_file_mirrors_and_says_what_to_do() {
    let server = server::Server::new(|_| server::status("500 Internal Server Error"));
    let mut fixture = Fixture::new();
    fixture.offline = true;
    let bytes = content(10);
    let error = fixture.fail(&pin(&bytes, &[server.url("a")]));
    let expected =
        "`digits-idx3-ubyte` is not available offline: it is in none of the data folders";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.ends_with("raw or gzipped, or run without --offline"), "{error}");
    let path = fixture.path("mirror");
    fs::write(&path, &bytes).unwrap();
    fixture.succeed(&pin(&bytes, &[server.url("a"), file_url(&path)]), &bytes);
    assert_eq!(server.count(), 0);
}

#[test]
fn without_folder_and_mirror_the_error_says_so() {
    let error = Fixture::new().fail(&pin(&content(10), &[]));
    assert!(error.contains("it has no mirror; it is in"), "{error}");
    assert!(error.contains("pass --data FOLDER"), "{error}");
}
