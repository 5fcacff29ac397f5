//! What a path leads to, in words.

use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;

/// Returns the name of a file type, with its article.
pub fn name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() || kind.is_char_device() {
        "a device"
    } else {
        "a regular file"
    }
}
