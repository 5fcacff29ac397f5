//! Images and their factors in HDF5 files: two tables, one row for each image.
//!
//! The format itself is left to `hdf5-reader`. Here: named data sets of the element type and shape
//! that the caller expects, and images read from them in ascending order (`bands.rs`) in bounded
//! memory.
//! Checked against: files that h5py wrote in the layouts of the originals (tests/reference/hdf5.py).

mod bands;

use std::io::{Read, Seek};
use std::sync::Arc;

use hdf5_reader::group::Group;
use hdf5_reader::{Dataset, Datatype, FileStorage, Hdf5File, OpenOptions};
use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};

use self::bands::Bands;
use crate::data::{
    Annotations, Broken, Catalog, DataError, DataFile, Factors, ImageShape, ImageSource,
};

/// Most bytes that one chunk, or the factors of all images, may take.
const LARGEST_READ: usize = 256 << 20;

/// Data sets named in a message.
const KEYS_SHOWN: usize = 12;

/// Turns a stored image into pixels in channel, row, column order, or says what is wrong with it.
pub(in crate::data) type Convert = fn(&[u8], &mut [u8]) -> Result<(), String>;

/// Where a file keeps its images and their factors.
pub(in crate::data) struct Layout {
    /// The data set of the images, which are bytes.
    pub(in crate::data) images: &'static str,
    /// The shape of each image as it is stored.
    pub(in crate::data) stored: &'static [usize],
    /// The shape of each image as it is read.
    pub(in crate::data) shape: ImageShape,
    /// How the one becomes the other.
    pub(in crate::data) convert: Convert,
    /// The data set of the factors, which are numbers in double precision.
    pub(in crate::data) factors: &'static str,
    /// The names of the factors.
    pub(in crate::data) names: &'static [&'static str],
}

impl Layout {
    /// Opens the images of a file and reads the factors of all.
    pub(in crate::data) fn open(
        &self,
        file: DataFile<'_>,
    ) -> Result<Box<dyn ImageSource>, DataError> {
        let opened = open(file)?;
        let factors = Table::find(file, &opened, self.factors, Element::F64, &[self.names.len()])?;
        let images = Table::find(file, &opened, self.images, Element::U8, self.stored)?;
        if factors.rows != images.rows {
            let (expected, found) = (images.rows, factors.rows);
            let reason = format!("expected {expected} rows as in `{}`, found {found}", self.images);
            return Err(factors.place.error(reason));
        }
        let names = self.names.iter().map(|&name| name.to_owned()).collect();
        let factors = Factors { names, values: factors.read_all(self.names)? };
        let annotations = Annotations { factors, classes: None };
        let catalog = Catalog { count: images.rows, annotations, partition: None };
        let Table { place, dataset, rows } = images;
        let bands = Bands::new(dataset, rows, self.stored).map_err(|reason| place.error(reason))?;
        Ok(Box::new(Hdf5Images { catalog, shape: self.shape, place, bands, convert: self.convert }))
    }
}

/// Opens a file; nothing but its head is read.
fn open(file: DataFile<'_>) -> Result<Hdf5File, DataError> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut opened = file.open()?;
    let mut start = Vec::new();
    opened.by_ref().take(2).read_to_end(&mut start).map_err(DataError::file(file.name))?;
    opened.rewind().map_err(DataError::file(file.name))?;
    if start == GZIP {
        let reason = "expected an HDF5 file, found a gzipped one: unpack it first";
        return Err(DataError::malformed(file.name, "byte 0", reason));
    }
    // Chunks are kept in bands here, so the reader need not keep them again.
    let options = OpenOptions::default()
        .with_chunk_cache_bytes(0)
        .with_max_chunk_bytes(LARGEST_READ)
        .with_max_read_bytes(LARGEST_READ);
    FileStorage::from_file(opened)
        .and_then(|storage| Hdf5File::from_storage_with_options(Arc::new(storage), options))
        .map_err(|cause| {
            DataError::malformed(file.name, "head", format!("not a valid HDF5 file: {cause}"))
        })
}

/// The element types of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    U8,
    F64,
}

impl Element {
    fn is(self, datatype: &Datatype) -> bool {
        match datatype {
            Datatype::FixedPoint { size: 1, signed: false, .. } => self == Self::U8,
            Datatype::FloatingPoint { size: 8, .. } => self == Self::F64,
            _ => false,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::F64 => "f64",
        }
    }
}

/// A data set of rows.
struct Table {
    place: Place,
    dataset: Dataset,
    rows: usize,
}

impl Table {
    /// Finds a data set whose rows have the given element type and shape.
    fn find(
        file: DataFile<'_>,
        opened: &Hdf5File,
        key: &str,
        element: Element,
        row: &[usize],
    ) -> Result<Self, DataError> {
        let place = Place { file: file.name.to_owned(), key: key.to_owned() };
        let dataset = opened.dataset(key).map_err(|cause| {
            let keys = opened.root_group().map(|root| keys(&root)).unwrap_or_default();
            if keys.iter().any(|present| present == key) {
                place.error(format!("not readable: {cause}"))
            } else {
                place.error(format!("there is no such data set, only {}", listed(&keys)))
            }
        })?;
        if !element.is(dataset.dtype()) {
            let (expected, found) = (element.name(), described(dataset.dtype()));
            return Err(place.error(format!("expected values of {expected}, found {found}")));
        }
        match dataset.shape().split_first() {
            Some((&rows, inner)) if inner.iter().copied().eq(row.iter().map(|&n| n as u64)) => {
                let rows = usize::try_from(rows).map_err(|cause| place.error(cause))?;
                Ok(Self { place, dataset, rows })
            }
            _ => {
                let (expected, found) = (sizes(row), sizes(dataset.shape()));
                Err(place.error(format!("expected shape n x {expected}, found {found}")))
            }
        }
    }

    /// Reads a table of finite numbers as a whole.
    fn read_all(&self, columns: &[&str]) -> Result<Vec<f32>, DataError> {
        let values = self.dataset.read_array::<f64>();
        let values = values.map_err(|cause| self.place.error(format!("not readable: {cause}")))?;
        let number = |(index, value): (usize, &f64)| {
            if value.is_finite() {
                return Ok(*value as f32);
            }
            let (row, column) = (index / columns.len(), columns[index % columns.len()]);
            Err(self.place.error(format!("row {row}: expected a finite {column}, found {value}")))
        };
        values.iter().enumerate().map(number).collect()
    }
}

/// Images that are the rows of a table.
struct Hdf5Images {
    catalog: Catalog,
    shape: ImageShape,
    place: Place,
    bands: Bands,
    convert: Convert,
}

impl ImageSource for Hdf5Images {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        let (mut rows, mut pixels) = (rows, pixels);
        while let Some(&first) = rows.first() {
            let band = self.bands.unpack(first).map_err(|reason| self.place.error(reason))?;
            let count = rows.iter().take_while(|row| band.holds(**row)).count();
            let (now, later) = pixels.split_at_mut(count * self.shape.pixels());
            let images = now.par_chunks_mut(self.shape.pixels().max(1)).zip(&rows[..count]);
            let wrong = images.map_init(Vec::new, |stored, (image, &row)| {
                band.gather(row, stored);
                (self.convert)(stored, image).err().map(|reason| format!("row {row}: {reason}"))
            });
            if let Some(reason) = wrong.find_map_first(|wrong| wrong) {
                return Err(self.place.error(reason));
            }
            (rows, pixels) = (&rows[count..], later);
        }
        Ok(Vec::new())
    }
}

/// A data set of a file, as messages name it.
struct Place {
    file: String,
    key: String,
}

impl Place {
    fn error(&self, reason: impl ToString) -> DataError {
        DataError::malformed(&self.file, format!("data set `{}`", self.key), reason)
    }
}

/// Returns the data sets of a group, down to one group deeper.
fn keys(root: &Group) -> Vec<String> {
    let (groups, mut keys) = root.member_names().unwrap_or_default();
    for outer in groups {
        let inner = root.group(&outer).and_then(|group| group.member_names()).unwrap_or_default();
        keys.extend(inner.1.iter().map(|key| format!("{outer}/{key}")));
    }
    keys
}

/// Names the first few keys.
fn listed(keys: &[String]) -> String {
    match keys {
        [] => "none at all".to_owned(),
        keys if keys.len() <= KEYS_SHOWN => keys.join(", "),
        keys => format!("{} and {} more", keys[..KEYS_SHOWN].join(", "), keys.len() - KEYS_SHOWN),
    }
}

/// Writes a shape as in `64 x 64 x 3`.
fn sizes<T: ToString>(shape: &[T]) -> String {
    match shape {
        [] => "a single value".to_owned(),
        shape => shape.iter().map(T::to_string).collect::<Vec<_>>().join(" x "),
    }
}

/// Names an element type as NumPy users know it.
fn described(datatype: &Datatype) -> String {
    match datatype {
        Datatype::FixedPoint { size, signed: true, .. } => format!("i{}", u32::from(*size) * 8),
        Datatype::FixedPoint { size, signed: false, .. } => format!("u{}", u32::from(*size) * 8),
        Datatype::FloatingPoint { size, .. } => format!("f{}", u32::from(*size) * 8),
        _ => "something other than plain numbers".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::numerics::memory::pretended::with_available;

    const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/tables.h5");

    /// Fits `tables.h5`, whose images are not cut into chunks.
    const LAYOUT: Layout = Layout {
        images: "images",
        stored: &[2, 3],
        shape: ImageShape { channels: 1, height: 2, width: 3 },
        convert: |stored, image| {
            image.copy_from_slice(stored);
            Ok(())
        },
        factors: "group/factors",
        names: &["a", "b"],
    };

    fn open_file(path: &Path, layout: &Layout) -> Result<Box<dyn ImageSource>, DataError> {
        layout.open(DataFile { name: "tables.h5", path })
    }

    fn refusal(layout: Layout) -> String {
        open_file(Path::new(TABLES), &layout).err().unwrap().to_string()
    }

    #[test]
    fn rows_without_chunks_are_read_in_any_number_at_a_time() {
        let mut source = open_file(Path::new(TABLES), &LAYOUT).unwrap();
        assert_eq!(source.catalog().annotations.factors.values[..4], [0.0, 0.5, 1.0, 1.5]);
        let mut pixels = [0; 18];
        assert_eq!(source.read(&[0], &mut pixels[..6]).unwrap(), []);
        assert_eq!(source.read(&[2, 4], &mut pixels[6..]).unwrap(), []);
        assert_eq!(pixels, [0, 1, 2, 3, 4, 5, 20, 21, 22, 23, 24, 25, 40, 41, 42, 43, 44, 45]);
    }

    #[test]
    fn rows_that_share_more_chunks_than_there_is_memory_are_refused() {
        let refused = with_available(1_000_000, || refusal(LAYOUT));
        assert_eq!(
            refused,
            "tables.h5: data set `images`: reading 1398101 rows at a time, as they are stored, \
             would take 0.0 GB of memory, but only 0.0 GB is available: use more memory"
        );
    }

    #[test]
    fn a_missing_key_is_told_with_the_keys_that_are_there() {
        assert_eq!(
            refusal(Layout { images: "imgs", ..LAYOUT }),
            "tables.h5: data set `imgs`: there is no such data set, \
             only chunked, images, group/factors, group/fewer, group/unknown"
        );
        let error = refusal(Layout { factors: "latents/values", ..LAYOUT });
        assert!(error.starts_with("tables.h5: data set `latents/values`: there is no such"));
    }

    #[test]
    fn another_element_type_or_shape_is_told_beside_the_expected_one() {
        assert_eq!(
            refusal(Layout { images: "group/factors", stored: &[2], ..LAYOUT }),
            "tables.h5: data set `group/factors`: expected values of u8, found f64"
        );
        assert_eq!(
            refusal(Layout { stored: &[64, 64], ..LAYOUT }),
            "tables.h5: data set `images`: expected shape n x 64 x 64, found 5 x 2 x 3"
        );
        assert_eq!(
            refusal(Layout { names: &["a", "b", "c"], ..LAYOUT }),
            "tables.h5: data set `group/factors`: expected shape n x 3, found 5 x 2"
        );
    }

    #[test]
    fn factors_of_another_number_of_images_are_refused() {
        assert_eq!(
            refusal(Layout { factors: "group/fewer", ..LAYOUT }),
            "tables.h5: data set `group/fewer`: expected 5 rows as in `images`, found 4"
        );
    }

    #[test]
    fn a_factor_that_is_no_number_is_named() {
        assert_eq!(
            refusal(Layout { factors: "group/unknown", ..LAYOUT }),
            "tables.h5: data set `group/unknown`: row 3: expected a finite b, found NaN"
        );
    }

    #[test]
    fn a_refused_image_is_named() {
        let stored = |stored: &[u8], _: &mut [u8]| match stored[0] {
            30 => Err("expected less".to_owned()),
            _ => Ok(()),
        };
        let layout = Layout { convert: stored, ..LAYOUT };
        let mut source = open_file(Path::new(TABLES), &layout).unwrap();
        let error = source.read(&[1, 3, 4], &mut [0; 18]).unwrap_err();
        assert_eq!(error.to_string(), "tables.h5: data set `images`: row 3: expected less");
    }

    #[test]
    fn files_of_another_kind_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (bytes, expected) in [
            (&b"no HDF5 in here, just a few words"[..], "head: not a valid HDF5 file"),
            (&b""[..], "head: not a valid HDF5 file"),
            (&b"\x1f\x8b\x08\x00"[..], "byte 0: expected an HDF5 file, found a gzipped one"),
        ] {
            fs::write(&path, bytes).unwrap();
            let error = open_file(&path, &LAYOUT).err().unwrap().to_string();
            assert!(error.starts_with(&format!("tables.h5: {expected}")), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_cut_anywhere_gives_an_error_or_its_true_rows_but_no_panic() {
        let whole = fs::read(TABLES).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.h5");
        let mut refused = 0;
        for length in (0..whole.len()).step_by(97) {
            fs::write(&path, &whole[..length]).unwrap();
            let mut pixels = [0; 6];
            let layout = Layout { images: "chunked", ..LAYOUT };
            let read = open_file(&path, &layout).and_then(|mut file| file.read(&[4], &mut pixels));
            match read {
                Ok(_) => assert_eq!(pixels, [40, 41, 42, 43, 44, 45]),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 10, "only {refused} cuts were noticed");
    }
}
