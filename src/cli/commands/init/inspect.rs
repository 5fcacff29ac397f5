//! What the data are: kind, count, shape, range, and what to know before a run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::columns::Columns;
use super::statistics::SampleStatistics;
use super::{array, images, table};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::data::{
    Annotations, DataError, DatasetSpec, Files, ImageSource, Missing, Mnist, SampleForm, Samples,
};
use crate::engine::digest::files_in;
use crate::engine::system::regular_file;
use crate::numerics::{Points, Seed};

/// Fewer samples than this say nothing about a dimension.
const FEWEST: usize = 40;
/// Statistics are taken of at most this many values of images.
pub(super) const MOST_VALUES: usize = 1 << 24;
/// Statistics are taken of at most this many images.
pub(super) const MOST_IMAGES: usize = 1000;

/// What can be read.
const SUPPORTED: &str = "supported: .npy and .npz (vectors n x d, images n x h x w [x c]), .csv, \
                         .tsv and .parquet (one row per sample), a folder or .zip of images (png, \
                         jpg, pgm, ppm), a folder with the four files of MNIST";

/// Says why no pipeline can be written for some data.
#[derive(Debug, Error)]
pub(super) enum InspectError {
    /// Nothing is there.
    #[error("there is no file or folder `{}`", .0.display())]
    Absent(PathBuf),
    /// Something is there that can't be read.
    #[error("`{}`: {reason}", .path.display())]
    Unsupported {
        /// The file or folder.
        path: PathBuf,
        /// Why it is none of what can be read.
        reason: String,
    },
    /// The data are damaged or not what their name says.
    #[error("{cause}")]
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
    /// There are too few samples.
    #[error("{}: estimating a dimension needs at least {FEWEST}{}", terminal::count(*.count, "sample"), because(.notes))]
    TooFew {
        /// How many there are.
        count: usize,
        /// What may have become of others.
        notes: Vec<String>,
    },
    /// There is only one number for each sample.
    #[error("only {0} is left to estimate from: a dimension needs at least two values per sample")]
    Narrow(String),
    /// The samples do not differ.
    #[error("all {0} inspected samples are equal: there is nothing to estimate")]
    Equal(usize),
}

/// Adds what may explain an error.
fn because(notes: &[String]) -> String {
    notes.iter().flat_map(|note| ["; ", note]).collect()
}

impl From<InspectError> for CommandError {
    fn from(error: InspectError) -> Self {
        let is_about_format =
            matches!(error, InspectError::Unsupported { .. } | InspectError::Data { .. });
        let error = Self::usage(error);
        if is_about_format { error.hint(SUPPORTED) } else { error }
    }
}

/// What the data are.
#[derive(Debug)]
pub(super) struct Inspection {
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
    /// The classes, each with its number of samples.
    pub(super) class_sizes: Vec<(String, usize)>,
    /// Number of inspected images that can't be decoded.
    pub(super) damaged: usize,
    /// Duplicates, scale and so on; of images, on the scale from 0 to 255.
    pub(super) statistics: SampleStatistics,
    /// The smallest and the largest value, as they are in the data.
    pub(super) range: (f64, f64),
    /// What to know before a run.
    pub(super) notes: Vec<String>,
    /// The columns of a table.
    pub(super) columns: Option<Columns>,
    /// Whether each sample is an image or the like, taken as a vector: its values have one unit.
    pub(super) is_flattened: bool,
}

impl Inspection {
    /// Inspects opened samples.
    pub(super) fn of(
        kind: &str,
        source: DatasetSpec,
        samples: Samples,
    ) -> Result<Self, InspectError> {
        let sizes = |annotations: &Annotations| -> Vec<(String, usize)> {
            let classes = annotations.classes.iter();
            classes
                .flat_map(|classes| classes.names.iter().cloned().zip(classes.counts()))
                .collect()
        };
        let mut notes = Vec::new();
        let (form, count, class_sizes, statistics, damages) = match samples {
            Samples::Images(mut images) => {
                let (points, damages) = sample_of(images.as_mut())?;
                let count = images.catalog().count;
                let sizes = sizes(&images.catalog().annotations);
                (
                    SampleForm::Image(images.shape()),
                    count,
                    sizes,
                    SampleStatistics::of(&points),
                    damages,
                )
            }
            Samples::Vectors(vectors, _) => {
                let points = vectors.points();
                let form = SampleForm::Vector { width: points.width() };
                let sizes = sizes(vectors.annotations());
                notes.extend_from_slice(vectors.notes());
                (form, points.rows(), sizes, SampleStatistics::of(points), Vec::new())
            }
        };
        let damaged = damages.len();
        let note = |first| match damaged {
            1 => format!("1 image is damaged and ignored: {first}"),
            _ => format!("{damaged} images are damaged and ignored, such as {first}"),
        };
        notes.extend(damages.into_iter().next().map(note));
        Ok(Self {
            kind: kind.to_owned(),
            source,
            form,
            count,
            classes: class_sizes.len(),
            class_sizes,
            damaged,
            range: (statistics.low, statistics.high),
            statistics,
            notes,
            columns: None,
            is_flattened: false,
        })
    }

    /// Adds notes on the statistics, or says that there is too little.
    fn checked(mut self) -> Result<Self, InspectError> {
        if self.count < FEWEST {
            return Err(InspectError::TooFew { count: self.count, notes: self.notes });
        }
        let width = self.form.values();
        if width == 1 {
            return Err(InspectError::Narrow(match &self.columns {
                Some(columns) => columns.only(),
                None => "one value per sample".to_owned(),
            }));
        }
        if self.statistics.constant == width {
            return Err(InspectError::Equal(self.statistics.samples));
        }
        let SampleStatistics { constant, duplicates, samples, .. } = self.statistics;
        if constant > 0 {
            self.notes.push(format!("{constant} of {width} coordinates never vary"));
        }
        if duplicates > 0 {
            let copies = terminal::count(duplicates, "duplicate");
            self.notes.push(format!("{copies} among {samples} samples; estimators skip them"));
        }
        if self.count < 500 {
            let count = self.count;
            self.notes
                .push(format!("only {count} samples: estimates above about 5 will be too low"));
        } else if width > self.count && matches!(self.form, SampleForm::Vector { .. }) {
            let count = self.count;
            self.notes.push(format!("more coordinates ({width}) than samples ({count})"));
        }
        Ok(self)
    }
}

/// Inspects a file or a folder.
pub(super) fn inspect(path: &Path, missing: Missing) -> Result<Inspection, InspectError> {
    let unsupported = |reason: &str| InspectError::Unsupported {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    if !path.exists() {
        return Err(InspectError::Absent(path.to_owned()));
    }
    if let Some(kind) = regular_file::other_kind(path) {
        return Err(unsupported(&format!("it is {kind}, not a regular file or a folder")));
    }
    let files = files_of(path)?;
    let inspection = if path.is_dir() {
        let is_idx = |name: &str| name.contains("-images") && name.contains("idx3-ubyte");
        if files.iter().next().is_none() {
            return Err(unsupported("the folder is empty"));
        }
        if files.iter().any(|file| is_idx(file.name)) {
            let source = DatasetSpec::Mnist(Mnist { seed: Seed(0) });
            let samples = source.open(&files)?;
            Inspection::of("MNIST files (idx)", source, samples)
        } else {
            images::inspect("folder of images", &files)
        }
    } else {
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "npy" | "npz" => array::inspect(&files),
            "csv" | "tsv" | "txt" => table::inspect("CSV table", path, &files, missing),
            "parquet" | "pq" => table::inspect("Parquet table", path, &files, missing),
            "zip" => images::inspect("archive of images", &files),
            "h5" | "hdf5" => Err(unsupported(
                "HDF5 is supported only for the published dSprites and Shapes3D: save the array as .npy",
            )),
            "png" | "jpg" | "jpeg" | "pgm" | "ppm" | "pnm" => {
                Err(unsupported("this is a single image: pass the folder of all images"))
            }
            "" => Err(unsupported("the file has no extension")),
            other => Err(unsupported(&format!(".{other} files are not supported"))),
        }
    }?;
    inspection.checked()
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

/// Reads some images, evenly spread over all, as points of values from 0 to 255; also returns what
/// is wrong with those that are damaged.
fn sample_of(images: &mut dyn ImageSource) -> Result<(Points, Vec<String>), DataError> {
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
