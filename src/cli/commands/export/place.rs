//! Files put into a user's folder, never through a link.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::engine::system::file_type;

/// Copies a file into a folder under a plain relative name; no link in the folder leads out of it.
pub(in crate::cli::commands) fn copy_below(
    folder: &Path,
    name: &str,
    from: &Path,
) -> io::Result<()> {
    write_below(folder, name, &mut File::open(from)?)
}

/// Writes a file into a folder under a plain relative name; no link in the folder leads out of it.
pub(super) fn write_below(folder: &Path, name: &str, content: &mut impl Read) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut parent = folder.to_owned();
    let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        parent.push(part);
        match fs::symlink_metadata(&parent) {
            Ok(about) if about.is_dir() => {}
            Ok(about) => {
                let (path, kind) = (parent.display(), file_type::name(about.file_type()));
                return Err(io::Error::other(format!("{path} is {kind}, not a folder")));
            }
            Err(_) => fs::create_dir(&parent)?,
        }
    }
    // Renamed into place, so that a link of that name is replaced and not followed.
    let temporary = parent.join(format!(".{}.tmp", std::process::id()));
    let mut target = File::options().write(true).create_new(true).open(&temporary)?;
    let copied = io::copy(content, &mut target).map(drop);
    let renamed = copied.and_then(|()| fs::rename(&temporary, parent.join(file)));
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed
}
