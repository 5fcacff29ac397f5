//! Files that a user names: only regular ones are opened.
//!
//! A named pipe has no end until somebody writes to it, a device may have none at all, and to open
//! either can wait forever. Asking first and opening without waiting makes both an error at once.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::file_type;

/// Opens a file for reading, if it is a regular one.
pub fn open(path: &Path) -> io::Result<File> {
    check(&fs::metadata(path)?)?;
    // What lies there may have been replaced meanwhile.
    let waiting = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(waiting).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole regular file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of text, if it has at most so many bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let file = open(path)?;
    let bytes = file.metadata()?.len();
    let mut text = String::new();
    // Some files, such as those of `/proc`, do not tell their length.
    if bytes > most || file.take(most + 1).read_to_string(&mut text)? as u64 > most {
        let bytes = bytes.max(most + 1);
        return Err(invalid(format!("it has {bytes} bytes, which is more than {most}")));
    }
    Ok(text)
}

/// Refuses everything but regular files.
pub fn check(about: &Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    Err(invalid(format!("it is {}, not a regular file", file_type::name(about.file_type()))))
}

/// Returns what something that is neither a file nor a folder is, in words.
pub fn other_kind(path: &Path) -> Option<&'static str> {
    let about = fs::metadata(path).ok()?;
    (!about.is_file() && !about.is_dir()).then(|| file_type::name(about.file_type()))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_named_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _listener = UnixListener::bind(&socket).unwrap();
        let message = |path: &Path| open(path).unwrap_err().to_string();
        assert_eq!(message(&pipe), "it is a named pipe, not a regular file");
        assert_eq!(message(&socket), "it is a socket, not a regular file");
        assert_eq!(message(Path::new("/dev/zero")), "it is a device, not a regular file");
        assert_eq!(message(folder.path()), "it is a folder, not a regular file");
        assert_eq!(other_kind(&pipe), Some("a named pipe"));
        assert_eq!(other_kind(folder.path()), None);
    }

    #[test]
    fn a_text_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        let refused = read_text(&path, 4).unwrap_err().to_string();
        assert_eq!(refused, "it has 5 bytes, which is more than 4");
        assert!(read_text(Path::new("/proc/self/status"), 10).is_err(), "its length is told as 0");
    }
}
