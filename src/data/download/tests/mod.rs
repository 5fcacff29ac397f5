//! Checks of the whole module against folders and a loopback server; no other network is used.

mod answers;
mod folders;
mod resume;
mod server;
mod waiting;

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;

/// Folders of one test, and what the transfer told.
struct Fixture {
    folder: TempDir,
    retry_policy: RetryPolicy,
    offline: bool,
    log: RefCell<Vec<String>>,
    seen: Vec<Transfer>,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        let retry_policy = RetryPolicy {
            connect: Duration::from_millis(500),
            idle: Duration::from_millis(200),
            slowest: 16,
            retries: 2,
            first_pause: Duration::from_millis(10),
            longest_retry_after: Duration::from_millis(300),
        };
        Self { folder, retry_policy, offline: false, log: RefCell::default(), seen: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a file into the data folder.
    fn put(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path("data").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Leaves a part behind, as a process does that was killed.
    fn put_part(&self, key: &str, content: &[u8]) {
        fs::create_dir_all(self.path("parts")).unwrap();
        fs::write(self.path("parts").join(format!("{key}.part")), content).unwrap();
    }

    fn obtain(&mut self, file: &PinnedFile) -> Result<Origin, DownloadError> {
        self.obtain_until(file, &|| false)
    }

    fn obtain_until(
        &mut self,
        file: &PinnedFile,
        stop: &dyn Fn() -> bool,
    ) -> Result<Origin, DownloadError> {
        let (local, parts, to) = (vec![self.path("data")], self.path("parts"), self.path("out"));
        let Self { retry_policy, offline, log, seen, .. } = self;
        let options = FetchOptions {
            local: &local,
            parts: &parts,
            offline: *offline,
            retry_policy: *retry_policy,
            stop,
            progress: &mut |transfer| seen.push(transfer),
            log: &|line| log.borrow_mut().push(line.to_owned()),
        };
        obtain(file, &to, options)
    }

    /// Obtains a file that must turn out right.
    fn succeed(&mut self, file: &PinnedFile, content: &[u8]) -> Origin {
        let origin = self.obtain(file).unwrap();
        assert!(fs::read(self.path("out")).unwrap() == content, "other bytes than pinned");
        assert_eq!(self.leftovers("part"), Vec::<String>::new());
        origin
    }

    /// Obtains a file that must not turn out, and returns the error's text.
    fn fail(&mut self, file: &PinnedFile) -> String {
        let error = self.obtain(file).unwrap_err();
        assert!(!self.path("out").exists(), "something was left at the destination");
        assert!(!self.path("out.incoming").exists(), "something was left beside it");
        error.to_string()
    }

    /// Returns the files of one kind in the folder for parts.
    fn leftovers(&self, ending: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("parts")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(&format!(".{ending}"))).collect()
    }

    fn logged(&self, text: &str) -> bool {
        self.log.borrow().iter().any(|line| line.contains(text))
    }
}

/// Returns bytes that do not repeat and hardly compress.
fn content(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn sha256(bytes: &[u8]) -> Sha256Digest {
    Sha256Digest::from_bytes(Sha256::digest(bytes).into())
}

fn pin(content: &[u8], mirrors: &[String]) -> PinnedFile {
    PinnedFile {
        name: FileName::new("digits-idx3-ubyte").unwrap(),
        bytes: content.len() as u64,
        sha256: sha256(content),
        gzip: None,
        mirrors: mirrors.to_vec(),
    }
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}
