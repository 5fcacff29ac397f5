//! Bundles as they should be, and dozens as strangers might make them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use serde_json::json;

use super::inventory::Inventory;
use super::layout::{Directory, Member};
use super::{
    About, Bundle, BundleError, Extent, INVENTORY, ListedFile, Packer, entry_name, object_name,
};
use crate::engine::cache::Entry;
use crate::engine::digest::ContentDigest;
use crate::engine::key::KeyRecord;
use crate::engine::remote::signed_manifest::SignedManifest;
use crate::engine::remote::{SecretKey, Trust};
use crate::engine::stage::Kind;
use crate::engine::stage::artifact::{StoredArtifact, StoredFile};
use crate::engine::stage::run_record::RunRecord;

fn about() -> About {
    About {
        program: "1.2.3".to_owned(),
        pipeline: "p".to_owned(),
        file: "pipeline/p.ron".to_owned(),
        scale: None,
        extent: Extent::Everything,
    }
}

fn anyone() -> Trust {
    Trust { unsigned: true, ..Trust::default() }
}

/// A result whose only file has this content.
fn entry(content: &[u8]) -> Entry {
    let record = KeyRecord::new(Kind { name: "Test", version: 1 }, json!({"n": content.len()}));
    let digest = ContentDigest::of_bytes(content);
    let file = StoredFile { name: "file".to_owned(), digest, bytes: content.len() as u64 };
    let artifact = StoredArtifact::new("test", vec![file]);
    let run = RunRecord::default();
    Entry { key: record.key(), record, trajectory: None, artifact, run }
}

/// A file of the archive, as it will be written.
struct Part {
    member: Member,
    data: Vec<u8>,
    /// In place of what the member says.
    local: Option<Vec<u8>>,
    central: Option<Vec<u8>>,
    /// Bytes behind it.
    behind: Vec<u8>,
}

impl Part {
    fn stored(name: &str, data: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(data);
        let bytes = data.len() as u64;
        let member = Member {
            name: name.to_owned(),
            is_deflated: false,
            crc: crc.sum(),
            packed: bytes,
            bytes,
            offset: 0,
        };
        Self { member, data: data.to_vec(), local: None, central: None, behind: Vec::new() }
    }

    fn deflated(name: &str, data: &[u8]) -> Self {
        let mut part = Self::stored(name, data);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).unwrap();
        part.data = encoder.finish().unwrap();
        (part.member.is_deflated, part.member.packed) = (true, part.data.len() as u64);
        part
    }

    /// Changes bytes of its header in the directory.
    fn with_central(mut self, at: usize, bytes: &[u8]) -> Self {
        let mut header = self.member.central_header();
        header[at..at + bytes.len()].copy_from_slice(bytes);
        self.central = Some(header);
        self
    }
}

/// Assembles an archive; offsets of headers that are not given are the true ones.
fn assembled(mut parts: Vec<Part>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    let count = parts.len() as u64;
    for part in &mut parts {
        part.member.offset = out.len() as u64;
        out.extend(part.local.clone().unwrap_or_else(|| part.member.local_header()));
        out.extend(&part.data);
        out.extend(&part.behind);
        let header = part.central.clone().map_or_else(
            || part.member.central_header(),
            |mut header| {
                // Made before its place was known.
                header[42..46].copy_from_slice(&(part.member.offset as u32).to_le_bytes());
                header
            },
        );
        directory.extend(header);
    }
    let start = out.len() as u64;
    out.extend(&directory);
    out.extend(Directory { members: count, start, length: directory.len() as u64 }.end());
    out
}

fn listed(parts: &[Part], content: impl Fn(&Part) -> Vec<u8>) -> Vec<ListedFile> {
    let file = |part: &Part| ListedFile {
        name: part.member.name.clone(),
        bytes: part.member.bytes,
        digest: ContentDigest::of_bytes(&content(part)),
    };
    parts.iter().map(file).collect()
}

fn inventory(files: Vec<ListedFile>, key: Option<&SecretKey>) -> Vec<u8> {
    let text = Inventory::new(about(), files).text().into_bytes();
    SignedManifest::new(text, key).unwrap().to_bytes()
}

/// A bundle of these files with an inventory of them.
fn with_inventory(parts: Vec<Part>) -> Vec<u8> {
    let files = listed(&parts, |part| part.data.clone());
    let first = Part::stored(INVENTORY, &inventory(files, None));
    assembled([first].into_iter().chain(parts).collect())
}

/// A bundle of files by name, in this order.
fn of_names(names: &[&str]) -> Vec<u8> {
    with_inventory(names.iter().map(|name| Part::stored(name, b"x")).collect())
}

/// A bundle of one file `a`, with another inventory than it should have.
fn with_text(change: impl Fn(String) -> String) -> Vec<u8> {
    let part = Part::stored("a", b"x");
    let files = listed(std::slice::from_ref(&part), |part| part.data.clone());
    let text = change(Inventory::new(about(), files).text());
    let signed = SignedManifest::new(text.into_bytes(), None).unwrap().to_bytes();
    assembled(vec![Part::stored(INVENTORY, &signed), part])
}

/// A bundle of results, given as files of the cache.
fn with_results(change: impl Fn(&mut Vec<(String, Vec<u8>)>)) -> Vec<u8> {
    let entry = entry(b"content");
    let text = serde_json::to_vec_pretty(&entry).unwrap();
    let mut files = vec![
        (entry_name(&entry.key), text),
        (object_name(&entry.artifact.files[0].digest), b"content".to_vec()),
    ];
    change(&mut files);
    files.sort();
    with_inventory(files.iter().map(|(name, bytes)| Part::stored(name, bytes)).collect())
}

/// Takes a bundle as far as it goes.
fn take(path: &Path, trust: &Trust) -> Result<(), BundleError> {
    let bundle = Bundle::open(path, trust)?;
    bundle.verify()?;
    bundle.results().map(drop)
}

fn bad_names() -> Vec<(&'static str, Vec<u8>)> {
    let (long, part) = ("a/".repeat(200) + "b", "a".repeat(201));
    let one = |what, name: &str| (what, of_names(&[name]));
    vec![
        one("leads elsewhere", "../x"),
        one("leads elsewhere", "a/../../x"),
        one("leads elsewhere", "."),
        one("leads elsewhere", "a/./b"),
        one("absolute path", "/etc/passwd"),
        one("characters", "a\\b"),
        one("characters", "C:x"),
        one("characters", "a\0b"),
        one("characters", "a\nb"),
        one("characters", "a\u{1b}[2Jb"),
        one("characters", "a\u{202e}b"),
        one("characters", "a\u{200b}b"),
        one("empty part", "a//b"),
        one("a folder", "folder/"),
        one("not every system", "x."),
        one("not every system", " x"),
        one("not every system", &part),
        one("a name has 401 bytes", &long),
        one("too many folders", "a/b/c/d/e/f/g/h/i/j/k/l/m"),
        one("no name", ""),
        ("there twice", of_names(&["a", "a"])),
        ("there twice", of_names(&["A", "a"])),
        ("there twice", of_names(&["Ä", "ä"])),
        ("a file and a folder", of_names(&["a", "a/b"])),
        ("a file and a folder", of_names(&["A/b", "a"])),
    ]
}

fn bad_structures() -> Vec<(&'static str, Vec<u8>)> {
    let a = || Part::stored("a", b"some text");
    let good = || with_inventory(vec![a(), Part::stored("b", b"more")]);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good();
        change(&mut bytes);
        bytes
    };
    let local = |change: &dyn Fn(&mut Member)| {
        let mut part = a();
        let mut member = part.member.clone();
        change(&mut member);
        part.local = Some(member.local_header());
        with_inventory(vec![part])
    };
    let gap = Part { behind: b"hidden".to_vec(), ..a() };
    let last = Part { behind: b"hidden".to_vec(), ..a() };
    let mut overlapping = Part::stored("b", b"more");
    overlapping.data.clear();
    vec![
        ("no bundle", b"".to_vec()),
        ("no bundle", b"PK".to_vec()),
        ("does not end", vec![0; 4096]),
        ("does not end", changed(&|bytes| bytes.push(0))),
        ("does not end", changed(&|bytes| bytes.truncate(bytes.len() - 1))),
        ("does not end", changed(&|bytes| bytes.truncate(bytes.len() / 2))),
        // A comment.
        (
            "does not end",
            changed(&|bytes| {
                let at = bytes.len() - 2;
                bytes[at] = 1;
                bytes.push(b'c');
            }),
        ),
        ("does not end", changed(&|bytes| drop(bytes.splice(0..0, *b"MZ")))),
        (
            "does not end",
            changed(&|bytes| {
                let at = bytes.len() - 6;
                bytes[at..at + 4].fill(0xff);
            }),
        ),
        (
            "directory",
            changed(&|bytes| {
                let at = bytes.len() - 14;
                bytes[at..at + 4].copy_from_slice(&[2, 0, 2, 0]);
            }),
        ),
        (
            "directory",
            changed(&|bytes| {
                let at = bytes.len() - 14;
                bytes[at..at + 4].copy_from_slice(&[9, 0, 9, 0]);
            }),
        ),
        ("gap", with_inventory(vec![gap, Part::stored("b", b"more")])),
        ("something between", with_inventory(vec![last])),
        ("overlaps", with_inventory(vec![overlapping, Part::stored("c", b"")])),
        ("two headers", local(&|member| member.name = "b".to_owned())),
        ("two headers", local(&|member| member.crc ^= 1)),
        ("two headers", local(&|member| member.bytes += 1)),
        ("two headers", local(&|member| member.is_deflated = true)),
        // Flags: encrypted; sizes that follow.
        ("encrypted", with_inventory(vec![a().with_central(8, &[1, 8])])),
        ("header", with_inventory(vec![a().with_central(8, &[8, 8])])),
        ("unknown method 12", with_inventory(vec![a().with_central(10, &[12, 0])])),
        // A time, made on another system, a link, a folder, a device.
        ("header", with_inventory(vec![a().with_central(12, &[1, 0])])),
        ("header", with_inventory(vec![a().with_central(5, &[0])])),
        (
            "a link",
            with_inventory(vec![a().with_central(38, &(0o120_777_u32 << 16).to_le_bytes())]),
        ),
        (
            "header",
            with_inventory(vec![a().with_central(38, &(0o040_755_u32 << 16).to_le_bytes())]),
        ),
        (
            "header",
            with_inventory(vec![a().with_central(38, &(0o104_755_u32 << 16).to_le_bytes())]),
        ),
        ("not valid text", with_inventory(vec![a().with_central(46, &[0xff])])),
    ]
}

fn bad_sizes() -> Vec<(&'static str, Vec<u8>)> {
    let deflated = |change: &dyn Fn(&mut Part), text: &[u8]| {
        let mut part = Part::deflated("a", text);
        change(&mut part);
        let files = listed(std::slice::from_ref(&part), |_| text.to_vec());
        assembled(vec![Part::stored(INVENTORY, &inventory(files, None)), part])
    };
    let text = b"text text text text text text text text".as_slice();
    let mut total = [Part::stored("a", b""), Part::stored("b", b"")];
    for part in &mut total {
        (part.member.bytes, part.member.packed) = (1 << 43, (1 << 43) - 1);
        part.member.is_deflated = true;
    }
    let mut wrong = Part::stored("a", b"12345");
    wrong.member.packed = 4;
    vec![
        ("would become", deflated(&|_| {}, &vec![0; 10 << 20])),
        ("would become", deflated(&|part| part.member.bytes = 1 << 40, text)),
        ("larger than it says", deflated(&|part| part.member.bytes -= 1, text)),
        ("the size that it says", deflated(&|part| part.member.bytes += 1, text)),
        ("the checksum that it says", deflated(&|part| part.member.crc ^= 1, text)),
        (
            "the size that it says",
            deflated(
                &|part| {
                    part.data.extend(b"hidden");
                    part.member.packed += 6;
                },
                &text.repeat(9),
            ),
        ),
        ("can't be unpacked", deflated(&|part| part.data.fill(0xff), text)),
        ("no smaller", deflated(&|part| part.member.is_deflated = false, text)),
        (
            "no smaller",
            deflated(
                &|part| {
                    part.member.packed = part.member.bytes;
                    part.data.resize(part.member.bytes as usize, 0);
                },
                text,
            ),
        ),
        ("no smaller", with_inventory(vec![wrong])),
        ("would become", with_inventory(total.into())),
        (
            "beyond its place",
            with_inventory(vec![{
                let mut part = Part::stored("a", b"");
                (part.member.bytes, part.member.packed) = (500, 500);
                part
            }]),
        ),
    ]
}

fn bad_inventories() -> Vec<(&'static str, Vec<u8>)> {
    let a = || Part::stored("a", b"x");
    let listing = |files: Vec<ListedFile>, parts: Vec<Part>| {
        let first = Part::stored(INVENTORY, &inventory(files, None));
        assembled([first].into_iter().chain(parts).collect())
    };
    let file = |name: &str, text: &[u8]| ListedFile {
        name: name.to_owned(),
        bytes: text.len() as u64,
        digest: ContentDigest::of_bytes(text),
    };
    let replaced = |from: &str, to: &str| with_text(|text| text.replacen(from, to, 1));
    vec![
        ("first file", assembled(vec![a()])),
        ("first file", assembled(Vec::new())),
        ("first file", assembled(vec![a(), Part::stored(INVENTORY, b"")])),
        ("inventory is damaged", assembled(vec![Part::stored(INVENTORY, b"{}"), a()])),
        ("not in its inventory", listing(vec![], vec![a()])),
        ("not there", listing(vec![file("a", b"x"), file("b", b"x")], vec![a()])),
        ("where its inventory has", listing(vec![file("b", b"x")], vec![a()])),
        ("bytes of the inventory", listing(vec![file("a", b"xy")], vec![a()])),
        ("digest that the inventory says", listing(vec![file("a", b"y")], vec![a()])),
        ("order of their names", of_names(&["b", "a"])),
        ("has format 2", replaced("\"bundle\": 1", "\"bundle\": 2")),
        ("can't be read", replaced("\"bundle\": 1", "\"bundle\": -1")),
        ("can't be read", replaced("\"bundle\": 1", "\"bundle\": 1, \"more\": 2")),
        ("can't be read", replaced("\"everything\"", "\"something\"")),
        ("can't be read", with_text(|_| String::new())),
        ("can't be read", with_text(|_| "[".repeat(100_000))),
        ("not written as bundles are", replaced("{", "{ ")),
    ]
}

fn bad_results() -> Vec<(&'static str, Vec<u8>)> {
    let text = |file: &mut (String, Vec<u8>), from: &str, to: &str| {
        let text = String::from_utf8(file.1.clone()).unwrap();
        assert!(text.contains(from), "{text}");
        file.1 = text.replace(from, to).into_bytes();
    };
    vec![
        ("which is not there", with_results(|files| drop(files.pop()))),
        ("belongs to no result", with_results(|files| drop(files.remove(0)))),
        (
            "belongs to no result",
            with_results(|files| {
                files.push(("cache/index.sqlite".to_owned(), Vec::new()));
            }),
        ),
        ("not a manifest", with_results(|files| files[0].1 = b"{}".to_vec())),
        (
            "another key than its record",
            with_results(|files| text(&mut files[0], "\"n\": 7", "\"n\": 8")),
        ),
        (
            "manifest of another key",
            with_results(|files| {
                files[0].0 = entry_name(&entry(b"other").key);
            }),
        ),
        ("not what", with_results(|files| text(&mut files[0], "\"bytes\": 7", "\"bytes\": 8"))),
        ("not what", with_results(|files| files[1].1 = b"another".to_vec())),
        (
            "plain relative path",
            with_results(|files| text(&mut files[0], "\"file\"", "\"../file\"")),
        ),
        (
            "impossible times",
            with_results(|files| {
                text(&mut files[0], "\"seconds\": 0.0", "\"seconds\": -1.0");
            }),
        ),
    ]
}

#[test]
fn hostile_bundles_are_refused_in_one_line_and_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pcae");
    let groups = [bad_names(), bad_structures(), bad_sizes(), bad_inventories(), bad_results()];
    let cases: Vec<_> = groups.into_iter().flatten().collect();
    assert!(cases.len() >= 80, "{}", cases.len());
    for (at, (what, bytes)) in cases.iter().enumerate() {
        fs::write(&path, bytes).unwrap();
        let error = match take(&path, &anyone()) {
            Ok(()) => panic!("case {at} is taken: {what}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains("x.pcae is refused: "), "case {at}: {error}");
        assert!(error.contains(what), "case {at}, {what}: {error}");
        assert!(!error.chars().any(char::is_control), "case {at}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_bundle_cut_off_anywhere_or_with_any_byte_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pcae");
    let good = with_results(|_| {});
    fs::write(&path, &good).unwrap();
    take(&path, &anyone()).unwrap();
    for at in 0..good.len() {
        let mut changed = good.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        assert!(take(&path, &anyone()).is_err(), "byte {at}");
        fs::write(&path, &good[..at]).unwrap();
        assert!(take(&path, &anyone()).is_err(), "{at} bytes");
    }
}

/// Packs a bundle of a text and of one that packs far too well.
fn packed(path: &Path, key: Option<&SecretKey>) {
    let mut packer = Packer::new(about());
    packer.add("README.md", "read me ".repeat(100));
    packer.add("empty", "");
    packer.add("zeros", vec![0; 8 << 20]);
    let entry = entry(b"content");
    packer.add(entry_name(&entry.key), serde_json::to_vec_pretty(&entry).unwrap());
    packer.add(object_name(&entry.artifact.files[0].digest), "content");
    packer.write(path, key).unwrap();
}

#[test]
fn what_was_packed_is_read_again_and_equal_contents_give_equal_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    packed(&one, None);
    packed(&two, None);
    assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap());
    let bundle = Bundle::open(&one, &anyone()).unwrap();
    bundle.verify().unwrap();
    assert_eq!(*bundle.about(), about());
    assert_eq!(bundle.read("README.md").unwrap(), "read me ".repeat(100).into_bytes());
    assert_eq!(bundle.read("zeros").unwrap(), vec![0; 8 << 20]);
    assert!(bundle.read("nothing").is_err() && bundle.file(INVENTORY).is_none());
    assert_eq!(bundle.results().unwrap().len(), 1);
    let mut archive = zip::ZipArchive::new(fs::File::open(&one).unwrap()).unwrap();
    let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!((names[0].as_str(), names.len()), (INVENTORY, 6));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut archive.by_name("README.md").unwrap(), &mut text).unwrap();
    assert_eq!(text, "read me ".repeat(100), "any other program reads it, too");
}

#[test]
fn with_trusted_keys_only_their_bundles_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pcae");
    let [own, other, namesake] =
        ["lab", "other", "lab"].map(|name| SecretKey::generate(name).unwrap());
    let trust = Trust { keys: vec![own.public_key().unwrap()], ..Trust::default() };
    let refused = |key: Option<&SecretKey>| {
        packed(&path, key);
        take(&path, &anyone()).unwrap();
        take(&path, &trust).unwrap_err().to_string()
    };
    assert!(refused(None).ends_with("is not signed"));
    assert!(refused(Some(&other)).contains("signed by `other`, which is not among the trusted"));
    assert!(refused(Some(&namesake)).contains("not of the trusted key of this name"));
    packed(&path, Some(&own));
    take(&path, &trust).unwrap();
    // A signature of other content, and one that is cut off.
    let part = Part::stored("a", b"x");
    let files = listed(std::slice::from_ref(&part), |part| part.data.clone());
    let signed = inventory(files.clone(), Some(&own));
    let text = String::from_utf8(signed).unwrap();
    for (from, to) in [("1.2.3", "1.2.4"), ("signature lab ", "signature other "), ("=\n", "\n")] {
        assert!(text.contains(from), "{text}");
        let changed = Part::stored(INVENTORY, text.replacen(from, to, 1).as_bytes());
        fs::write(&path, assembled(vec![changed, Part::stored("a", b"x")])).unwrap();
        assert!(take(&path, &trust).is_err(), "{from}");
    }
    // The first bytes of the signature, without the rest.
    let line = text.lines().find(|line| line.starts_with("signature ")).unwrap();
    for length in 0..line.len() {
        let cut = Part::stored(INVENTORY, text.replace(line, &line[..length]).as_bytes());
        fs::write(&path, assembled(vec![cut, Part::stored("a", b"x")])).unwrap();
        assert!(take(&path, &trust).is_err(), "{length}");
    }
}

#[test]
fn names_that_readers_refuse_are_not_packed() {
    let folder = tempfile::tempdir().unwrap();
    for names in [&["../x"][..], &["a:b"], &["a", "A"], &["a", "a/b"]] {
        let mut packer = Packer::new(about());
        for name in names {
            packer.add(*name, "x");
        }
        let error = packer.write(&folder.path().join("x"), None).unwrap_err();
        assert!(matches!(error, BundleError::Unpackable { .. }), "{names:?}: {error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
