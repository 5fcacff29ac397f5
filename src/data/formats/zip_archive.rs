//! Zip archives of many small files, read without unpacking them to disk.
//!
//! The list of members is read once and shared; each thread reads members by a handle of its own.
//! Nothing is ever written under a member's name, yet names that lead out of a folder are refused:
//! such an archive was made to do harm. The zip crate checks every member's CRC at its end.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use zip::read::{ZipArchiveMetadata, ZipFileEntry};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive, ZipReadOptions};

use super::deflate;
use crate::data::{DataError, DataFile};
use crate::numerics::memory;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::data) struct Member {
    /// Its name, with its folders.
    pub(in crate::data) name: String,
    /// Its place in the archive's list.
    index: usize,
}

/// An open archive.
pub(in crate::data) struct Archive {
    name: String,
    path: PathBuf,
    directory: Arc<ZipArchiveMetadata>,
}

impl Archive {
    /// Reads the list of members.
    pub(in crate::data) fn open(file: DataFile<'_>) -> Result<Self, DataError> {
        let damaged = |error: ZipError| match error {
            ZipError::Io(cause) => DataError::file(file.name)(cause),
            other => DataError::malformed(file.name, "list of members", words(&other)),
        };
        let archive = ZipArchive::new(io::BufReader::new(file.open()?)).map_err(damaged)?;
        if archive.has_duplicate_names() {
            let reason = "two members share one name";
            return Err(DataError::malformed(file.name, "list of members", reason));
        }
        let directory = archive.metadata();
        Ok(Self { name: file.name.to_owned(), path: file.path.to_owned(), directory })
    }

    /// Returns the archive's name.
    pub(in crate::data) fn name(&self) -> &str {
        &self.name
    }

    /// Returns all members but folders, in the order of the archive.
    pub(in crate::data) fn members(&self) -> Result<Vec<Member>, DataError> {
        let mut members = Vec::with_capacity(self.directory.len());
        for index in 0..self.directory.len() {
            let place = |error: ZipError| {
                DataError::malformed(&self.name, format!("member {index}"), words(&error))
            };
            let entry = self.directory.entry(index).map_err(place)?;
            let name = entry.name().map_err(place)?;
            if let Some(reason) = fault(&name) {
                let member = format!("member `{}`", name.escape_debug());
                return Err(DataError::malformed(&self.name, member, reason));
            }
            if !entry.is_dir() {
                members.push(Member { name: name.into_owned(), index });
            }
        }
        Ok(members)
    }

    /// Returns the size that a member claims to have, unpacked.
    pub(in crate::data) fn size(&self, member: &Member) -> u64 {
        self.directory.entry(member.index).map_or(0, |entry| entry.size())
    }

    /// Opens the archive once more, for one thread.
    pub(in crate::data) fn reader(&self) -> Result<ArchiveReader<'_>, DataError> {
        let file = File::open(&self.path).map_err(DataError::file(&self.name))?;
        Ok(ArchiveReader { archive: self, file })
    }
}

/// Reads members, one after the other.
pub(in crate::data) struct ArchiveReader<'a> {
    archive: &'a Archive,
    file: File,
}

impl ArchiveReader<'_> {
    /// Unpacks a member of at most `limit` bytes.
    pub(in crate::data) fn read(
        &mut self,
        member: &Member,
        limit: u64,
        bytes: &mut Vec<u8>,
    ) -> Result<(), DataError> {
        let file = format!("{}/{}", self.archive.name, member.name);
        let refuse = |reason: String| DataError::malformed(&file, "zip", reason);
        let entry = self.archive.directory.entry(member.index);
        let entry = entry.map_err(|error| refuse(words(&error)))?;
        let size = promised(&entry, limit).map_err(refuse)?;
        memory::check(size).map_err(DataError::too_large(&file))?;
        bytes.clear();
        bytes.reserve_exact(usize::try_from(size + 1).unwrap_or_default());
        let unpacked = entry.with_reader(&mut self.file, ZipReadOptions::new());
        let unpacked = unpacked.map_err(|error| refuse(words(&error)))?;
        // The zip crate stops at a promise that proves false; this bound does not rely on it.
        let read = unpacked.take(size + 1).read_to_end(bytes);
        read.map_err(|error| refuse(format!("damaged: {error}")))?;
        if bytes.len() as u64 != size {
            let more = if bytes.len() as u64 > size { "more" } else { "fewer" };
            return Err(refuse(format!("expected {size} bytes, found {more}")));
        }
        Ok(())
    }
}

/// Returns the size that a member claims, if that can be read at all.
fn promised(entry: &ZipFileEntry<'_>, limit: u64) -> Result<u64, String> {
    if entry.encrypted() {
        return Err("it is encrypted".to_owned());
    }
    let (size, packed) = (entry.size(), entry.compressed_size());
    let is_possible = match entry.compression() {
        CompressionMethod::Stored => size == packed,
        CompressionMethod::Deflated => deflate::can_hold(packed, size),
        other => return Err(format!("expected it to be stored or deflated, found {other}")),
    };
    if size > limit {
        return Err(format!("expected at most {limit} bytes, found {size}"));
    }
    if !is_possible {
        return Err(format!("{packed} bytes can't hold {size}"));
    }
    Ok(size)
}

/// Says what is wrong with a member's name.
fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("expected a name, found none")
    } else if name.starts_with('/') {
        Some("expected a relative name, found an absolute one")
    } else if name.contains('\\') {
        Some("expected folders separated by `/`, found `\\`")
    } else if name.chars().any(char::is_control) {
        Some("expected letters, found a control character")
    } else if name.split('/').any(|part| part == "..") {
        Some("expected a name inside the archive, found `..`")
    } else {
        None
    }
}

/// Returns an error's words without those that the place tells already.
fn words(error: &ZipError) -> String {
    match error {
        ZipError::InvalidArchive(reason) => format!("not a valid zip archive: {reason}"),
        ZipError::UnsupportedArchive(reason) => (*reason).to_owned(),
        ZipError::Io(cause) => format!("damaged: {cause}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};
    use std::path::Path;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::numerics::memory::pretended::with_available;

    fn packed(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for (name, bytes) in members {
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// Puts other bytes in the place of all that are like some, in headers as in data.
    fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
        assert_eq!(old.len(), new.len());
        let mut bytes = bytes.to_vec();
        let found: Vec<usize> = (0..=bytes.len() - old.len())
            .filter(|&start| &bytes[start..start + old.len()] == old)
            .collect();
        assert!(!found.is_empty());
        for start in found {
            bytes[start..start + old.len()].copy_from_slice(new);
        }
        bytes
    }

    fn opened(bytes: &[u8], check: impl FnOnce(Result<Archive, DataError>)) {
        let folder = tempfile::tempdir().unwrap();
        let path: &Path = &folder.path().join("data");
        std::fs::write(path, bytes).unwrap();
        check(Archive::open(DataFile { name: "faces.zip", path }));
    }

    /// Reads the first member.
    fn first(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut outcome = None;
        opened(bytes, |archive| {
            let archive = archive.unwrap();
            let members = archive.members().unwrap();
            let mut bytes = vec![1, 2, 3];
            let read = archive.reader().unwrap().read(&members[0], 64 << 20, &mut bytes);
            outcome = Some(read.map(|()| bytes).map_err(|error| error.to_string()));
        });
        outcome.unwrap()
    }

    #[test]
    fn members_are_read_whole_and_folders_are_not_listed() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_directory("cats/", SimpleFileOptions::default()).unwrap();
        writer.start_file("cats/1", SimpleFileOptions::default()).unwrap();
        writer.write_all(b"meow").unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        opened(&bytes, |archive| {
            let members = archive.unwrap().members().unwrap();
            assert_eq!(members.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["cats/1"]);
        });
        assert_eq!(first(&packed(&[("cats/1", b"meow")])).unwrap(), b"meow");
    }

    #[test]
    fn names_that_lead_out_of_the_archive_are_refused_and_named() {
        let honest = packed(&[("xx/yy/z.png", b"1")]);
        for (name, told) in [
            ("../../z.png", "`../../z.png`: expected a name inside the archive, found `..`"),
            ("/etc//z.png", "`/etc//z.png`: expected a relative name, found an absolute one"),
            ("xx\\yy\\z.png", "`xx\\\\yy\\\\z.png`: expected folders separated by `/`, found `\\`"),
            ("xx/yy/z.pn\0", "`xx/yy/z.pn\\0`: expected letters, found a control character"),
        ] {
            opened(&replaced(&honest, b"xx/yy/z.png", name.as_bytes()), |archive| {
                let error = archive.unwrap().members().unwrap_err().to_string();
                assert_eq!(error, format!("faces.zip: member {told}"));
            });
        }
    }

    #[test]
    fn a_bomb_is_refused_by_what_it_claims_and_by_what_it_holds() {
        let zeros = vec![0; 20 << 20];
        let bomb = packed(&[("a.png", &zeros)]);
        assert_eq!(first(&bomb).unwrap().len(), zeros.len(), "a blank picture is no lie");
        assert_eq!(
            with_available(20_000_000, || first(&bomb)).unwrap_err(),
            "faces.zip/a.png would take 0.0 GB of memory, but only 0.0 GB is available: use a \
             smaller file, or more memory"
        );
        let size = u32::try_from(zeros.len()).unwrap().to_le_bytes();
        let error = first(&replaced(&bomb, &size, &100_u32.to_le_bytes())).unwrap_err();
        assert_eq!(
            error,
            "faces.zip/a.png: zip: damaged: File is larger than its declared uncompressed size"
        );
        let error = first(&replaced(&bomb, &size, &(60_u32 << 20).to_le_bytes())).unwrap_err();
        assert!(error.ends_with(" bytes can't hold 62914560"), "{error}");
        let error = first(&replaced(&bomb, &size, &0x7fff_ffff_u32.to_le_bytes())).unwrap_err();
        assert_eq!(
            error,
            "faces.zip/a.png: zip: expected at most 67108864 bytes, found 2147483647"
        );
    }

    #[test]
    fn a_changed_byte_is_found_by_the_checksum() {
        let text: Vec<u8> = (0..64).collect();
        let stored = {
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
            let options =
                SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            writer.start_file("a.png", options).unwrap();
            writer.write_all(&text).unwrap();
            writer.finish().unwrap().into_inner()
        };
        assert_eq!(first(&stored).unwrap(), text);
        let error = first(&replaced(&stored, &text[20..40], &text[10..30])).unwrap_err();
        assert_eq!(error, "faces.zip/a.png: zip: damaged: Invalid checksum");
    }

    #[test]
    fn encrypted_and_strangely_packed_members_are_refused_and_named() {
        let honest = packed(&[("a.png", b"1111")]);
        let patched = |offset_local: usize, offset_listed: usize, value: u8| {
            let mut bytes = honest.clone();
            let listed = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
            bytes[offset_local] = value;
            bytes[listed + offset_listed] = value;
            bytes
        };
        let error = first(&patched(6, 8, 1)).unwrap_err();
        assert_eq!(error, "faces.zip/a.png: zip: it is encrypted");
        let error = first(&patched(8, 10, 14)).unwrap_err();
        assert!(error.contains("a.png: zip: expected it to be stored or deflated"), "{error}");
    }

    #[test]
    fn a_file_cut_off_is_no_archive() {
        let bytes = packed(&[("a.png", b"1111")]);
        opened(&bytes[..bytes.len() - 30], |archive| {
            let error = archive.err().unwrap().to_string();
            assert!(error.starts_with("faces.zip: list of members: not a valid zip"), "{error}");
        });
    }
}
