//! The one form of a zip that is written and read.
//!
//! Every header is a function of what it says, so that a reader compares it byte for byte with the one
//! that it would have written itself: no comments, no times, no extra fields but those for sizes of 4 GB
//! and more, no second name in a local header.

use super::error::Problem;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const WIDE_END: u32 = 0x0606_4b50;
const WIDE_LOCATOR: u32 = 0x0706_4b50;

/// From here on, numbers of four bytes point to wider ones elsewhere.
const WIDE: u64 = u32::MAX as u64;
const WIDE_COUNT: u64 = u16::MAX as u64;
const WIDE_FIELD: u16 = 1;

const VERSION: u16 = 20;
const WIDE_VERSION: u16 = 45;
const UNIX: u16 = 3 << 8;
/// Names are UTF-8; neither encryption nor sizes that follow later.
const FLAGS: u16 = 1 << 11;
const ENCRYPTED: u16 = 1;
/// The first day that there is.
const DATE: u16 = 0x21;
/// A regular file that everybody reads and its owner writes.
const MODE: u32 = 0o100_644 << 16;
const MODE_TYPE: u32 = 0o170_000 << 16;
const LINK: u32 = 0o120_000 << 16;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

const CENTRAL_LENGTH: usize = 46;
/// Bytes of the end without wide numbers.
const END_LENGTH: usize = 22;
/// Bytes of the end with wide numbers.
pub(super) const LONGEST_END: usize = END_LENGTH + 20 + 56;

/// A file in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) is_deflated: bool,
    pub(super) crc: u32,
    /// Its size in the archive.
    pub(super) packed: u64,
    /// Its size.
    pub(super) bytes: u64,
    /// Where its local header begins.
    pub(super) offset: u64,
}

impl Member {
    /// Packed it is never larger, so its size alone decides.
    const fn has_wide_sizes(&self) -> bool {
        self.bytes >= WIDE
    }

    /// Appends what both headers have in common.
    fn put_common(&self, out: &mut Vec<u8>, extra: usize) {
        let is_wide = self.has_wide_sizes();
        let version = if is_wide || self.offset >= WIDE { WIDE_VERSION } else { VERSION };
        let method = if self.is_deflated { DEFLATED } else { STORED };
        for field in [version, FLAGS, method, 0, DATE] {
            out.extend(field.to_le_bytes());
        }
        let narrow = |size: u64| if is_wide { u32::MAX } else { size as u32 };
        for field in [self.crc, narrow(self.packed), narrow(self.bytes)] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.name.len(), extra] {
            out.extend((field as u16).to_le_bytes());
        }
    }

    /// Returns what stands before the file itself.
    pub(super) fn local_header(&self) -> Vec<u8> {
        let sizes = [self.bytes, self.packed];
        let extra = wide_field(if self.has_wide_sizes() { &sizes } else { &[] });
        let mut out = LOCAL.to_le_bytes().to_vec();
        self.put_common(&mut out, extra.len());
        out.extend(self.name.as_bytes());
        out.extend(extra);
        out
    }

    /// Returns its line of the directory.
    pub(super) fn central_header(&self) -> Vec<u8> {
        let mut wide = Vec::new();
        if self.has_wide_sizes() {
            wide.extend([self.bytes, self.packed]);
        }
        if self.offset >= WIDE {
            wide.push(self.offset);
        }
        let extra = wide_field(&wide);
        let mut out = CENTRAL.to_le_bytes().to_vec();
        out.extend((UNIX | WIDE_VERSION).to_le_bytes());
        self.put_common(&mut out, extra.len());
        // Neither a comment nor another disk, and no word on what is inside.
        out.extend([0; 6]);
        out.extend(MODE.to_le_bytes());
        out.extend((self.offset.min(WIDE) as u32).to_le_bytes());
        out.extend(self.name.as_bytes());
        out.extend(extra);
        out
    }

    /// Reads a line of the directory; returns how long it is.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, usize), Problem> {
        let cut = || Problem::Refused("its directory is cut off".to_owned());
        let fixed = bytes.get(..CENTRAL_LENGTH).ok_or_else(cut)?;
        if u32_at(fixed, 0) != CENTRAL {
            return Problem::refused("its directory is damaged");
        }
        let length = usize::from(u16_at(fixed, 28));
        let extra_length = usize::from(u16_at(fixed, 30));
        let name = bytes.get(CENTRAL_LENGTH..CENTRAL_LENGTH + length).ok_or_else(cut)?;
        let extra_start = CENTRAL_LENGTH + length;
        let extra = bytes.get(extra_start..extra_start + extra_length).ok_or_else(cut)?;
        let Ok(name) = str::from_utf8(name) else {
            return Problem::refused("a name is not valid text");
        };
        let shown = name.escape_debug();
        if u16_at(fixed, 8) & ENCRYPTED != 0 {
            return Problem::refused(format!("`{shown}` is encrypted"));
        }
        if u32_at(fixed, 38) & MODE_TYPE == LINK {
            return Problem::refused(format!("`{shown}` is a link"));
        }
        let method = u16_at(fixed, 10);
        if method != STORED && method != DEFLATED {
            return Problem::refused(format!("`{shown}` is packed by the unknown method {method}"));
        }
        let mut wide = extra.get(4..).unwrap_or_default().chunks_exact(8).map(|b| u64_at(b, 0));
        let mut number = |at: usize| match u32_at(fixed, at) {
            u32::MAX => wide.next().unwrap_or(WIDE),
            narrow => u64::from(narrow),
        };
        // In the order in which wide numbers stand.
        let (size, packed, offset) = (number(24), number(20), number(42));
        let member = Self {
            name: name.to_owned(),
            is_deflated: method == DEFLATED,
            crc: u32_at(fixed, 16),
            packed,
            bytes: size,
            offset,
        };
        let expected = member.central_header();
        if bytes.get(..expected.len()) != Some(&expected[..]) {
            return Problem::refused(format!("`{shown}` has a header that bundles do not have"));
        }
        Ok((member, expected.len()))
    }
}

/// Where the directory is, and of how many files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) members: u64,
    pub(super) start: u64,
    pub(super) length: u64,
}

impl Directory {
    /// Returns what stands behind the directory.
    pub(super) fn end(self) -> Vec<u8> {
        let Self { members, start, length } = self;
        let mut out = Vec::new();
        if members >= WIDE_COUNT || start >= WIDE || length >= WIDE {
            out.extend(WIDE_END.to_le_bytes());
            // The bytes that follow here.
            out.extend(44_u64.to_le_bytes());
            out.extend((UNIX | WIDE_VERSION).to_le_bytes());
            out.extend(WIDE_VERSION.to_le_bytes());
            out.extend([0; 8]);
            for field in [members, members, length, start] {
                out.extend(field.to_le_bytes());
            }
            out.extend(WIDE_LOCATOR.to_le_bytes());
            out.extend([0; 4]);
            out.extend((start + length).to_le_bytes());
            out.extend(1_u32.to_le_bytes());
        }
        out.extend(END.to_le_bytes());
        out.extend([0; 4]);
        for _ in 0..2 {
            out.extend((members.min(WIDE_COUNT) as u16).to_le_bytes());
        }
        for field in [length, start] {
            out.extend((field.min(WIDE) as u32).to_le_bytes());
        }
        out.extend([0; 2]);
        out
    }

    /// Finds the directory by the last bytes of a file of `length` bytes.
    pub(super) fn parse(tail: &[u8], file_length: u64) -> Result<Self, Problem> {
        let refused = || {
            Problem::refused(
                "it does not end as a bundle does: it is cut off, or something follows",
            )
        };
        let Some(end) = tail.len().checked_sub(END_LENGTH).map(|start| &tail[start..]) else {
            return Problem::refused("it is no bundle");
        };
        if u32_at(end, 0) != END {
            return refused();
        }
        let mut directory = Self {
            members: u64::from(u16_at(end, 10)),
            length: u64::from(u32_at(end, 12)),
            start: u64::from(u32_at(end, 16)),
        };
        let Self { members, length, start } = directory;
        if members == WIDE_COUNT || length == WIDE || start == WIDE {
            let Some(wide) = tail.len().checked_sub(LONGEST_END).map(|start| &tail[start..]) else {
                return refused();
            };
            (directory.members, directory.length, directory.start) =
                (u64_at(wide, 32), u64_at(wide, 40), u64_at(wide, 48));
        }
        let Self { length, start, .. } = directory;
        let Some(behind) = start.checked_add(length).filter(|behind| *behind <= file_length) else {
            return refused();
        };
        let expected = directory.end();
        if behind + expected.len() as u64 != file_length || !tail.ends_with(&expected) {
            return refused();
        }
        Ok(directory)
    }
}

/// Returns the extra field for numbers that four bytes do not hold; nothing for none.
fn wide_field(numbers: &[u64]) -> Vec<u8> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let mut out = WIDE_FIELD.to_le_bytes().to_vec();
    out.extend(((numbers.len() * 8) as u16).to_le_bytes());
    for number in numbers {
        out.extend(number.to_le_bytes());
    }
    out
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u16::from_le_bytes(*chunk))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_are_written_also_beyond_four_gigabytes() {
        for (bytes, packed, offset) in [
            (0, 0, 0),
            (9, 5, 77),
            (WIDE, 1 << 30, 5),
            (7, 7, WIDE + 9),
            (1 << 40, 1 << 39, 1 << 41),
        ] {
            let member = Member {
                name: "größe/a".to_owned(),
                is_deflated: packed < bytes,
                crc: 7,
                packed,
                bytes,
                offset,
            };
            let written = member.central_header();
            let (read, length) = Member::parse(&[&written[..], b"more"].concat()).unwrap();
            assert_eq!((read, length), (member, written.len()));
        }
        for (members, start, length) in
            [(1, 50, 60), (WIDE_COUNT, 5, 6), (70_000, 1 << 33, 9), (3, 8, WIDE), (3, WIDE, 8)]
        {
            let directory = Directory { members, start, length };
            let end = directory.end();
            let file_length = start + length + end.len() as u64;
            assert_eq!(Directory::parse(&end, file_length).unwrap(), directory);
            assert!(Directory::parse(&end, file_length + 1).is_err());
        }
    }
}
