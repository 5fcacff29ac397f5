//! Reads a zip of the one form that bundles have.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::bounds::{LARGEST_TOTAL, LONGEST_NAME, MOST_FILES, is_suspicious};
use super::error::Problem;
use super::layout::{Directory, LONGEST_END, Member};
use super::names;

/// Bytes of the longest line of a directory.
const LONGEST_LINE: u64 = 46 + LONGEST_NAME as u64 + 28;

/// An archive whose structure has been checked.
#[derive(Debug)]
pub(super) struct Archive {
    file: File,
    members: Vec<Member>,
}

impl Archive {
    /// Checks everything but contents: nothing overlaps, hides or is left over, and no file can become
    /// larger than it says.
    pub(super) fn open(file: File) -> Result<Self, Problem> {
        let length = file.metadata()?.len();
        let tail = read_at(&file, length.saturating_sub(LONGEST_END as u64), length)?;
        let directory = Directory::parse(&tail, length)?;
        let Directory { members: count, start, length } = directory;
        if count > MOST_FILES {
            return Problem::refused(format!("it has {count} files, more than {MOST_FILES}"));
        }
        if length > count * LONGEST_LINE {
            return Problem::refused("its directory is larger than its files need");
        }
        let bytes = read_at(&file, start, start + length)?;
        let members = parse(&bytes, count)?;
        check(&members)?;
        let archive = Self { file, members };
        archive.check_places(start)?;
        Ok(archive)
    }

    /// Makes sure that files lie one behind the other, each below the header that the directory has.
    fn check_places(&self, directory: u64) -> Result<(), Problem> {
        let mut at = 0;
        for member in &self.members {
            let shown = member.name.escape_debug();
            if member.offset != at {
                return Problem::refused(format!("`{shown}` overlaps or leaves a gap"));
            }
            let header = member.local_header();
            let start = at + header.len() as u64;
            let end = start.checked_add(member.packed).filter(|end| *end <= directory);
            let Some(end) = end else {
                return Problem::refused(format!("`{shown}` reaches beyond its place"));
            };
            if read_at(&self.file, at, start)? != header {
                return Problem::refused(format!("`{shown}` has two headers that differ"));
            }
            at = end;
        }
        if at == directory {
            return Ok(());
        }
        Problem::refused("there is something between its files and its directory")
    }

    /// Returns all files in their order.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Opens a file: what is read has the size and the checksum of its header, or ends in an error.
    pub(super) fn reader(&self, member: &Member) -> MemberReader<'_> {
        let start = member.offset + member.local_header().len() as u64;
        let section = Section { file: &self.file, at: start, end: start + member.packed };
        let source = if member.is_deflated {
            Source::Deflated(DeflateDecoder::new(BufReader::new(section)))
        } else {
            Source::Stored(section)
        };
        MemberReader { source, member: member.clone(), left: member.bytes, crc: Crc::new() }
    }
}

fn parse(mut bytes: &[u8], count: u64) -> Result<Vec<Member>, Problem> {
    let mut members = Vec::new();
    for _ in 0..count {
        let (member, length) = Member::parse(bytes)?;
        bytes = &bytes[length..];
        members.push(member);
    }
    if bytes.is_empty() {
        return Ok(members);
    }
    Problem::refused("its directory has more than its files")
}

/// Checks names and sizes.
fn check(members: &[Member]) -> Result<(), Problem> {
    let mut total = 0_u64;
    for member in members {
        if let Some(problem) = names::problem(&member.name) {
            return Problem::refused(problem);
        }
        let Member { bytes, packed, is_deflated, .. } = *member;
        let shown = member.name.escape_debug();
        if is_deflated == (packed == bytes) || packed > bytes {
            return Problem::refused(format!("`{shown}` says that packing made it no smaller"));
        }
        if is_suspicious(bytes, packed) {
            return Problem::refused(format!(
                "`{shown}` would become {bytes} bytes, from {packed}"
            ));
        }
        total = total.saturating_add(bytes);
    }
    if total > LARGEST_TOTAL {
        return Problem::refused(format!("it would become {total} bytes"));
    }
    match names::clash(members.iter().map(|member| member.name.as_str())) {
        Some(problem) => Problem::refused(problem),
        None => Ok(()),
    }
}

/// Reads the bytes from one place up to another.
fn read_at(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; end.saturating_sub(start) as usize];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// A stretch of a file.
struct Section<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min((self.end - self.at) as usize);
        let read = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

enum Source<'a> {
    Stored(Section<'a>),
    Deflated(DeflateDecoder<BufReader<Section<'a>>>),
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(section) => section.read(buffer),
            Self::Deflated(decoder) => decoder.read(buffer),
        }
    }
}

/// The content of a file.
pub(super) struct MemberReader<'a> {
    source: Source<'a>,
    member: Member,
    left: u64,
    crc: Crc,
}

impl MemberReader<'_> {
    fn invalid(&self, what: &str) -> io::Error {
        let name = self.member.name.escape_debug();
        io::Error::new(io::ErrorKind::InvalidData, format!("`{name}` {what}"))
    }

    fn check_end(&self) -> io::Result<()> {
        let all_used = match &self.source {
            Source::Stored(_) => true,
            Source::Deflated(decoder) => decoder.total_in() == self.member.packed,
        };
        if self.left > 0 || !all_used {
            return Err(self.invalid("does not have the size that it says"));
        }
        if self.crc.sum() != self.member.crc {
            return Err(self.invalid("does not have the checksum that it says"));
        }
        Ok(())
    }
}

impl Read for MemberReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = match self.source.read(buffer) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => return Err(cause),
            Err(cause) => return Err(self.invalid(&format!("can't be unpacked: {cause}"))),
            Ok(read) => read,
        };
        if read as u64 > self.left {
            return Err(self.invalid("becomes larger than it says"));
        }
        self.left -= read as u64;
        self.crc.update(&buffer[..read]);
        if read == 0 {
            self.check_end()?;
        }
        Ok(read)
    }
}
