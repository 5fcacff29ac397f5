//! MNIST: 60,000 training and 10,000 test images of handwritten digits, of 28 x 28 pixels.
//!
//! The official training images are the training part; the official test images are shuffled and
//! cut in half, for validation and test. The 55 MB of pixels are held in memory.
//! Reference: LeCun et al. 1998. Fashion-MNIST has the same files and is read by the same code.
//! Checked against: the published numbers of images of each class, on the real files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::published::Published;
use crate::data::formats::idx;
use crate::data::{
    Annotations, Broken, Catalog, Classes, Content, DataError, DataSet, Extent, Factors, Files,
    ImageShape, ImageSource, SampleForm, Samples, Split,
};
use crate::numerics::Seed;
use crate::numerics::rng::permutation;

/// The classes of MNIST.
const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

const SHAPE: ImageShape = ImageShape { channels: 1, height: 28, width: 28 };

/// Settings of MNIST, for instance `Mnist()`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mnist {
    /// Decides which half of the official test images is used for validation.
    #[serde(default = "zero")]
    pub seed: Seed,
}

pub(super) const fn zero() -> Seed {
    Seed(0)
}

impl DataSet for Mnist {
    fn content(&self) -> Content {
        Content::Images
    }

    fn reads_files(&self) -> bool {
        true
    }

    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        open(files, self.seed, DIGITS)
    }

    fn extent(&self) -> Option<Extent> {
        Some(extent())
    }
}

/// Returns how many images there are of each class and part.
pub(super) fn extent() -> Extent {
    let form = SampleForm::Image(SHAPE);
    Extent::in_parts(form, [60_000, 5_000, 5_000]).with_levels(&[("class", 10)])
}

/// Opens the four idx files, whose classes go by `names`.
pub(super) fn open(files: &Files, seed: Seed, names: [&str; 10]) -> Result<Samples, DataError> {
    let mut train = Part::read(files, "train")?;
    let test = Part::read(files, "t10k")?;
    let mut partition = vec![Split::Train; train.labels.len()];
    partition.extend(halves(test.labels.len(), seed));
    train.pixels.extend(test.pixels);
    train.labels.extend(test.labels);
    let classes = Classes {
        names: names.map(str::to_owned).to_vec(),
        values: train.labels.into_iter().map(u16::from).collect(),
    };
    let catalog = Catalog {
        count: partition.len(),
        annotations: Annotations { factors: Factors::default(), classes: Some(classes) },
        partition: Some(partition),
    };
    Ok(Samples::Images(Box::new(ImagesInMemory { catalog, pixels: train.pixels })))
}

/// Shares the official test images out between validation and test.
fn halves(count: usize, seed: Seed) -> Vec<Split> {
    let mut splits = vec![Split::Test; count];
    let order = permutation(count, &mut seed.stream("mnist/test"));
    for &index in &order[..count / 2] {
        splits[index] = Split::Validation;
    }
    splits
}

/// The images and labels of two files that belong together.
struct Part {
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Part {
    /// Reads `train` or `t10k`, in either of the two spellings that circulate.
    fn read(files: &Files, part: &str) -> Result<Self, DataError> {
        let find = |kind: &str, dimensions: u8| {
            let spell = |mark: char| format!("{part}-{kind}{mark}idx{dimensions}-ubyte");
            files.find(&[&spell('-'), &spell('.')])
        };
        let (image_file, label_file) = (find("images", 3)?, find("labels", 1)?);
        if image_file.folder() != label_file.folder() {
            let (images, labels) = (image_file.name, label_file.name);
            let message = format!("`{images}` and `{labels}` are not in the same folder");
            return Err(DataError::Unfit(message));
        }
        let images = idx::read_images(image_file)?;
        if (images.height, images.width) != (SHAPE.height, SHAPE.width) {
            let reason = format!(
                "expected images of 28 x 28 pixels, found {} x {}",
                images.height, images.width
            );
            return Err(DataError::malformed(image_file.name, "byte 8", reason));
        }
        let labels = idx::read_labels(label_file)?;
        let count = images.pixels.len() / SHAPE.pixels();
        if labels.len() != count {
            let reason = format!(
                "expected {count} labels, one for each image in {}, found {}",
                image_file.name,
                labels.len()
            );
            return Err(DataError::malformed(label_file.name, "byte 4", reason));
        }
        if let Some(index) = labels.iter().position(|&label| label > 9) {
            let reason = format!("expected a class from 0 to 9, found {}", labels[index]);
            return Err(DataError::malformed(label_file.name, format!("label {index}"), reason));
        }
        Ok(Self { pixels: images.pixels, labels })
    }
}

/// All images, in memory.
struct ImagesInMemory {
    catalog: Catalog,
    pixels: Vec<u8>,
}

impl ImageSource for ImagesInMemory {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        SHAPE
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        let size = SHAPE.pixels();
        for (image, &row) in pixels.chunks_exact_mut(size).zip(rows) {
            image.copy_from_slice(&self.pixels[row * size..(row + 1) * size]);
        }
        Ok(Vec::new())
    }
}

/// The files of MNIST.
pub(super) const FILES: &[Published] = &files(
    [
        (
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        (
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        (
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        (
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ],
    &MIRRORS,
);

/// The names of the four files, and their sizes in bytes.
const NAMES: [(&str, u64); 4] = [
    ("train-images-idx3-ubyte", 47_040_016),
    ("train-labels-idx1-ubyte", 60_008),
    ("t10k-images-idx3-ubyte", 7_840_016),
    ("t10k-labels-idx1-ubyte", 10_008),
];

/// SHA-256 hash of a file; size and SHA-256 hash of it gzipped.
type Hashes = (&'static str, u64, &'static str);

/// Returns the table of the four files, given the hashes of each.
pub(super) const fn files(hashes: [Hashes; 4], mirrors: &'static [&'static str]) -> [Published; 4] {
    let [train_images, train_labels, test_images, test_labels] = hashes;
    [
        published(NAMES[0], train_images, mirrors),
        published(NAMES[1], train_labels, mirrors),
        published(NAMES[2], test_images, mirrors),
        published(NAMES[3], test_labels, mirrors),
    ]
}

const fn published(
    (name, bytes): (&'static str, u64),
    (sha256, gzip_bytes, gzip_sha256): Hashes,
    mirrors: &'static [&'static str],
) -> Published {
    Published { name, bytes, sha256, gzip: Some((gzip_bytes, Some(gzip_sha256))), mirrors }
}

const MIRRORS: [&str; 3] = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::data::sets::fashion_mnist;

    /// Image number `i` is filled with the byte `i`.
    fn images(numbers: std::ops::Range<u8>) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, 3, 0, 0, 0, numbers.len() as u8, 0, 0, 0, 28, 0, 0, 0, 28];
        bytes.extend(numbers.flat_map(|number| [number; 784]));
        bytes
    }

    fn labels(labels: &[u8]) -> Vec<u8> {
        [&[0, 0, 8, 1, 0, 0, 0, labels.len() as u8], labels].concat()
    }

    /// Three training images, six test images.
    fn small() -> [Vec<u8>; 4] {
        [images(0..3), labels(&[5, 0, 4]), images(3..9), labels(&[7, 2, 1, 0, 4, 9])]
    }

    fn open(names: [&str; 4], contents: &[Vec<u8>; 4], seed: u64) -> Result<Samples, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for (name, content) in names.iter().zip(contents) {
            fs::write(place(name), content).unwrap();
        }
        let files: BTreeMap<_, _> =
            names.iter().map(|name| ((*name).to_owned(), place(name))).collect();
        Mnist { seed: Seed(seed) }.open(&Files::new(files))
    }

    fn source(samples: Samples) -> Box<dyn ImageSource> {
        match samples {
            Samples::Images(source) => source,
            Samples::Vectors(..) => panic!("vectors"),
        }
    }

    fn refusal(contents: &[Vec<u8>; 4]) -> String {
        open(NAMES.map(|(name, _)| name), contents, 0).err().unwrap().to_string()
    }

    #[test]
    fn training_images_come_first_and_every_image_keeps_its_class() {
        let mut source = source(open(NAMES.map(|(name, _)| name), &small(), 0).unwrap());
        let classes = source.catalog().annotations.classes.clone().unwrap();
        assert_eq!(classes.values, [5, 0, 4, 7, 2, 1, 0, 4, 9]);
        assert_eq!(classes.names[9], "9");
        let mut pixels = vec![0; 2 * 784];
        assert_eq!(source.read(&[1, 8], &mut pixels).unwrap(), []);
        assert!(pixels[..784].iter().all(|&pixel| pixel == 1));
        assert!(pixels[784..].iter().all(|&pixel| pixel == 8));
    }

    #[test]
    fn the_test_images_are_halved_into_validation_and_test_as_the_seed_says() {
        let partition = |seed| {
            source(open(NAMES.map(|(name, _)| name), &small(), seed).unwrap())
                .catalog()
                .partition
                .clone()
                .unwrap()
        };
        let count = |split| partition(0).iter().filter(|&&part| part == split).count();
        assert_eq!(Split::ALL.map(count), [3, 3, 3]);
        assert_eq!(partition(0)[..3], [Split::Train; 3]);
        assert_eq!(partition(1), partition(1));
        assert!((1..9).any(|seed| partition(seed) != partition(0)));
    }

    #[test]
    fn the_other_spelling_of_the_names_will_do() {
        let names = [
            "train-images.idx3-ubyte",
            "train-labels.idx1-ubyte",
            "t10k-images.idx3-ubyte",
            "t10k-labels.idx1-ubyte",
        ];
        assert_eq!(source(open(names, &small(), 0).unwrap()).catalog().count, 9);
        let wrong = ["a", "b", "c", "d"];
        assert_eq!(
            open(wrong, &small(), 0).err().unwrap().to_string(),
            "no file `train-images-idx3-ubyte` or `train-images.idx3-ubyte` found, only a, b, c, d"
        );
    }

    #[test]
    fn labels_that_do_not_fit_are_refused_with_their_place() {
        let mut contents = small();
        contents[1] = labels(&[5, 10, 4]);
        assert_eq!(
            refusal(&contents),
            "train-labels-idx1-ubyte: label 1: expected a class from 0 to 9, found 10"
        );
        contents[1] = labels(&[5, 1]);
        assert_eq!(
            refusal(&contents),
            "train-labels-idx1-ubyte: byte 4: expected 3 labels, one for each image in \
             train-images-idx3-ubyte, found 2"
        );
    }

    #[test]
    fn images_of_another_size_are_refused() {
        let mut contents = small();
        contents[2] = [&[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1][..], &[9, 9]].concat();
        assert_eq!(
            refusal(&contents),
            "t10k-images-idx3-ubyte: byte 8: expected images of 28 x 28 pixels, found 2 x 1"
        );
    }

    #[test]
    fn the_published_sizes_are_those_of_60000_and_10000_images() {
        for files in [FILES, fashion_mnist::FILES] {
            assert!(files.iter().map(|file| file.name).eq(NAMES.map(|(name, _)| name)));
            let sizes = [16 + 60_000 * 784, 8 + 60_000, 16 + 10_000 * 784, 8 + 10_000];
            assert!(files.iter().map(|file| file.bytes).eq(sizes));
            for file in files {
                let hashes = [Some(file.sha256), file.gzip.and_then(|(_, hash)| hash)];
                assert!(hashes.iter().all(|hash| hash.is_some_and(|hash| hash.len() == 64)));
            }
        }
    }
}
