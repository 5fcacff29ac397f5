//! A user's own NumPy arrays, as images or as vectors.
//!
//! Arrays lie in npy files, in npz archives, or in several of them; each is known by its name,
//! so it makes no difference where. Images are read in blocks and become bytes; vectors are held,
//! with their values as they are. Values that are no numbers, or that lie outside the stated range,
//! are refused with their place.

mod images;
mod scan;
mod summary;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::images::ArrayImages;
pub use self::scan::{ArrayValues, scan_values};
pub use self::summary::{ArraySummary, Numbers, summarize_arrays};
use crate::data::formats::npy::{self, Array, Kind, Stored};
use crate::data::{
    Annotations, Classes, Content, DataError, DataSet, Factors, Files, Samples, Vectors,
};
use crate::numerics::Points;

/// Settings of a data set in NumPy arrays, for instance `Array(content: Images(layout: Nhwc),
/// array: "x_train", labels: "y_train")`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayFile {
    /// What the array holds.
    pub content: ArrayContent,
    /// The array's name in its archive, or its file's name without `.npy`; not needed if there is
    /// only one array beside the labels.
    #[serde(default)]
    pub array: Option<String>,
    /// The name of an array with one whole number per sample: its class.
    #[serde(default)]
    pub labels: Option<String>,
}

/// What an array holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum ArrayContent {
    /// Images of equal size.
    Images {
        /// The order of the dimensions.
        layout: Layout,
        /// The values of black and white.
        #[serde(default)]
        range: PixelRange,
    },
    /// Vectors: one row per vector, one column per coordinate, of any numeric type. Further
    /// dimensions are flattened: images become vectors of their values, which are not rounded.
    Vectors,
}

/// The order of the dimensions of an array of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Layout {
    /// Images, rows, columns: no colors.
    Nhw,
    /// Images, rows, columns, channels, as NumPy and TensorFlow users keep them.
    Nhwc,
    /// Images, channels, rows, columns, as PyTorch users keep them.
    Nchw,
}

/// The values of black and white.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PixelRange {
    /// Bytes from 0 to 255, taken as they are.
    #[default]
    Bytes,
    /// Any numbers from 0 to 255, rounded.
    Full,
    /// Numbers from 0 to 1, rounded to the nearest byte.
    Unit,
    /// Numbers from -1 to 1, rounded to the nearest byte.
    Symmetric,
}

impl PixelRange {
    /// Returns the values of black and white.
    pub const fn ends(self) -> (f64, f64) {
        match self {
            Self::Bytes | Self::Full => (0.0, 255.0),
            Self::Unit => (0.0, 1.0),
            Self::Symmetric => (-1.0, 1.0),
        }
    }

    /// Returns a value on the scale from 0 to 255, before it is rounded.
    pub fn level(self, value: f64) -> f64 {
        let (low, high) = self.ends();
        (value - low) * 255.0 / (high - low)
    }
}

impl DataSet for ArrayFile {
    fn content(&self) -> Content {
        match self.content {
            ArrayContent::Images { .. } => Content::Images,
            ArrayContent::Vectors => Content::Vectors,
        }
    }

    fn reads_files(&self) -> bool {
        true
    }

    /// Opens the array and reads its labels; images are read later, vectors at once.
    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        let mut stored = Vec::new();
        for file in files.iter() {
            stored.extend(npy::list(file)?);
        }
        let labels = self.labels.as_ref().map(|name| find(&stored, name)).transpose()?;
        let array = match &self.array {
            Some(name) => find(&stored, name)?,
            None => only(&stored, self.labels.as_deref())?,
        };
        let array = array.open()?;
        let classes =
            labels.map(|labels| read_classes(labels.open()?, array.rows())).transpose()?;
        let annotations = Annotations { factors: Factors::default(), classes };
        match self.content {
            ArrayContent::Images { layout, range } => {
                let images = ArrayImages::new(array, layout, range, annotations)?;
                Ok(Samples::Images(Box::new(images)))
            }
            ArrayContent::Vectors => {
                Ok(Samples::Vectors(Vectors::new(read_points(array)?, annotations)?, None))
            }
        }
    }
}

/// Returns the array of a name.
fn find<'a, 'b>(arrays: &'b [Stored<'a>], name: &str) -> Result<&'b Stored<'a>, DataError> {
    let bare = name.strip_suffix(".npy").unwrap_or(name);
    let mut found = arrays.iter().filter(|array| array.name == bare);
    match (found.next(), found.next()) {
        (Some(array), None) => Ok(array),
        (Some(_), Some(_)) => Err(DataError::Unfit(format!("two arrays are named `{bare}`"))),
        (None, _) => Err(DataError::Unknown {
            what: "array",
            name: name.to_owned(),
            present: arrays.iter().map(|array| array.name.clone()).collect(),
        }),
    }
}

/// Returns the only array beside the labels.
fn only<'a, 'b>(
    arrays: &'b [Stored<'a>],
    labels: Option<&str>,
) -> Result<&'b Stored<'a>, DataError> {
    let labels = labels.map(|name| name.strip_suffix(".npy").unwrap_or(name));
    let others: Vec<_> =
        arrays.iter().filter(|array| labels != Some(array.name.as_str())).collect();
    match others[..] {
        [array] => Ok(array),
        [] => Err(DataError::Unfit("there is no array in these files".to_owned())),
        _ => {
            let names: Vec<_> = others.iter().map(|array| array.name.as_str()).collect();
            let names = names.join("`, `");
            Err(DataError::Unfit(format!(
                "there are several arrays: set `array` to one of `{names}`"
            )))
        }
    }
}

/// Reads one integer for each sample.
fn read_classes(mut array: Array, count: usize) -> Result<Classes, DataError> {
    let element = array.element();
    let is_integer = matches!(element.kind, Kind::Unsigned | Kind::Signed);
    if array.header().shape != [count] || !is_integer {
        let found = format!("{} of {element}", array.header().shape_text());
        let reason = format!("expected {count} integers, one for each sample, found {found}");
        return Err(array.error("header", reason));
    }
    let mut value = array.row_buffer()?;
    let mut labels = array.room_for(count)?;
    for row in 0..count {
        array.read_row(row, &mut value)?;
        labels.extend(element.integer(&value));
    }
    Classes::numbered(&labels)
        .ok_or_else(|| array.error("values", "there are more than 65,536 different classes"))
}

/// Reads all rows as points.
fn read_points(mut array: Array) -> Result<Points, DataError> {
    if array.header().shape.len() < 2 {
        array.expect_dimensions(2, "rows and columns")?;
    }
    let rows = array.rows();
    // The product fits: the header was checked against the file.
    let width: usize = array.header().shape[1..].iter().product();
    let element = array.element();
    let mut values = array.room_for(rows * width)?;
    let mut row = array.row_buffer()?;
    for index in 0..rows {
        array.read_row(index, &mut row)?;
        for (column, bytes) in row.chunks_exact(element.size).enumerate() {
            let value = element.float(bytes);
            if !(value as f32).is_finite() {
                let place = match array.header().shape.len() {
                    2 => format!("row {index}, column {column} (counted from 0)"),
                    _ => array.place(index, column),
                };
                let reason = format!("expected a finite number, found {value}");
                return Err(array.error(place, reason));
            }
            values.push(value as f32);
        }
    }
    Ok(Points::from_rows(width, values))
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::io::{Cursor, Write};
    use std::path::PathBuf;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;
    use crate::data::ImageSource;
    use crate::numerics::memory::pretended::with_available;

    /// Opens reference files with settings in the language of pipelines.
    fn open(settings: &str, names: &[&str]) -> Result<Samples, DataError> {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let settings: ArrayFile = options.from_str(settings).unwrap();
        let place = |name: &str| -> PathBuf {
            [env!("CARGO_MANIFEST_DIR"), "tests/reference/arrays", name].iter().collect()
        };
        let files: BTreeMap<_, _> =
            names.iter().map(|name| ((*name).to_owned(), place(name))).collect();
        settings.open(&Files::new(files))
    }

    pub(crate) fn images(settings: &str, name: &str) -> Box<dyn ImageSource> {
        match open(settings, &[name]).unwrap() {
            Samples::Images(source) => source,
            Samples::Vectors(..) => panic!("vectors"),
        }
    }

    fn vectors(settings: &str, names: &[&str]) -> Vectors {
        match open(settings, names).unwrap() {
            Samples::Vectors(vectors, None) => vectors,
            _ => panic!("no plain vectors"),
        }
    }

    pub(crate) fn refusal(settings: &str, names: &[&str]) -> String {
        open(settings, names).err().unwrap().to_string()
    }

    /// Opens an npz file with one deflated array of zeros.
    fn zeros(settings: &str, dtype: &str, shape: &str, bytes: usize) -> Result<Samples, DataError> {
        let dict = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        writer.start_file("x.npy", options).unwrap();
        writer.write_all(&npy::Header::encode(&dict, 128)).unwrap();
        writer.write_all(&vec![0; bytes]).unwrap();
        let packed = writer.finish().unwrap().into_inner();
        assert!(packed.len() < bytes / 500, "{} bytes", packed.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zeros.npz");
        std::fs::write(&path, packed).unwrap();
        let settings: ArrayFile = ron::from_str(settings).unwrap();
        settings.open(&Files::new(BTreeMap::from([("zeros.npz".to_owned(), path)])))
    }

    #[test]
    fn a_small_archive_of_many_values_is_refused_by_what_holding_them_takes() {
        // Four million values: 4 MB in the array, 16 MB as vectors.
        let many = |available| {
            with_available(available, || {
                zeros("(content: Vectors)", "|u1", "(4000, 1000)", 4_000_000)
            })
        };
        assert_eq!(
            many(15_000_000).err().unwrap().to_string(),
            "zeros.npz: array `x` would take 0.0 GB of memory, but only 0.0 GB is available: use a \
             smaller file, or more memory"
        );
        assert!(many(16_000_000).is_ok());
        let labels = |available| {
            with_available(available, || {
                let settings = "(content: Vectors, array: Some(\"x\"), labels: Some(\"x\"))";
                zeros(settings, "|u1", "(4000000,)", 4_000_000)
            })
        };
        assert!(matches!(labels(60_000_000), Err(DataError::TooLarge { .. })));
    }

    #[test]
    fn images_of_an_archive_take_the_memory_of_one_row() {
        let images = |shape: &str, range: &str| {
            let settings = format!("(content: Images(layout: Nhw, range: {range}))");
            let bytes = if range == "Bytes" { 4_000_000 } else { 16_000_000 };
            let dtype = if range == "Bytes" { "|u1" } else { "<f4" };
            with_available(5_000, || zeros(&settings, dtype, shape, bytes).err())
        };
        assert!(images("(4000, 100, 10)", "Unit").is_none(), "4,000 bytes each");
        assert!(images("(1, 2000, 2000)", "Bytes").is_none(), "nothing is held yet");
        let refused = images("(1, 2000, 2000)", "Unit");
        assert!(matches!(refused, Some(DataError::TooLarge { .. })), "{refused:?}");
    }

    #[test]
    fn labels_are_classes_in_the_order_of_their_numbers() {
        let settings = "(content: Images(layout: Nhw), labels: \"labels\")";
        let classes = images(settings, "packed.npz").catalog().annotations.classes.clone().unwrap();
        assert_eq!(classes.names, ["-1", "3", "7"]);
        assert_eq!(classes.values, [2, 0, 2, 1]);
    }

    #[test]
    fn labels_that_do_not_fit_the_samples_are_refused() {
        let settings = "(content: Vectors, array: \"vectors_f8\", labels: \"vectors_i2.npy\")";
        assert_eq!(
            refusal(settings, &["vectors_f8.npy", "vectors_i2.npy"]),
            "vectors_i2.npy: header: expected 3 integers, one for each sample, found (3, 4) of i16"
        );
    }

    #[test]
    fn numbers_of_any_type_become_vectors() {
        let floats = vectors("(content: Vectors)", &["vectors_f4_big_endian.npy"]);
        assert_eq!(floats.points().row(1), [0.0, 0.125, 0.25, 0.375]);
        assert_eq!(floats, vectors("(content: Vectors)", &["vectors_f8.npy"]));
        let integers = vectors("(content: Vectors)", &["vectors_i2.npy"]);
        assert_eq!(integers.points().row(2), [2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn images_can_be_read_as_vectors_that_keep_their_values() {
        let flat = vectors("(content: Vectors)", &["symmetric.npy"]);
        assert_eq!((flat.points().rows(), flat.points().width()), (4, 6));
        let expected = 13.0_f32 / 127.5 - 1.0;
        assert!((flat.points().row(1)[3] - expected).abs() < 1e-6, "{:?}", flat.points().row(1));
        let fortran = vectors("(content: Vectors)", &["fortran.npz"]);
        assert_eq!(fortran.points().row(1)[..3], [12.0, 13.0, 14.0]);
    }

    #[test]
    fn a_value_that_is_no_number_is_refused_with_row_and_column() {
        assert_eq!(
            refusal("(content: Vectors)", &["nan.npy"]),
            "nan.npy: row 2, column 1 (counted from 0): expected a finite number, found \
             NaN"
        );
    }

    #[test]
    fn an_array_must_be_named_where_there_are_several_and_must_be_there() {
        assert_eq!(
            refusal("(content: Images(layout: Nhwc), labels: \"labels\")", &["images.npz"]),
            "there are several arrays: set `array` to one of `nhwc`, `nchw`"
        );
        assert_eq!(
            refusal("(content: Vectors, array: \"z\")", &["packed.npz"]),
            "these samples have no array `z`, only gray, labels"
        );
        assert_eq!(
            refusal("(content: Vectors, array: \"labels\")", &["images.npz", "packed.npz"]),
            "two arrays are named `labels`"
        );
        assert_eq!(refusal("(content: Vectors)", &[]), "there is no array in these files");
    }

    #[test]
    fn more_classes_than_numbers_for_them_are_refused() {
        let labels: Vec<u32> = (0..65_536).collect();
        assert_eq!(Classes::numbered(&labels).unwrap().values[65_535], u16::MAX);
        let labels: Vec<u32> = (0..65_537).collect();
        assert_eq!(Classes::numbered(&labels), None);
    }
}
