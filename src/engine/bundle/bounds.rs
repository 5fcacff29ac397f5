//! How large a bundle may be: every limit, each compared before anything of its size is read or written.

/// Files in a bundle: a pipeline has at most 100,000 stages, each a manifest and some files.
pub(super) const MOST_FILES: u64 = 500_000;

/// Bytes of the inventory.
pub(super) const LARGEST_INVENTORY: u64 = 128 << 20;

/// Bytes of a file that is read into memory as a whole.
pub(super) const LARGEST_TEXT: u64 = 256 << 20;

/// Bytes of all files, unpacked.
pub(super) const LARGEST_TOTAL: u64 = 1 << 42;

/// Bytes that one packed byte may become, in files larger than [`FREELY_PACKED`].
pub(super) const MOST_RATIO: u64 = 100;

/// Bytes of a file that may be packed however well it can.
pub(super) const FREELY_PACKED: u64 = 1 << 20;

/// Bytes of a name with all its folders.
pub(super) const LONGEST_NAME: usize = 400;

/// Bytes of one part of a name: no file system takes more than 255.
pub(super) const LONGEST_PART: usize = 200;

/// Folders inside folders, and the file.
pub(super) const DEEPEST: usize = 12;

/// Returns whether a file is packed so well that it may be meant to fill a disk.
pub(super) const fn is_suspicious(bytes: u64, packed: u64) -> bool {
    bytes > FREELY_PACKED && bytes / MOST_RATIO > packed
}
