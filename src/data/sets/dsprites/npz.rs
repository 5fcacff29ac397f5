//! The original dSprites archive: 737,280 binary images of 64 x 64 pixels and their factors.
//!
//! Only the factors are held; images come out of the deflated stream as they pass by, so memory
//! does not grow with their number. Bits become 0 and 255. The class numbers repeat what the
//! values of the factors say, and the metadata are a pickle: neither is touched.
//! Reference: Matthey et al. 2017, `dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz`.
//! Checked against: tests/reference/arrays/dsprites.npz, which NumPy wrote in the same layout.

use super::FACTORS;
use crate::data::formats::npy::{self, Array, Kind, Stored};
use crate::data::{
    Annotations, Broken, Catalog, DataError, DataFile, Factors, ImageShape, ImageSource,
};

const SHAPE: ImageShape = ImageShape { channels: 1, height: 64, width: 64 };

/// Opens the archive and reads the factors of all images.
pub(super) fn open(file: DataFile<'_>) -> Result<Box<dyn ImageSource>, DataError> {
    let arrays = npy::list(file)?;
    let images = find(file, &arrays, "imgs")?.open()?;
    images.expect_dimensions(3, "images, rows and columns")?;
    if images.header().shape[1..] != [SHAPE.height, SHAPE.width]
        || (images.element().kind, images.element().size) != (Kind::Unsigned, 1)
    {
        let found = format!("{} of {}", images.header().shape_text(), images.element());
        let reason = format!("expected images of 64 x 64 pixels of u8, found {found}");
        return Err(images.error("header", reason));
    }
    let values = find(file, &arrays, "latents_values")?.open()?;
    let values = read_factors(values, images.rows())?;
    let names = FACTORS.map(str::to_owned).to_vec();
    let annotations = Annotations { factors: Factors { names, values }, classes: None };
    let catalog = Catalog { count: images.rows(), annotations, partition: None };
    Ok(Box::new(Archive { images, catalog }))
}

fn find<'a, 'b>(
    file: DataFile<'_>,
    arrays: &'b [Stored<'a>],
    name: &str,
) -> Result<&'b Stored<'a>, DataError> {
    arrays.iter().find(|array| array.name == name).ok_or_else(|| {
        let present: Vec<_> = arrays.iter().map(|array| array.name.as_str()).collect();
        let reason = format!("expected an array `{name}`, found only: {}", present.join(", "));
        DataError::malformed(file.name, "archive", reason)
    })
}

fn read_factors(mut array: Array, images: usize) -> Result<Vec<f32>, DataError> {
    let element = array.element();
    if array.header().shape != [images, FACTORS.len()] || element.kind != Kind::Float {
        let found = format!("{} of {element}", array.header().shape_text());
        let reason = format!("expected floats in the shape ({images}, 6), found {found}");
        return Err(array.error("header", reason));
    }
    let mut row = array.row_buffer()?;
    let mut values = array.room_for(images * FACTORS.len())?;
    for index in 0..images {
        array.read_row(index, &mut row)?;
        for (value, name) in row.chunks_exact(element.size).zip(FACTORS) {
            let value = element.float(value);
            if !value.is_finite() {
                let reason = format!("expected a finite {name}, found {value}");
                return Err(array.error(format!("row {index}"), reason));
            }
            values.push(value as f32);
        }
    }
    Ok(values)
}

/// The open archive.
struct Archive {
    images: Array,
    catalog: Catalog,
}

impl ImageSource for Archive {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        SHAPE
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        for (image, &row) in pixels.chunks_exact_mut(SHAPE.pixels()).zip(rows) {
            self.images.read_row(row, image)?;
            if let Some(bit) = image.iter().find(|&&bit| bit > 1) {
                let reason = format!("expected pixels of 0 and 1, found {bit}");
                return Err(self.images.error(format!("image {row}"), reason));
            }
            for pixel in image {
                *pixel *= u8::MAX;
            }
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    const REFERENCE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/dsprites.npz");

    fn reference() -> Box<dyn ImageSource> {
        open(DataFile { name: "dsprites.npz", path: Path::new(REFERENCE) }).unwrap()
    }

    /// The first `row + 1` pixels of row `row` are lit, as arrays.py draws it.
    fn drawn(row: usize) -> Vec<u8> {
        let mut image = vec![0; 64 * 64];
        image[row * 64..=row * 65].fill(255);
        image
    }

    #[test]
    fn factors_are_those_that_numpy_wrote() {
        let source = reference();
        let catalog = source.catalog();
        assert_eq!(catalog.count, 48);
        assert_eq!(catalog.annotations.factors.names[3..], ["orientation", "x", "y"]);
        let last = [1.0, 3.0, 1.0, std::f32::consts::TAU, 1.0, 1.0];
        assert_eq!(catalog.annotations.factors.row(47), last);
        assert_eq!(catalog.annotations.factors.row(18), [1.0, 2.0, 0.5, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn chosen_images_are_found_in_the_stream_over_several_reads() {
        let mut source = reference();
        for rows in [&[0, 3, 4][..], &[5], &[30, 47]] {
            let mut pixels = vec![7; rows.len() * 4096];
            assert_eq!(source.read(rows, &mut pixels).unwrap(), []);
            assert!(pixels == rows.iter().flat_map(|&row| drawn(row)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn going_back_in_the_stream_is_an_error() {
        let mut source = reference();
        let mut pixels = vec![0; 4096];
        source.read(&[9], &mut pixels).unwrap();
        let error = source.read(&[8], &mut pixels).unwrap_err().to_string();
        assert!(error.starts_with("dsprites.npz: array `imgs`, row 8: "), "{error}");
    }

    #[test]
    fn an_archive_without_the_arrays_names_those_that_it_has() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/packed.npz");
        let error = open(DataFile { name: "packed.npz", path: Path::new(path) }).err().unwrap();
        assert_eq!(
            error.to_string(),
            "packed.npz: archive: expected an array `imgs`, found only: gray, labels"
        );
    }

    #[test]
    fn any_prefix_and_any_changed_byte_give_images_or_an_error() {
        let whole = fs::read(REFERENCE).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changed");
        let read_all = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let mut source = open(DataFile { name: "changed", path: &path })?;
            let rows: Vec<_> = (0..source.catalog().count.min(64)).collect();
            let mut pixels = vec![0; rows.len() * 4096];
            source.read(&rows, &mut pixels).map(|_| pixels)
        };
        let intact = read_all(&whole).unwrap();
        for end in (0..whole.len()).step_by(3) {
            assert!(read_all(&whole[..end]).is_err(), "{end} bytes");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            // A change that the checksum lets pass lies outside the data.
            if let Ok(pixels) = read_all(&changed) {
                assert!(pixels == intact, "byte {at}");
            }
        }
    }
}
