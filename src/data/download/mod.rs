//! Fetches pinned files: bytes whose size and SHA-256 are known beforehand.
//!
//! Folders of this machine come first, then the mirrors in order; whatever is found is used only
//! if its hash is the pinned one, raw or after unpacking. Servers are not trusted: they can
//! neither write elsewhere, nor exceed the pinned size, nor keep the caller waiting for ever.
//! Interrupted transfers are continued, also by a later process. Knows neither data sets nor
//! pipelines; keeping the file safe on disk is the caller's business.
//!
//! ```text
//! obtain -> local (folders) -> verify
//!        -> http (one mirror: retries, resume) -> exchange (one request), part, verify
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

mod address;
mod error;
mod exchange;
mod http;
mod local;
mod part;
mod pin;
mod verify;
mod watch;

#[cfg(test)]
mod tests;

pub use error::{DownloadError, MirrorFailure};
pub use pin::{DigestError, FileName, FileNameError, Gzip, PinnedFile, Sha256Digest};
pub use watch::Transfer;

use address::{Address, has_gzip_ending};
use http::{Size, WebMirror};
use part::Part;
use verify::{Verdict, Wanted};
use watch::Watch;

/// What a transfer may use, and whom it tells.
pub struct FetchOptions<'a> {
    /// Folders that are searched first, each with two levels of folders below it.
    pub local: &'a [PathBuf],
    /// Folder for half-fetched files; outlives this process and may be shared by several.
    pub parts: &'a Path,
    /// Keeps to folders and `file:` mirrors.
    pub offline: bool,
    /// How long to wait and how often to try again.
    pub retry_policy: RetryPolicy,
    /// Tells whether the caller wishes to stop; asked several times a second.
    pub stop: &'a dyn Fn() -> bool,
    /// Hears how far the transfer has come, about ten times a second.
    pub progress: &'a mut dyn FnMut(Transfer),
    /// Hears what a user may want to read later.
    pub log: &'a dyn Fn(&str),
}

/// How long to wait and how often to try again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Longest time to look up a name, and again to connect.
    pub connect: Duration,
    /// Longest time without any byte.
    pub idle: Duration,
    /// Bytes that must arrive within `idle`, so that single bytes do not count as headway.
    pub slowest: u64,
    /// Tries after the first one that bring no headway, for each mirror.
    pub retries: u32,
    /// Pause before the first retry; every further one doubles it.
    pub first_pause: Duration,
    /// Longest `Retry-After` that is waited for.
    pub longest_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(30),
            slowest: 16 * 1024,
            retries: 3,
            first_pause: Duration::from_secs(1),
            longest_retry_after: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    fn pause_before(&self, retry: u32) -> Duration {
        self.first_pause.saturating_mul(2_u32.saturating_pow(retry))
    }
}

/// Where a file was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In one of the folders.
    Local(PathBuf),
    /// At this mirror.
    Mirror(String),
}

/// Leaves the pinned bytes at `to`, or nothing and an error.
pub fn obtain(
    file: &PinnedFile,
    to: &Path,
    options: FetchOptions<'_>,
) -> Result<Origin, DownloadError> {
    let FetchOptions { local, parts, offline, retry_policy, stop, progress, log } = options;
    let watch = &mut Watch::new(stop, progress, log);
    let wanted = Wanted { file, to };
    let mut failures = Vec::new();
    if let Some(path) = local::find(local, wanted, watch, &mut failures)? {
        remove_parts(file, parts);
        return Ok(Origin::Local(path));
    }
    for mirror in &file.mirrors {
        let verdict = match Address::parse(mirror) {
            Err(problem) => Verdict::Wrong(problem),
            Ok(Address::Web(_)) if offline => continue,
            Ok(Address::File(path)) => verify::copy_if_right(&path, wanted, watch)?,
            Ok(Address::Web(address)) => {
                let packed = is_packed(file, mirror);
                let size = Size::of(file, packed);
                let key = part::key(file, mirror, packed);
                let part = Part::lock(parts, &key, &file.name, size.estimate(), watch)?;
                WebMirror::new(&address, size, part, retry_policy)?.fetch(wanted, watch)?
            }
        };
        match verdict {
            Verdict::Right => {
                remove_parts(file, parts);
                return Ok(Origin::Mirror(mirror.clone()));
            }
            Verdict::Wrong(reason) => {
                let failure = MirrorFailure { mirror: mirror.clone(), reason };
                watch.log(&failure.to_string());
                failures.push(failure);
            }
        }
    }
    let (name, searched) = (file.name.clone(), local.to_vec());
    Err(if offline {
        DownloadError::Offline { name, searched, failures }
    } else {
        DownloadError::Unavailable { name, searched, failures }
    })
}

/// Returns whether a file has the pinned bytes.
pub fn is_right(file: &PinnedFile, path: &Path) -> bool {
    let size = path.metadata().map(|found| found.len());
    let mut silence = |_| {};
    let watch = &mut Watch::new(&|| false, &mut silence, &|_| {});
    size.is_ok_and(|size| size == file.bytes)
        && verify::hash_of(path, watch).is_ok_and(|hash| hash == file.sha256)
}

/// Returns whether a file of the right name lies in these folders or at a `file:` mirror; its content
/// is not looked at.
pub fn is_local(file: &PinnedFile, folders: &[PathBuf]) -> bool {
    let at_mirror = |mirror: &String| match Address::parse(mirror) {
        Ok(Address::File(path)) => path.is_file(),
        _ => false,
    };
    let mut silence = |_| {};
    let watch = &mut Watch::new(&|| false, &mut silence, &|_| {});
    file.mirrors.iter().any(at_mirror) || local::lies_in(folders, &file.name, watch)
}

/// Tells whether a mirror serves the file gzipped; a pinned archive is meant as it is.
fn is_packed(file: &PinnedFile, mirror: &str) -> bool {
    !has_gzip_ending(file.name.as_str())
        && Address::parse(mirror).is_ok_and(|address| address.is_packed())
}

/// Removes the half-fetched forms of a file that is here now.
fn remove_parts(file: &PinnedFile, parts: &Path) {
    let keys = file.mirrors.iter().map(|mirror| part::key(file, mirror, is_packed(file, mirror)));
    part::remove_all(parts, keys);
}
