//! Rows of bytes in bands: as many rows as share their chunks, unpacked together.
//!
//! The originals' chunks hold a few pixels of many thousand images, so an image can't be read
//! alone. Chunks are unpacked in the order of the file's index, once, and kept as they are until a
//! later band is wanted; a wanted row is then gathered out of them, so that the many rows that
//! nobody asks for cost no copying.

use std::ops::Range;

use hdf5_reader::{Dataset, DatasetChunk, DatasetChunkIterator, SliceInfo, SliceInfoElem};

use crate::numerics::memory;

/// Most bytes that the chunks of a band may take.
const LARGEST_BAND: usize = 1 << 30;

/// Rows in small chunks, or in none, are unpacked together up to this many bytes.
const DEFAULT_BAND: usize = 8 << 20;

/// A table of bytes that is read forward.
pub(super) struct Bands {
    dataset: Dataset,
    rows: usize,
    /// The shape of a row, and of a chunk of rows.
    row: Vec<usize>,
    chunk: Vec<usize>,
    /// Rows in a band, and the number of chunks in which each row has a part.
    height: usize,
    width: usize,
    unread: Option<Unread>,
    band: Band,
}

/// Chunks that have not been looked at.
struct Unread {
    chunks: DatasetChunkIterator,
    next: Option<DatasetChunk>,
}

impl Bands {
    /// Prepares reading a data set of `rows` rows of the shape `row`.
    pub(super) fn new(dataset: Dataset, rows: usize, row: &[usize]) -> Result<Self, String> {
        let row_bytes = row.iter().product::<usize>().max(1);
        let default_rows = (DEFAULT_BAND / row_bytes).max(1);
        let chunk = dataset.chunks().map_or_else(
            || [&[default_rows], row].concat(),
            |chunk| chunk.iter().map(|&size| size as usize).collect(),
        );
        let Some((&chunk_rows, inner)) = chunk.split_first() else {
            return Err("expected rows, found a single value".to_owned());
        };
        if inner.len() != row.len() || chunk.contains(&0) {
            return Err(format!(
                "expected chunks with {} dimensions, found {chunk:?}",
                row.len() + 1
            ));
        }
        let width = row.iter().zip(inner).map(|(all, part)| all.div_ceil(*part)).product::<usize>();
        let height = (default_rows / chunk_rows * chunk_rows).max(chunk_rows);
        let fits = |bytes: usize| bytes <= LARGEST_BAND;
        let band_bytes = row.iter().zip(inner).try_fold(height, |bytes, (all, part)| {
            all.checked_next_multiple_of(*part).and_then(|padded| bytes.checked_mul(padded))
        });
        if !band_bytes.is_some_and(fits) {
            return Err(format!(
                "expected chunks of {chunk_rows} rows to take {LARGEST_BAND} bytes at most, found more"
            ));
        }
        memory::check_values::<u8>(band_bytes.unwrap_or(usize::MAX)).map_err(|size| {
            format!("reading {height} rows at a time, as they are stored, {size}: use more memory")
        })?;
        let band = Band { rows: 0..0, chunk_rows, width, row_bytes, parts: Vec::new() };
        let row = row.to_vec();
        Ok(Self { dataset, rows, row, chunk, height, width, unread: None, band })
    }

    /// Returns the band that holds a row, unpacked.
    pub(super) fn unpack(&mut self, row: usize) -> Result<&Band, String> {
        if row >= self.rows {
            return Err(format!("expected a row below {}, found {row}", self.rows));
        }
        if !self.band.holds(row) {
            let start = row / self.height * self.height;
            let rows = start..start.saturating_add(self.height).min(self.rows);
            let goes_back = rows.start < self.band.rows.start;
            // The old band goes first, so that there are never two.
            self.band.parts.clear();
            self.band.rows = 0..0;
            self.band.parts = if self.dataset.chunks().is_none() {
                vec![self.read_plain(&rows)?]
            } else {
                self.read_chunks(&rows, goes_back)?
            };
            self.band.rows = rows;
        }
        Ok(&self.band)
    }

    /// Reads rows that are not cut into chunks.
    fn read_plain(&self, rows: &Range<usize>) -> Result<Part, String> {
        let mut selection = SliceInfo::all(self.dataset.ndim());
        if let Some(first) = selection.selections.first_mut() {
            let (start, end) = (rows.start as u64, rows.end as u64);
            *first = SliceInfoElem::Slice { start, end, step: 1 };
        }
        let values = self.dataset.read_slice::<u8>(&selection).map_err(|cause| {
            format!("rows {} to {}: not readable: {cause}", rows.start, rows.end - 1)
        })?;
        let bytes = values.into_raw_vec_and_offset().0;
        let expected = rows.len() * self.band.row_bytes;
        if bytes.len() != expected {
            return Err(format!("expected {expected} bytes, found {}", bytes.len()));
        }
        let runs = vec![Run { from: 0, to: 0, length: self.band.row_bytes }];
        Ok(Part { bytes: Bytes::Plain(bytes), stride: self.band.row_bytes, runs })
    }

    /// Unpacks the chunks of some rows, passing over those of earlier ones.
    fn read_chunks(&mut self, rows: &Range<usize>, goes_back: bool) -> Result<Vec<Part>, String> {
        let wrong = |reason: String| format!("rows {} to {}: {reason}", rows.start, rows.end - 1);
        let mut unread = match self.unread.take() {
            Some(unread) if !goes_back => unread,
            _ => {
                let chunks = self.dataset.iter_chunks();
                let chunks = chunks.map_err(|cause| wrong(format!("not readable: {cause}")))?;
                Unread { chunks, next: None }
            }
        };
        let count = rows.len().div_ceil(self.band.chunk_rows) * self.width;
        let mut parts = Vec::new();
        while parts.len() < count {
            let chunk = match unread.next.take() {
                Some(chunk) => chunk,
                None => match unread.chunks.next() {
                    Some(chunk) => {
                        chunk.map_err(|cause| wrong(format!("not readable: {cause}")))?
                    }
                    None => break,
                },
            };
            let first = chunk.offsets().first().map_or(0, |&first| first as usize);
            let expected = rows.start + parts.len() / self.width * self.band.chunk_rows;
            if first > expected {
                unread.next = Some(chunk);
                break;
            }
            if first == expected {
                parts.push(self.part(chunk).map_err(&wrong)?);
            }
        }
        self.unread = Some(unread);
        if parts.len() < count {
            return Err(wrong(format!("expected {count} chunks, found {}", parts.len())));
        }
        Ok(parts)
    }

    fn part(&self, chunk: DatasetChunk) -> Result<Part, String> {
        let size = self.chunk.iter().product::<usize>();
        if chunk.bytes().len() != size || chunk.offsets().len() != self.chunk.len() {
            return Err(format!("expected chunks of {size} bytes, found {}", chunk.bytes().len()));
        }
        let offsets: Vec<usize> = chunk.offsets()[1..].iter().map(|&at| at as usize).collect();
        let runs = runs(&offsets, &self.chunk[1..], &self.row);
        Ok(Part { bytes: Bytes::Chunk(chunk), stride: size / self.band.chunk_rows, runs })
    }
}

/// Rows that have been unpacked.
pub(super) struct Band {
    rows: Range<usize>,
    chunk_rows: usize,
    width: usize,
    row_bytes: usize,
    /// `width` parts for the first `chunk_rows` rows, as many for the next, and so on.
    parts: Vec<Part>,
}

impl Band {
    /// Returns whether a row is here.
    pub(super) fn holds(&self, row: usize) -> bool {
        self.rows.contains(&row)
    }

    /// Collects the bytes of a row that is here.
    pub(super) fn gather(&self, row: usize, bytes: &mut Vec<u8>) {
        bytes.resize(self.row_bytes, 0);
        let row = row - self.rows.start;
        let parts = &self.parts[row / self.chunk_rows * self.width..][..self.width];
        for part in parts {
            let stored = &part.bytes.get()[row % self.chunk_rows * part.stride..][..part.stride];
            for &Run { from, to, length } in &part.runs {
                bytes[to..to + length].copy_from_slice(&stored[from..from + length]);
            }
        }
    }
}

/// A chunk: some bytes of each of its rows.
struct Part {
    bytes: Bytes,
    /// Bytes of each row in this chunk, those beyond the edge of the table included.
    stride: usize,
    runs: Vec<Run>,
}

/// Bytes that belong side by side both in the chunk and in the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    from: usize,
    to: usize,
    length: usize,
}

enum Bytes {
    Chunk(DatasetChunk),
    Plain(Vec<u8>),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Chunk(chunk) => chunk.bytes(),
            Self::Plain(bytes) => bytes,
        }
    }
}

/// Returns where the bytes of a chunk's row belong in the table's row; chunks at the edge hold
/// bytes that belong nowhere.
fn runs(offsets: &[usize], chunk: &[usize], row: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for from in 0..chunk.iter().product() {
        let (mut rest, mut to, mut stride, mut is_inside) = (from, 0, 1, true);
        for ((&offset, &part), &all) in offsets.iter().zip(chunk).zip(row).rev() {
            let at = offset + rest % part;
            is_inside &= at < all;
            to += at * stride;
            (rest, stride) = (rest / part, stride * all);
        }
        match runs.last_mut() {
            _ if !is_inside => {}
            Some(last) if last.from + last.length == from && last.to + last.length == to => {
                last.length += 1;
            }
            _ => runs.push(Run { from, to, length: 1 }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_as_wide_as_the_row_is_one_run() {
        assert_eq!(runs(&[0, 0], &[4, 3], &[4, 3]), [Run { from: 0, to: 0, length: 12 }]);
        assert_eq!(runs(&[2, 0], &[2, 3], &[4, 3]), [Run { from: 0, to: 6, length: 6 }]);
    }

    #[test]
    fn a_narrow_chunk_goes_line_by_line() {
        let expected = [Run { from: 0, to: 9, length: 2 }, Run { from: 2, to: 13, length: 2 }];
        assert_eq!(runs(&[2, 1], &[2, 2], &[4, 4]), expected);
    }

    #[test]
    fn bytes_beyond_the_edge_belong_nowhere() {
        assert_eq!(runs(&[2, 2], &[2, 2], &[3, 3]), [Run { from: 0, to: 8, length: 1 }]);
    }
}
