//! What the data are: kind, count, shape, range, and what one should know before a run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::measure::Measure;
use super::{array, pictures, table};
use crate::data::{
    Annotations, DataError, DatasetSpec, Files, ImageSource, Mnist, SampleForm, Samples,
};
use crate::engine::digest::files_in;
use crate::numerics::{Points, Seed};

/// Fewer samples than this tell nothing of a dimension.
const FEWEST: usize = 40;
/// At most so many values of images are measured.
const MOST_VALUES: usize = 1 << 24;
/// At most so many images are measured.
const MOST_IMAGES: usize = 1000;

/// What can be read.
const SUPPORTED: &str = "can be read: .npy and .npz (vectors n x d, images n x h x w [x c]), .csv, \
                         .tsv and .parquet (one row for each sample), a folder or .zip of pictures \
                         (png, jpg, pgm, ppm), a folder with the four files of MNIST";

/// Says why no pipeline can be written for some data.
#[derive(Debug, Error)]
pub(super) enum LookError {
    /// Nothing is there.
    #[error("there is no file or folder `{}`", .0.display())]
    Absent(PathBuf),
    /// Something is there that can't be read.
    #[error("`{}`: {reason}\n{SUPPORTED}", .path.display())]
    Unsupported {
        /// The file or folder.
        path: PathBuf,
        /// Why it is none of what can be read.
        reason: String,
    },
    /// The data are damaged or not what their name says.
    #[error("{cause}\n{SUPPORTED}")]
    Data {
        /// The file, the place in it, and what is wrong.
        #[from]
        cause: DataError,
    },
    /// The system could not read a file or list a folder.
    #[error("the data can't be read: {cause}")]
    System {
        /// What the system said.
        #[from]
        cause: io::Error,
    },
    /// There is too little to see.
    #[error("there are {0} samples: a dimension can't be told from fewer than {FEWEST}")]
    TooFew(usize),
    /// There is nothing to see.
    #[error("all {0} samples that were looked at are equal: there is nothing to estimate")]
    Equal(usize),
}

/// What the data are.
#[derive(Debug)]
pub(super) struct Seen {
    /// What holds them, for people.
    pub(super) kind: String,
    /// How a pipeline reads them.
    pub(super) source: DatasetSpec,
    /// What one sample looks like.
    pub(super) form: SampleForm,
    /// Number of samples.
    pub(super) count: usize,
    /// Number of classes; none if the data have no classes.
    pub(super) classes: usize,
    /// Number of pictures, among those that were looked at, that can't be decoded.
    pub(super) damaged: usize,
    /// Range, duplicates and so on.
    pub(super) measure: Measure,
    /// What should be known before a run.
    pub(super) notes: Vec<String>,
}

impl Seen {
    /// Looks at opened samples.
    pub(super) fn of(kind: &str, source: DatasetSpec, samples: Samples) -> Result<Self, LookError> {
        let classes = |annotations: &Annotations| {
            annotations.classes.as_ref().map_or(0, |classes| classes.names.len())
        };
        let (form, count, classes, measure, damages) = match samples {
            Samples::Images(mut images) => {
                let (points, damages) = some_of(images.as_mut())?;
                let count = images.catalog().count;
                let classes = classes(&images.catalog().annotations);
                (SampleForm::Image(images.shape()), count, classes, Measure::of(&points), damages)
            }
            Samples::Vectors(vectors, _) => {
                let points = vectors.points();
                let form = SampleForm::Vector { width: points.width() };
                let classes = classes(vectors.annotations());
                (form, points.rows(), classes, Measure::of(points), Vec::new())
            }
        };
        let damaged = damages.len();
        let told = |first| format!("{damaged} pictures are damaged and left out, such as {first}");
        let notes = damages.into_iter().next().map(told).into_iter().collect();
        Ok(Self { kind: kind.to_owned(), source, form, count, classes, damaged, measure, notes })
    }

    /// Adds what the measure tells, or says that there is too little.
    fn judged(mut self) -> Result<Self, LookError> {
        if self.count < FEWEST {
            return Err(LookError::TooFew(self.count));
        }
        let width = self.form.values();
        if self.measure.constant == width {
            return Err(LookError::Equal(self.measure.samples));
        }
        let Measure { constant, duplicates, samples, .. } = self.measure;
        if constant > 0 {
            self.notes.push(format!("{constant} of {width} values never vary"));
        }
        if duplicates > 0 {
            self.notes.push(format!(
                "{duplicates} of {samples} samples are copies of others; estimators skip them"
            ));
        }
        if self.count < 500 {
            let count = self.count;
            self.notes
                .push(format!("{count} samples are few: estimates above 5 or so are too low"));
        } else if width > self.count && matches!(self.form, SampleForm::Vector { .. }) {
            self.notes.push(format!("vectors of {width} values are wider than there are samples"));
        }
        Ok(self)
    }
}

/// Looks at a file or a folder.
pub(super) fn look(path: &Path) -> Result<Seen, LookError> {
    let unsupported =
        |reason: &str| LookError::Unsupported { path: path.to_owned(), reason: reason.to_owned() };
    if !path.exists() {
        return Err(LookError::Absent(path.to_owned()));
    }
    let files = files_of(path)?;
    let seen = if path.is_dir() {
        let is_idx = |name: &str| name.contains("-images") && name.contains("idx3-ubyte");
        if files.iter().next().is_none() {
            return Err(unsupported("the folder is empty"));
        }
        if files.iter().any(|file| is_idx(file.name)) {
            let source = DatasetSpec::Mnist(Mnist { seed: Seed(0) });
            let samples = source.open(&files)?;
            Seen::of("idx files as of MNIST", source, samples)
        } else {
            pictures::look("folder of pictures", &files)
        }
    } else {
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "npy" | "npz" => array::look(&files),
            "csv" | "tsv" | "txt" => table::look("CSV table", path, &files),
            "parquet" | "pq" => table::look("Parquet table", path, &files),
            "zip" => pictures::look("archive of pictures", &files),
            "h5" | "hdf5" => Err(unsupported(
                "HDF5 is read only for the published dSprites and Shapes3D: save the array as .npy",
            )),
            "png" | "jpg" | "jpeg" | "pgm" | "ppm" | "pnm" => {
                Err(unsupported("this is a single picture: name the folder with all of them"))
            }
            "" => Err(unsupported("a file without an extension")),
            other => Err(unsupported(&format!("files of the kind .{other} can't be read"))),
        }
    }?;
    seen.judged()
}

/// Returns the files behind a path, named as a `Dataset` stage names them.
fn files_of(path: &Path) -> Result<Files, io::Error> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or("data");
    let mut files = BTreeMap::new();
    if path.is_dir() {
        for (inner, place) in files_in(path)? {
            files.insert(format!("{name}/{inner}"), place);
        }
    } else {
        files.insert(name.to_owned(), path.to_owned());
    }
    Ok(Files::new(files))
}

/// Reads some images, evenly spread over all, as points of values from 0 to 255; also tells which
/// of them are damaged.
fn some_of(images: &mut dyn ImageSource) -> Result<(Points, Vec<String>), DataError> {
    let (count, width) = (images.catalog().count, images.shape().pixels());
    let wanted = (MOST_VALUES / width.max(1)).clamp(1, MOST_IMAGES).min(count);
    let rows: Vec<usize> = (0..wanted).map(|index| index * count / wanted).collect();
    let mut values = Vec::new();
    let mut damaged = Vec::new();
    for rows in rows.chunks(images.block().max(1)) {
        let mut pixels = vec![0; rows.len() * width];
        let broken = images.read(rows, &mut pixels)?;
        for (position, image) in pixels.chunks_exact(width).enumerate() {
            if broken.iter().all(|broken| broken.position != position) {
                values.extend(image.iter().map(|&pixel| f32::from(pixel)));
            }
        }
        damaged.extend(broken.into_iter().map(|broken| broken.message));
    }
    Ok((Points::from_rows(width, values), damaged))
}
