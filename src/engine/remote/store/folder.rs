//! A folder, such as one of a file server.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Bytes, Content, Store, StoreError};
use crate::engine::system::{host, regular_file};

/// A folder that machines share.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Makes an error of one of the system; a folder that is not there has failed, not its content.
    fn error(&self, cause: &io::Error) -> StoreError {
        StoreError::Failed(format!("{}: {cause}", self.root.display()))
    }

    /// Makes sure that a file that is absent is absent in a folder that is there.
    fn check_root(&self) -> Result<(), StoreError> {
        fs::metadata(&self.root).map(drop).map_err(|cause| self.error(&cause))
    }
}

impl Store for Folder {
    fn read(&self, name: &str, offset: u64) -> Result<Option<Content>, StoreError> {
        let opened = regular_file::open(&self.root.join(name)).and_then(|mut file| {
            file.seek(SeekFrom::Start(offset))?;
            Ok(Content { offset, reader: Box::new(file) })
        });
        match opened {
            Ok(content) => Ok(Some(content)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => self.check_root().map(|()| None),
            Err(cause) => Err(self.error(&cause)),
        }
    }

    fn size(&self, name: &str) -> Result<Option<u64>, StoreError> {
        match fs::metadata(self.root.join(name)) {
            Ok(about) => Ok(Some(about.len())),
            Err(cause) if cause.kind() == ErrorKind::NotFound => self.check_root().map(|()| None),
            Err(cause) => Err(self.error(&cause)),
        }
    }

    fn write(&self, name: &str, bytes: Bytes<'_>) -> Result<(), StoreError> {
        let path = self.root.join(name);
        write_whole(&path, bytes).map_err(|cause| match cause.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                StoreError::WriteRefused(cause.to_string())
            }
            _ => self.error(&cause),
        })
    }
}

/// Writes by a temporary name that no other machine has, so that nobody sees half a file.
fn write_whole(path: &Path, bytes: Bytes<'_>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().display();
    let temporary = folder.join(format!(".{name}.{}.{}.tmp", host::name(), thread_name()));
    let written = File::create(&temporary).and_then(|mut copy| {
        match bytes {
            Bytes::File(mut file) => io::copy(&mut file, &mut copy).map(drop),
            Bytes::Memory(bytes) => copy.write_all(bytes),
        }?;
        copy.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed
}

/// Returns what tells this thread from every other of this machine.
fn thread_name() -> String {
    format!("{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "")
}
