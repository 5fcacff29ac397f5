//! Whether a file holds the pinned bytes, raw or gzipped, told by its size and hash alone.
//!
//! The bytes are hashed on their way to a file beside the destination, which gets its name only
//! if they are the right ones: at the destination there is never anything else. Unpacking ends at
//! the pinned size, so a small file cannot fill the disk.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::watch::Watch;
use super::{DownloadError, PinnedFile, Sha256Digest};

const BUFFER: usize = 256 * 1024;
const GZIP_START: [u8; 2] = [0x1f, 0x8b];

/// Which bytes are wanted, and where.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) file: &'a PinnedFile,
    pub(super) to: &'a Path,
}

/// Whether a file held the wanted bytes.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// It did; they are at their destination now.
    Right,
    /// It did not, for the reason given.
    Wrong(String),
}

/// Copies the content of `source` to its destination if it is the wanted one.
pub(super) fn copy_if_right(
    source: &Path,
    wanted: Wanted<'_>,
    watch: &mut Watch<'_>,
) -> Result<Verdict, DownloadError> {
    let unreadable = |cause: io::Error| Ok(Verdict::Wrong(format!("it cannot be read: {cause}")));
    let (mut opened, length) = match open(source) {
        Ok(opened) => opened,
        Err(cause) => return unreadable(cause),
    };
    let mut incoming = Incoming::create(wanted.to)?;
    let note = format!("checking {}", wanted.file.name);
    let expected = wanted.file.bytes;
    let mut reason = format!("it has {length} bytes, expected {expected}");
    if length == expected {
        match incoming.fill(&mut opened, expected, &note, watch)? {
            Copied::All(seen) if seen.is(wanted.file) => return incoming.finish(wanted.to),
            Copied::All(seen) => reason = seen.difference(wanted.file),
            Copied::TooLong => reason = format!("it has more than {expected} bytes"),
            Copied::Unreadable(cause) => return unreadable(cause),
        }
    }
    if let Err(cause) = opened.rewind() {
        return unreadable(cause);
    }
    if starts_like_gzip(&mut opened) {
        let mut unpacked = MultiGzDecoder::new(BufReader::new(opened));
        reason = match incoming.fill(&mut unpacked, expected, &note, watch)? {
            Copied::All(seen) if seen.is(wanted.file) => return incoming.finish(wanted.to),
            Copied::All(seen) => format!("unpacked, {}", seen.difference(wanted.file)),
            Copied::TooLong => format!("unpacked, it has more than the expected {expected} bytes"),
            Copied::Unreadable(cause) => format!("it is a damaged gzip file: {cause}"),
        };
    }
    Ok(Verdict::Wrong(reason))
}

/// Like [`copy_if_right`], but gives `source` away: raw content is moved instead of copied.
pub(super) fn move_if_right(
    source: &Path,
    wanted: Wanted<'_>,
    watch: &mut Watch<'_>,
) -> Result<Verdict, DownloadError> {
    if let Ok((mut opened, length)) = open(source)
        && length == wanted.file.bytes
        && let Copied::All(seen) =
            copy_and_hash(&mut opened, &mut io::sink(), length, "checking", watch, source)?
        && seen.is(wanted.file)
        && fs::rename(source, wanted.to).is_ok()
    {
        return Ok(Verdict::Right);
    }
    // Also the way between two file systems, where nothing can be moved.
    let verdict = copy_if_right(source, wanted, watch)?;
    if verdict == Verdict::Right {
        fs::remove_file(source).map_err(DownloadError::file(source))?;
    }
    Ok(verdict)
}

/// Returns the hash of a whole file as it lies on disk.
pub(super) fn hash_of(path: &Path, watch: &mut Watch<'_>) -> Result<Sha256Digest, DownloadError> {
    let (mut opened, _) = open(path).map_err(DownloadError::file(path))?;
    match copy_and_hash(&mut opened, &mut io::sink(), u64::MAX, "checking", watch, path)? {
        Copied::All(seen) => Ok(seen.sha256),
        Copied::TooLong => Err(io::Error::from(io::ErrorKind::FileTooLarge)),
        Copied::Unreadable(cause) => Err(cause),
    }
    .map_err(DownloadError::file(path))
}

/// Opens a regular file: a pipe or a device could keep its reader waiting for ever.
fn open(path: &Path) -> io::Result<(File, u64)> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Looks at the first two bytes and goes back to the start.
fn starts_like_gzip(file: &mut File) -> bool {
    let mut start = [0; 2];
    file.read_exact(&mut start).is_ok() && start == GZIP_START && file.rewind().is_ok()
}

/// What was read.
struct Measured {
    bytes: u64,
    sha256: Sha256Digest,
}

impl Measured {
    fn is(&self, file: &PinnedFile) -> bool {
        self.bytes == file.bytes && self.sha256 == file.sha256
    }

    fn difference(&self, file: &PinnedFile) -> String {
        if self.bytes == file.bytes {
            format!("its sha256 is {}, expected {}", self.sha256, file.sha256)
        } else {
            format!("it has {} bytes, expected {}", self.bytes, file.bytes)
        }
    }
}

enum Copied {
    All(Measured),
    TooLong,
    Unreadable(io::Error),
}

/// Hashes and writes everything that `from` yields, up to `most` bytes.
fn copy_and_hash(
    from: &mut dyn Read,
    into: &mut dyn Write,
    most: u64,
    note: &str,
    watch: &mut Watch<'_>,
    written: &Path,
) -> Result<Copied, DownloadError> {
    let mut buffer = vec![0; BUFFER];
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    loop {
        watch.check()?;
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(Copied::Unreadable(error)),
        };
        bytes += count as u64;
        if bytes > most {
            return Ok(Copied::TooLong);
        }
        hasher.update(&buffer[..count]);
        into.write_all(&buffer[..count]).map_err(DownloadError::file(written))?;
        if most < u64::MAX {
            watch.report(bytes, most, note);
        }
    }
    Ok(Copied::All(Measured { bytes, sha256: Sha256Digest::from_bytes(hasher.finalize().into()) }))
}

/// A file beside the destination that is removed unless it turns out to be right.
struct Incoming {
    path: PathBuf,
    file: File,
}

impl Incoming {
    fn create(to: &Path) -> Result<Self, DownloadError> {
        let mut name = to.file_name().unwrap_or_default().to_owned();
        name.push(".incoming");
        let path = to.with_file_name(name);
        let file = File::create(&path).map_err(DownloadError::file(&path))?;
        Ok(Self { path, file })
    }

    fn fill(
        &mut self,
        from: &mut dyn Read,
        most: u64,
        note: &str,
        watch: &mut Watch<'_>,
    ) -> Result<Copied, DownloadError> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(DownloadError::file(&self.path))?;
        copy_and_hash(from, &mut self.file, most, note, watch, &self.path)
    }

    fn finish(self, to: &Path) -> Result<Verdict, DownloadError> {
        fs::rename(&self.path, to).map_err(DownloadError::file(to))?;
        Ok(Verdict::Right)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // After `finish` there is nothing left under this name, which is fine.
        let _ = fs::remove_file(&self.path);
    }
}
