//! The page headers of a Parquet file: how many values each page claims to hold.
//!
//! Polars takes memory by that number before it looks at the page, so a damaged one would end
//! the whole program. Every page is therefore visited first, without being unpacked.
//! The headers are structs in Thrift's compact protocol; all but a few fields are skipped.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// How much is read to find a header: enough nearly always, then enough for any sane one.
const ATTEMPTS: [u64; 2] = [1 << 12, 1 << 20];

/// Deepest nesting of structs and lists that is followed.
const DEEPEST: usize = 8;

/// Makes sure that the pages of one column's chunk claim as many values as the chunk does, and
/// returns how many bytes they claim to be, unpacked.
pub(super) fn check(file: &mut File, chunk: Range<u64>, values: i64) -> Result<u64, String> {
    let (mut place, mut seen, mut unpacked) = (chunk.start, 0, 0_u64);
    while place < chunk.end && seen < values {
        let header = find(file, place).map_err(|cause| format!("page at byte {place}: {cause}"))?;
        let Some(header) = header else {
            return Err(format!("page at byte {place}: its header is damaged"));
        };
        for claimed in [header.values, header.entries] {
            if !(0..=values).contains(&claimed) {
                let reason = format!("expected 0 to {values} values, found {claimed}");
                return Err(format!("page at byte {place}: {reason}"));
            }
        }
        seen += header.values;
        unpacked = unpacked.saturating_add(header.unpacked);
        place = place.saturating_add(header.length).saturating_add(header.packed);
    }
    Ok(unpacked)
}

/// Reads the header at a place.
fn find(file: &mut File, place: u64) -> io::Result<Option<PageHeader>> {
    for length in ATTEMPTS {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(place))?;
        file.by_ref().take(length).read_to_end(&mut bytes)?;
        if let Some(header) = PageHeader::parse(&bytes) {
            return Ok(Some(header));
        }
    }
    Ok(None)
}

/// What a page says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageHeader {
    /// Bytes of the header.
    length: u64,
    /// Bytes of the page that follows.
    packed: u64,
    /// Bytes of the page, unpacked: polars takes as many before it looks at the first.
    unpacked: u64,
    /// Values in a page of data.
    values: i64,
    /// Values in a page that is a dictionary.
    entries: i64,
}

impl PageHeader {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut header = Self::default();
        let mut text = Compact(bytes);
        text.fields(DEEPEST, &mut |text, field, kind| match field {
            2 => text.integer().and_then(|size| u64::try_from(size).ok()).map(|size| {
                header.unpacked = size;
            }),
            3 => text.integer().and_then(|size| u64::try_from(size).ok()).map(|size| {
                header.packed = size;
            }),
            // Data of version 1, dictionary, data of version 2: the first field is the number.
            5 | 7 | 8 if kind == STRUCT => {
                let values = if field == 7 { &mut header.entries } else { &mut header.values };
                text.fields(DEEPEST, &mut |text, field, kind| match field {
                    1 => text.integer().map(|number| *values = number),
                    _ => text.skip(kind, DEEPEST),
                })
            }
            _ => text.skip(kind, DEEPEST),
        })?;
        header.length = (bytes.len() - text.0.len()) as u64;
        Some(header)
    }
}

const STRUCT: u8 = 12;

/// Bytes in Thrift's compact protocol that are not read yet.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let folded = self.unsigned()?;
        Some((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
    }

    fn advance(&mut self, count: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    /// Hands each field of a struct, by number and type, to `visit`, which must read past it.
    fn fields(
        &mut self,
        depth: usize,
        visit: &mut dyn FnMut(&mut Self, i64, u8) -> Option<()>,
    ) -> Option<()> {
        depth.checked_sub(1)?;
        let mut field = 0_i64;
        loop {
            let start = self.byte()?;
            if start == 0 {
                return Some(());
            }
            field = match start >> 4 {
                0 => self.integer()?,
                step => field.checked_add(i64::from(step))?,
            };
            visit(self, field, start & 0x0f)?;
        }
    }

    /// Reads past the value of a field.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // The type of a field that is true or false says which.
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.unsigned().map(|_| ()),
            7 => self.advance(8),
            8 => self.unsigned().and_then(|length| self.advance(length)),
            9 | 10 => {
                let start = self.byte()?;
                let count = if start >> 4 == 15 { self.unsigned()? } else { (start >> 4).into() };
                (0..count).try_for_each(|_| match start & 0x0f {
                    1 | 2 => self.advance(1),
                    kind => self.skip(kind, depth),
                })
            }
            STRUCT => self.fields(depth, &mut |text, _, kind| text.skip(kind, depth)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of version 1 with 4 values, 39 bytes packed, as polars writes it.
    const HEADER: [u8; 17] = [
        0x15, 0x00, 0x15, 0x4c, 0x15, 0x4e, 0x2c, 0x15, 0x08, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06,
        0x00, 0x00,
    ];

    #[test]
    fn a_header_tells_its_own_length_the_pages_and_the_number_of_values() {
        let header = PageHeader { length: 17, packed: 39, unpacked: 38, values: 4, entries: 0 };
        assert_eq!(PageHeader::parse(&[&HEADER[..], &[1, 2, 3]].concat()), Some(header));
    }

    #[test]
    fn any_prefix_is_no_header_and_any_bytes_end_in_an_answer() {
        for end in 0..HEADER.len() {
            assert_eq!(PageHeader::parse(&HEADER[..end]), None, "{end} bytes");
        }
        for at in 0..HEADER.len() {
            for value in 0..=u8::MAX {
                let mut changed = HEADER;
                changed[at] = value;
                let _ = PageHeader::parse(&changed);
            }
        }
        // Lists of lists, structs in structs: the depth is bounded.
        assert_eq!(PageHeader::parse(&vec![0x19; 100_000]), None);
        assert_eq!(PageHeader::parse(&vec![0x1c; 100_000]), None);
    }

    #[test]
    fn an_impossible_number_of_values_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages");
        let mut page = [&HEADER[..], &[0; 39]].concat();
        let check_page = |page: &[u8]| {
            std::fs::write(&path, page).unwrap();
            check(&mut File::open(&path).unwrap(), 0..page.len() as u64, 4)
        };
        assert_eq!(check_page(&page), Ok(38));
        page[8] = 0x09;
        let expected = "page at byte 0: expected 0 to 4 values, found -5";
        assert_eq!(check_page(&page), Err(expected.to_owned()));
        page[6] = 0x0f;
        assert_eq!(check_page(&page), Err("page at byte 0: its header is damaged".to_owned()));
    }
}
