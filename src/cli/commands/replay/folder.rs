//! The one folder that a replay writes to.

use std::fs::{self, DirBuilder};
use std::io;
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
        let path = match given {
            Some(path) => std::path::absolute(path).map_err(CommandError::usage)?,
            None => std::env::temp_dir().join(format!("pcae-run-replay-{}", std::process::id())),
        };
        let refused = |cause: io::Error| {
            let error = CommandError::usage(format!("{}: {cause}", path.display()));
            error.hint("name a folder that is not there yet: `-o DIR`")
        };
        // Nobody else can read or replace what is in it.
        DirBuilder::new().mode(0o700).create(&path).map_err(refused)?;
        let folder = Self { path, is_kept: false };
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

impl Drop for ReplayFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
