//! NumPy's files: arrays in npy files and in npz archives, read row by row.
//!
//! A row is everything behind the first size of the shape: one image, one vector. An npy file is
//! read where the wanted row lies; a member of an npz file is a stream, so it is read forward.
//! An array in Fortran order has no rows that lie together, so it is held as a whole. What the
//! header claims must fit the length of the file before anything is read by it, and the memory that
//! there is before anything is held.

mod archive;
mod fortran;
mod header;
mod whole;

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};

use self::archive::{Member, MemberReader};
pub(crate) use self::header::Header;
use self::header::MAGIC;
pub(in crate::data) use self::header::{Element, Kind};
pub(crate) use self::whole::{Number, ReadError, read, read_bytes, write};
use crate::data::{DataError, DataFile};
use crate::numerics::memory;

/// Beginnings of an archive with members, and of an empty one.
const ZIP: [[u8; 4]; 2] = [*b"PK\x03\x04", *b"PK\x05\x06"];

const BUFFER: usize = 1 << 17;

/// An array that lies in a file and may be opened.
#[derive(Clone, Debug)]
pub(in crate::data) struct Stored<'a> {
    /// Its name in the archive, or the file's name without folders and `.npy`.
    pub name: String,
    file: DataFile<'a>,
    member: Option<Member>,
}

/// Lists the arrays of an npy file (one) or of an npz file; the first bytes tell which it is.
pub(in crate::data) fn list(file: DataFile<'_>) -> Result<Vec<Stored<'_>>, DataError> {
    let mut start = Vec::new();
    file.open()?.take(6).read_to_end(&mut start).map_err(DataError::file(file.name))?;
    if start == MAGIC {
        let last = file.name.rsplit('/').next().unwrap_or_default();
        let name = last.strip_suffix(".npy").unwrap_or(last).to_owned();
        return Ok(vec![Stored { name, file, member: None }]);
    }
    if !ZIP.iter().any(|magic| start.starts_with(magic)) {
        let reason = format!(
            "expected the magic bytes of npy ({}) or npz ({}), found {}",
            MAGIC.escape_ascii(),
            ZIP[0].escape_ascii(),
            if start.is_empty() {
                "an empty file".to_owned()
            } else {
                start.escape_ascii().to_string()
            },
        );
        return Err(DataError::malformed(file.name, "byte 0", reason));
    }
    let stored = |member: Member| Stored { name: member.name.clone(), file, member: Some(member) };
    archive::members(file).map(|members| members.into_iter().map(stored).collect())
}

impl Stored<'_> {
    /// Opens the array and makes sure that its data are as long as its header says.
    pub(in crate::data) fn open(&self) -> Result<Array, DataError> {
        let origin = Origin {
            file: self.file.name.to_owned(),
            array: self.member.as_ref().map(|member| member.name.clone()),
        };
        let (mut body, length) = if let Some(member) = &self.member {
            let stream = BufReader::with_capacity(BUFFER, member.open(self.file)?);
            (Body::Forward(Box::new(stream)), member.size)
        } else {
            let file = self.file.open()?;
            let length = file.metadata().map_err(DataError::file(self.file.name))?.len();
            (Body::Anywhere(BufReader::with_capacity(BUFFER, file)), length)
        };
        let header = match &mut body {
            Body::Forward(stream) => Header::read_any_order(stream),
            Body::Anywhere(file) => Header::read_any_order(file),
        };
        let header = header.map_err(|reason| origin.error("header", reason))?;
        header.check_length(length).map_err(|reason| origin.error("header", reason))?;
        if header.shape.is_empty() || header.shape.contains(&0) {
            let reason = format!("expected rows of values, found shape {}", header.shape_text());
            return Err(origin.error("header", reason));
        }
        let data_bytes = length.saturating_sub(header.length);
        let row_bytes = (data_bytes / header.shape[0] as u64) as usize;
        let mut array = Array { origin, header, body, row_bytes, next: 0, held: None };
        if array.header.is_fortran {
            array.held = Some(array.in_c_order()?);
        }
        Ok(array)
    }
}

/// Names an array in messages.
#[derive(Clone, Debug)]
struct Origin {
    file: String,
    array: Option<String>,
}

impl Origin {
    fn error(&self, place: impl ToString, reason: impl ToString) -> DataError {
        let place = place.to_string();
        let place = match &self.array {
            Some(array) => format!("array `{array}`, {place}"),
            None => place,
        };
        DataError::malformed(&self.file, place, reason)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.array {
            Some(array) => write!(formatter, "{}: array `{array}`", self.file),
            None => formatter.write_str(&self.file),
        }
    }
}

enum Body {
    Forward(Box<BufReader<MemberReader>>),
    Anywhere(BufReader<File>),
}

/// An array of at least one row, open for reading.
pub(in crate::data) struct Array {
    origin: Origin,
    header: Header,
    body: Body,
    row_bytes: usize,
    /// The row that the body stands at.
    next: usize,
    /// All rows in C order, where the file has them in Fortran order.
    held: Option<Vec<u8>>,
}

impl Array {
    /// Returns what the header says.
    pub(in crate::data) const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the type of the values.
    pub(in crate::data) const fn element(&self) -> Element {
        self.header.element
    }

    /// Returns the number of rows.
    pub(in crate::data) fn rows(&self) -> usize {
        self.header.shape[0]
    }

    /// Says what is wrong at a place of this array.
    pub(in crate::data) fn error(&self, place: impl ToString, reason: impl ToString) -> DataError {
        self.origin.error(place, reason)
    }

    /// Names a value by its indices: those of its row, and of its place in the row.
    pub(in crate::data) fn place(&self, row: usize, mut index: usize) -> String {
        let mut indices = Vec::new();
        for size in self.header.shape[1..].iter().rev() {
            indices.push((index % size).to_string());
            index /= size;
        }
        indices.push(row.to_string());
        indices.reverse();
        format!("value [{}]", indices.join(", "))
    }

    /// Makes room for so many values that are made of the array's.
    pub(in crate::data) fn room_for<T>(&self, count: usize) -> Result<Vec<T>, DataError> {
        memory::room_for(count).map_err(DataError::too_large(&self.origin))
    }

    /// Makes sure of the number of dimensions.
    pub(in crate::data) fn expect_dimensions(
        &self,
        count: usize,
        meaning: &str,
    ) -> Result<(), DataError> {
        if self.header.shape.len() == count {
            return Ok(());
        }
        let found = self.header.shape_text();
        Err(self.error("header", format!("expected a shape of {meaning}, found {found}")))
    }

    /// Reads all values of an array in Fortran order.
    fn in_c_order(&mut self) -> Result<Vec<u8>, DataError> {
        let mut bytes = self.room_for(self.row_bytes * self.rows())?;
        bytes.resize(self.row_bytes * self.rows(), 0);
        let outcome = match &mut self.body {
            Body::Forward(stream) => fortran::read(stream, &self.header, &mut bytes),
            Body::Anywhere(file) => fortran::read(file, &self.header, &mut bytes),
        };
        outcome.map_err(|cause| {
            self.error("values", format!("the data are cut off or damaged: {cause}"))
        })?;
        Ok(bytes)
    }

    /// Returns a buffer for one row.
    pub(in crate::data) fn row_buffer(&self) -> Result<Vec<u8>, DataError> {
        let mut bytes = self.room_for(self.row_bytes)?;
        bytes.resize(self.row_bytes, 0);
        Ok(bytes)
    }

    /// Reads one row. In an archive, rows can be read in ascending order only.
    pub(in crate::data) fn read_row(
        &mut self,
        row: usize,
        bytes: &mut [u8],
    ) -> Result<(), DataError> {
        if row >= self.rows() || bytes.len() != self.row_bytes {
            let reason = format!("expected a row below {}", self.rows());
            return Err(self.error(format!("row {row}"), reason));
        }
        if let Some(held) = &self.held {
            bytes.copy_from_slice(&held[row * self.row_bytes..][..self.row_bytes]);
            return Ok(());
        }
        let last = row + 1 == self.rows();
        let outcome = match &mut self.body {
            Body::Anywhere(file) => read_anywhere(file, self.next, row, bytes),
            Body::Forward(_) if row < self.next => {
                Err(io::Error::other("rows of an archive can be read in ascending order only"))
            }
            Body::Forward(stream) => {
                let skipped = (row - self.next) as u64 * self.row_bytes as u64;
                read_forward(stream, skipped, bytes, last)
            }
        };
        outcome.map_err(|cause| {
            self.error(format!("row {row}"), format!("the data are cut off or damaged: {cause}"))
        })?;
        self.next = row + 1;
        Ok(())
    }
}

fn read_anywhere(
    file: &mut BufReader<File>,
    next: usize,
    row: usize,
    bytes: &mut [u8],
) -> io::Result<()> {
    let distance = |rows: usize| i64::try_from(rows * bytes.len()).map_err(io::Error::other);
    let ahead = if row < next { -distance(next - row)? } else { distance(row - next)? };
    // Unlike an absolute seek, this keeps what the buffer already holds.
    file.seek_relative(ahead)?;
    file.read_exact(bytes)
}

/// Reads on after some bytes; behind the last row nothing may follow.
fn read_forward(
    stream: &mut impl Read,
    skipped: u64,
    bytes: &mut [u8],
    last: bool,
) -> io::Result<()> {
    io::copy(&mut stream.by_ref().take(skipped), &mut io::sink())?;
    stream.read_exact(bytes)?;
    if last && stream.read(&mut [0])? > 0 {
        return Err(io::Error::other("there is more data than the header declares"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn reference(name: &str) -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "tests/reference/arrays", name].iter().collect()
    }

    fn bytes_of(name: &str) -> Vec<u8> {
        fs::read(reference(name)).unwrap()
    }

    /// Opens the array of a name, or the only one.
    fn open(file: &str, bytes: &[u8], array: &str) -> Result<Array, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, bytes).unwrap();
        let arrays = list(DataFile { name: file, path: &path })?;
        match arrays.iter().find(|stored| array.is_empty() || stored.name == array) {
            Some(stored) => stored.open(),
            None => Err(DataError::Unfit("no such array".to_owned())),
        }
    }

    fn refusal(file: &str, bytes: &[u8]) -> String {
        open(file, bytes, "").err().unwrap().to_string()
    }

    fn floats(array: &mut Array, row: usize) -> Vec<f64> {
        let mut bytes = array.row_buffer().unwrap();
        array.read_row(row, &mut bytes).unwrap();
        bytes.chunks_exact(array.element().size).map(|value| array.element().float(value)).collect()
    }

    #[test]
    fn rows_that_numpy_wrote_are_read_anywhere_in_an_npy_file() {
        for name in ["vectors_f8.npy", "vectors_f4_big_endian.npy"] {
            let mut array = open(name, &bytes_of(name), "").unwrap();
            assert_eq!(array.header().shape, [3, 4]);
            assert_eq!(floats(&mut array, 2), [0.5, 0.625, 0.75, 0.875]);
            assert_eq!(floats(&mut array, 0), [-0.5, -0.375, -0.25, -0.125]);
            assert_eq!(floats(&mut array, 1), [0.0, 0.125, 0.25, 0.375]);
        }
        let mut integers = open("i", &bytes_of("vectors_i2.npy"), "").unwrap();
        assert_eq!(floats(&mut integers, 0), [-6.0, -5.0, -4.0, -3.0]);
    }

    #[test]
    fn an_array_in_fortran_order_is_read_row_by_row_like_any_other() {
        let mut array = open("fortran.npy", &bytes_of("fortran.npy"), "").unwrap();
        assert_eq!(floats(&mut array, 2), [8.0, 9.0, 10.0, 11.0]);
        assert_eq!(floats(&mut array, 0), [0.0, 1.0, 2.0, 3.0]);
        let mut images = open("fortran.npz", &bytes_of("fortran.npz"), "images").unwrap();
        assert_eq!(images.header().shape, [2, 3, 4]);
        assert_eq!(floats(&mut images, 1), (12..24).map(f64::from).collect::<Vec<_>>());
    }

    #[test]
    fn stored_and_deflated_members_are_found_by_name() {
        let names = |name: &str| {
            let path = reference(name);
            let arrays = list(DataFile { name, path: &path }).unwrap();
            arrays.into_iter().map(|array| array.name).collect::<Vec<_>>()
        };
        assert_eq!(names("images.npz"), ["nhwc", "nchw", "labels"]);
        assert_eq!(names("packed.npz"), ["gray", "labels"]);
        assert_eq!(names("nan.npy"), ["nan"]);
        for name in ["images.npz", "packed.npz"] {
            let mut labels = open(name, &bytes_of(name), "labels").unwrap();
            let values: Vec<_> = (0..4).flat_map(|row| floats(&mut labels, row)).collect();
            assert_eq!(values, [7.0, -1.0, 7.0, 3.0]);
        }
    }

    #[test]
    fn what_is_no_array_of_numbers_is_refused_in_one_line() {
        let refused = [
            ("objects.npy", "it holds pickled Python objects, which are never unpickled here"),
            ("structured.npy", "it is a structured array"),
            ("half.npy", "expected bool, integers, or floats of 4 or 8 bytes, found dtype `<f2`"),
            ("empty.npy", "expected rows of values, found shape (0, 4)"),
        ];
        for (name, reason) in refused {
            let found = refusal(name, &bytes_of(name));
            assert!(found.starts_with(&format!("{name}: header: {reason}")), "{found}");
        }
        let pickled = open("d", &bytes_of("dsprites.npz"), "metadata").err().unwrap().to_string();
        assert!(pickled.starts_with("d: array `metadata`, header: it holds pickled"), "{pickled}");
        assert_eq!(
            refusal("x", b"PNG"),
            "x: byte 0: expected the magic bytes of npy (\\x93NUMPY) or npz (PK\\x03\\x04), found PNG"
        );
        assert!(refusal("x", b"").ends_with("found an empty file"));
    }

    #[test]
    fn data_shorter_or_longer_than_the_header_says_are_refused() {
        let whole = bytes_of("vectors_f8.npy");
        assert_eq!(
            refusal("short", &whole[..whole.len() - 1]),
            "short: header: shape (3, 4) of f64 needs 96 bytes of data, found 95"
        );
        assert_eq!(
            refusal("long", &[&whole[..], &[0]].concat()),
            "long: header: shape (3, 4) of f64 needs 96 bytes of data, found 97"
        );
    }

    #[test]
    fn a_member_whose_values_do_not_fit_their_checksum_is_refused_at_its_end() {
        let mut bytes = bytes_of("images.npz");
        // The stored labels are 64-bit integers: change the 3.
        let three = 3_i64.to_le_bytes();
        let at = bytes.windows(8).rposition(|window| window == three).unwrap();
        bytes[at] = 5;
        let mut array = open("images.npz", &bytes, "labels").unwrap();
        floats(&mut array, 2);
        let error = array.read_row(3, &mut [0; 8]).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "images.npz: array `labels`, row 3: the data are cut off or \
                                   damaged: expected the checksum "
            ),
            "{error}"
        );
    }

    #[test]
    fn any_prefix_and_any_changed_byte_give_arrays_or_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let read_all = |bytes: &[u8]| -> Result<(), DataError> {
            fs::write(&path, bytes).unwrap();
            for stored in list(DataFile { name: "changed", path: &path })? {
                let mut array = stored.open()?;
                let mut row = array.row_buffer()?;
                for index in 0..array.rows() {
                    array.read_row(index, &mut row)?;
                }
            }
            Ok(())
        };
        for name in ["vectors_f4_big_endian.npy", "fortran.npz", "images.npz", "packed.npz"] {
            let whole = bytes_of(name);
            for end in 0..whole.len() {
                assert!(read_all(&whole[..end]).is_err(), "{end} bytes of {name}");
            }
            for at in 0..whole.len() {
                for mask in [0x01, 0x20, 0xff] {
                    let mut changed = whole.clone();
                    changed[at] ^= mask;
                    let _ = read_all(&changed);
                }
            }
        }
    }
}
