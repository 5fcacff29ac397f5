//! The one folder that a replay writes to.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::cli::error::CommandError;
use crate::cli::output::terminal;

/// Bytes that are left free for what a replay makes, besides what it unpacks.
const ROOM: u64 = 256 << 20;

/// A new folder, removed in the end unless the user asked for it.
pub(super) struct ReplayFolder {
    path: PathBuf,
    is_kept: bool,
}

impl ReplayFolder {
    /// Makes the folder that the user named, or a temporary one, if so many bytes have room in it.
    pub(super) fn make(given: Option<&Path>, bytes: u64) -> Result<Self, CommandError> {
        let folder = Self { path: made(given)?, is_kept: false };
        let disk = rustix::fs::statvfs(&folder.path).map_err(CommandError::failed)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < bytes.saturating_add(ROOM) {
            let (needed, free) = (terminal::size(bytes.saturating_add(ROOM)), terminal::size(free));
            let at = folder.path.display();
            let error = CommandError::usage(format!("{at} has room for {free}, not for {needed}"));
            return Err(error.hint("choose another with `-o DIR`"));
        }
        Ok(folder)
    }

    /// Returns where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps what is in it.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Writes a file below it; `name` has been checked when its bundle was opened.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), CommandError> {
        let path = self.path.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&path, bytes));
        written.map_err(|cause| CommandError::failed(format!("{}: {cause}", path.display())))
    }
}

/// Makes a folder that was not there before.
fn made(given: Option<&Path>) -> Result<PathBuf, CommandError> {
    /// A process of the same number may have left one.
    const TRIES: u32 = 100;
    let process = std::process::id();
    let temporary =
        |number| std::env::temp_dir().join(format!("pcae-run-replay-{process}-{number}"));
    let candidates = match given {
        Some(path) => vec![std::path::absolute(path).map_err(CommandError::usage)?],
        None => (0..TRIES).map(temporary).collect(),
    };
    let mut refused = String::new();
    for path in candidates {
        // Nobody else can read or replace what is in it.
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(cause) => refused = format!("{}: {cause}", path.display()),
        }
    }
    Err(CommandError::usage(refused).hint("name a folder that is not there yet: `-o DIR`"))
}

impl Drop for ReplayFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
