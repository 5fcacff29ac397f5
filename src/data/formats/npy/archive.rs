//! The members of an npz file: a zip archive of npy files, stored or deflated.
//!
//! The zip library finds the members; each is then read by its own handle, forward, so that a
//! reader may outlive the archive. Nothing is ever extracted, so no name leads anywhere. Sizes
//! are checked against the file and against what deflate can do at best, and the checksum once
//! a member has been read to its end.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use crate::data::formats::deflate;
use crate::data::{DataError, DataFile};

/// An npy file inside an npz file.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its name without `.npy`.
    pub name: String,
    /// Its size, unpacked, as the archive claims it.
    pub size: u64,
    start: u64,
    packed: u64,
    deflated: bool,
    checksum: u32,
}

/// Lists the arrays of an archive, in its own order.
pub(super) fn members(file: DataFile<'_>) -> Result<Vec<Member>, DataError> {
    let handle = file.open()?;
    let length = handle.metadata().map_err(DataError::file(file.name))?.len();
    let damaged = |cause: zip::result::ZipError| {
        DataError::malformed(file.name, "archive", format!("it is cut off or damaged: {cause}"))
    };
    let mut archive = ZipArchive::new(BufReader::new(handle)).map_err(damaged)?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(damaged)?;
        let path = entry.name().map_err(damaged)?.into_owned();
        let Some(name) = path.strip_suffix(".npy") else { continue };
        let refuse = |reason: String| {
            Err(DataError::malformed(file.name, format!("array `{name}`"), reason))
        };
        let (size, packed) = (entry.size(), entry.compressed_size());
        let deflated = match entry.compression() {
            _ if entry.encrypted() => return refuse("it is encrypted".to_owned()),
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => return refuse(format!("expected stored or deflated data, found {other}")),
        };
        let start = entry.data_start().unwrap_or(length);
        let fits = start.checked_add(packed).is_some_and(|end| end <= length);
        let possible = if deflated { deflate::can_hold(packed, size) } else { size == packed };
        if !fits || !possible {
            return refuse(format!("{packed} bytes at {start} can't hold {size}"));
        }
        let checksum = entry.crc32();
        members.push(Member { name: name.to_owned(), size, start, packed, deflated, checksum });
    }
    Ok(members)
}

impl Member {
    /// Opens the member for reading from its beginning.
    pub(super) fn open(&self, file: DataFile<'_>) -> Result<MemberReader, DataError> {
        let mut handle = file.open()?;
        handle.seek(SeekFrom::Start(self.start)).map_err(DataError::file(file.name))?;
        let packed = handle.take(self.packed);
        let body = if self.deflated {
            Body::Deflated(DeflateDecoder::new(packed))
        } else {
            Body::Stored(packed)
        };
        Ok(MemberReader { body, sum: Crc::new(), expected: self.checksum })
    }
}

enum Body {
    Stored(Take<File>),
    Deflated(DeflateDecoder<Take<File>>),
}

/// Reads a member forward; its end is an error if the checksum does not fit.
pub(super) struct MemberReader {
    body: Body,
    sum: Crc,
    expected: u32,
}

impl Read for MemberReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.body {
            Body::Stored(stored) => stored.read(bytes)?,
            Body::Deflated(deflated) => deflated.read(bytes)?,
        };
        self.sum.update(&bytes[..count]);
        if count == 0 && !bytes.is_empty() && self.sum.sum() != self.expected {
            let found = self.sum.sum();
            let reason = format!("expected the checksum {:08x}, found {found:08x}", self.expected);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(count)
    }
}
