//! Where the parts of a PyTorch file lie: the description of its arrays, and their storages.
//!
//! A zip archive has `NAME/data.pkl` and one `NAME/data/KEY` for each storage, none of them packed.
//! The layout before that is a row of pickles (a magic number, a version, facts about the machine,
//! the description, the keys of storages), then each storage after its length.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::{CompressionMethod, ZipArchive};

use super::PytorchError;
use super::pickle::Machine;
use super::value::{Storage, Value};

/// The first pickle of the older layout: its magic number.
pub(super) const HEADER: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// Largest description that is read; that of the Inception network has 120 KB.
const LARGEST_DESCRIPTION: u64 = 16 << 20;

/// Returns whether bytes begin as a zip archive does.
pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// Returns whether bytes begin as the older layout does.
pub(super) fn is_row_of_pickles(bytes: &[u8]) -> bool {
    bytes.starts_with(HEADER)
}

/// The parts of a file.
pub(super) struct Parts<'a> {
    root: Value,
    storages: Storages<'a>,
}

enum Storages<'a> {
    /// An archive and the folder that its parts lie in.
    Zip(Box<ZipArchive<Cursor<&'a [u8]>>>, String),
    Row(BTreeMap<String, &'a [u8]>),
}

/// Finds the parts of a file of either layout.
pub(super) fn open(bytes: &[u8]) -> Result<Parts<'_>, PytorchError> {
    if is_row_of_pickles(bytes) { open_row(bytes) } else { open_zip(bytes) }
}

fn open_zip(bytes: &[u8]) -> Result<Parts<'_>, PytorchError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let mut folders = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index)?;
        let name = entry.name()?;
        folders.extend(name.strip_suffix("data.pkl").map(str::to_owned));
    }
    let [folder] = &folders[..] else {
        let reason = format!("occurs {} times, expected once", folders.len());
        return Err(PytorchError::Part { part: "data.pkl".to_owned(), reason });
    };
    let order = format!("{folder}byteorder");
    if archive.index_for_name(&order).is_some() && part(&mut archive, &order, 16)? != b"little" {
        let reason = "says that numbers are big-endian, expected `little`".to_owned();
        return Err(PytorchError::Part { part: order, reason });
    }
    let description = part(&mut archive, &format!("{folder}data.pkl"), LARGEST_DESCRIPTION)?;
    let root = Machine::new(&description).load()?;
    Ok(Parts { root, storages: Storages::Zip(Box::new(archive), folder.clone()) })
}

fn open_row(bytes: &[u8]) -> Result<Parts<'_>, PytorchError> {
    let mut machine = Machine::new(bytes);
    for _magic_version_machine in 0..3 {
        machine.load()?;
    }
    let root = machine.load()?;
    let order = machine.load()?;
    let mut at = machine.position();
    let known = machine.into_storages();
    let wrong = |at: usize, reason: &str| PytorchError::Damaged { at, reason: reason.to_owned() };
    let Value::Sequence(order) = order else {
        return Err(wrong(at, "expected the keys of the storages"));
    };
    let mut storages = BTreeMap::new();
    for key in &order.entries {
        let Value::Text(key) = key else { return Err(wrong(at, "expected a key of a storage")) };
        let Some(storage) = known.get(&**key) else {
            return Err(wrong(at, "a storage belongs to no array"));
        };
        let rest = bytes.get(at..).unwrap_or_default();
        let (length, rest) =
            rest.split_first_chunk::<8>().ok_or_else(|| wrong(at, "unexpected end of file"))?;
        if u64::from_le_bytes(*length) != storage.length as u64 {
            return Err(wrong(at, "a storage is not as long as its array says"));
        }
        let size = storage.length.checked_mul(storage.element.bytes());
        let content = size.and_then(|size| rest.get(..size));
        let content = content.ok_or_else(|| wrong(at, "the file ends inside of a storage"))?;
        storages.insert(key.to_string(), content);
        at += 8 + content.len();
    }
    Ok(Parts { root, storages: Storages::Row(storages) })
}

impl Parts<'_> {
    /// Returns what the file holds.
    pub(super) fn root(&self) -> Value {
        self.root.clone()
    }

    /// Returns the bytes of a storage.
    pub(super) fn storage(&mut self, storage: &Storage) -> Result<Vec<u8>, PytorchError> {
        let size = (storage.length as u64).saturating_mul(storage.element.bytes() as u64);
        let (name, bytes) = match &mut self.storages {
            Storages::Zip(archive, folder) => {
                let name = format!("{folder}data/{}", storage.key);
                let bytes = part(archive, &name, size)?;
                (name, bytes)
            }
            Storages::Row(storages) => {
                let bytes = storages.get(&storage.key).map(|bytes| bytes.to_vec());
                (storage.key.clone(), bytes.unwrap_or_default())
            }
        };
        if bytes.len() as u64 == size {
            return Ok(bytes);
        }
        let reason = format!("has {} bytes, expected {size}", bytes.len());
        Err(PytorchError::Part { part: name, reason })
    }
}

/// Reads a part of an archive that has no more than so many bytes.
fn part(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    name: &str,
    most: u64,
) -> Result<Vec<u8>, PytorchError> {
    let wrong = |reason: String| PytorchError::Part { part: name.to_owned(), reason };
    let entry = archive.by_name(name).map_err(|cause| wrong(format!("can't be read: {cause}")))?;
    if entry.compression() != CompressionMethod::Stored {
        return Err(wrong(format!("is {}, which PyTorch never writes", entry.compression())));
    }
    if entry.size() > most {
        return Err(wrong(format!("has {} bytes, expected at most {most}", entry.size())));
    }
    let mut bytes = Vec::new();
    entry
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|cause| wrong(format!("can't be read: {cause}")))?;
    Ok(bytes)
}
