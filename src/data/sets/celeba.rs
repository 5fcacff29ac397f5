//! CelebA: 202,599 aligned faces of 218 x 178 pixels, read out of the zip archive or from files.
//!
//! Reference: Liu et al. 2015, "Deep Learning Face Attributes in the Wild". The publishers'
//! partition has 162,770 training, 19,867 validation and 19,962 test images; 40 attributes, such as
//! `Smiling`, are factors of 0 or 1 if asked for.
//! Assumptions: pictures are known by their last name (`000001.jpg`), whatever their folder.

use std::collections::BTreeMap;
use std::io::Read;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::published::Published;
use crate::data::formats::pictures::{
    ColorMode, DecodeOptions, Framing, PictureSet, Pictures, is_picture,
};
use crate::data::{
    Annotations, Catalog, Content, DataError, DataFile, DataSet, Extent, Factors, Files,
    ImageShape, SampleForm, Samples, Split,
};

const IMAGES: &str = "img_align_celeba.zip";
const PARTITION: &str = "list_eval_partition.txt";
const ATTRIBUTES: &str = "list_attr_celeba.txt";

/// The lists have 2.8 and 26.7 MB; nothing much larger is read into memory.
const MOST_TEXT: u64 = 128 << 20;

/// The files as they are published. The last mirror of each is the publishers' own, which often
/// refuses to serve more than a few readers a day.
pub(super) const FILES: &[Published] = &[
    Published {
        name: IMAGES,
        bytes: 1_443_490_838,
        sha256: "46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
        gzip: None,
        mirrors: &[
            "https://s3.amazonaws.com/pytorch-tutorial-assets/",
            "https://cseweb.ucsd.edu/~weijian/static/datasets/celeba/",
            "https://huggingface.co/datasets/Yuehao/celeba/resolve/main/",
            "https://drive.usercontent.google.com/download?id=0B7EVK8r0v71pZjFTYXZWM3FlRnM&\
             resourcekey=0-dYn9z10tMJOBAkviAcfdyQ&export=download&confirm=t",
        ],
    },
    Published {
        name: PARTITION,
        bytes: 2_836_386,
        sha256: "fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7",
        gzip: None,
        mirrors: &[
            "https://huggingface.co/datasets/Yuehao/celeba/resolve/main/",
            "https://huggingface.co/datasets/noname110/celeba/resolve/main/",
            "https://raw.githubusercontent.com/KaiserW/bald-recognition/master/dataset/celeba/",
            "https://drive.usercontent.google.com/download?id=0B7EVK8r0v71pY0NSMzRuSXJEVkk&\
             export=download&confirm=t",
        ],
    },
    Published {
        name: ATTRIBUTES,
        bytes: 26_721_026,
        sha256: "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
        gzip: None,
        mirrors: &[
            "https://huggingface.co/datasets/Yuehao/celeba/resolve/main/",
            "https://raw.githubusercontent.com/KaiserW/bald-recognition/master/dataset/celeba/",
            "https://raw.githubusercontent.com/taki0112/StarGAN-Tensorflow/master/dataset/celebA/",
            "https://drive.usercontent.google.com/download?id=0B7EVK8r0v71pblRyaVFSWGxPY0U&\
             export=download&confirm=t",
        ],
    },
];

/// Settings of CelebA, for instance `CelebA(attributes: true)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CelebA {
    /// Reads the 40 attributes as factors.
    #[serde(default)]
    pub attributes: bool,
    /// Skips damaged pictures instead of failing.
    #[serde(default)]
    pub skip_broken: bool,
}

impl DataSet for CelebA {
    fn content(&self) -> Content {
        Content::Images
    }

    fn reads_files(&self) -> bool {
        true
    }

    /// Lists the pictures, and reads what is known of them.
    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        let pictures = match files.find(&[IMAGES]) {
            Ok(archive) => Pictures::in_archive(archive, is_picture)?,
            Err(missing @ DataError::Missing { .. }) => {
                let pictures = Pictures::in_files(files.iter(), is_picture);
                if pictures.names().is_empty() {
                    return Err(missing);
                }
                pictures
            }
            Err(error) => return Err(error),
        };
        let faces = Faces::of(&pictures)?;
        let partition = partition(files.find(&[PARTITION])?, &faces)?;
        let factors = if self.attributes {
            attributes(files.find(&[ATTRIBUTES])?, &faces)?
        } else {
            Factors::default()
        };
        let catalog = Catalog {
            count: partition.len(),
            annotations: Annotations { factors, classes: None },
            partition: Some(partition),
        };
        let options = DecodeOptions {
            mode: ColorMode::Rgb,
            framing: Framing::Native,
            skips_broken: self.skip_broken,
        };
        Ok(Samples::Images(Box::new(PictureSet::open(catalog, pictures, options)?)))
    }

    fn extent(&self) -> Option<Extent> {
        let face = SampleForm::Image(ImageShape { channels: 3, height: 218, width: 178 });
        Some(Extent::in_parts(face, [162_770, 19_867, 19_962]))
    }

    fn skips_broken(&self) -> bool {
        self.skip_broken
    }
}

/// The number of each picture, by its last name.
struct Faces<'a>(BTreeMap<&'a str, usize>);

impl<'a> Faces<'a> {
    fn of(pictures: &'a Pictures) -> Result<Self, DataError> {
        let mut numbers = BTreeMap::new();
        for (number, name) in pictures.names().iter().enumerate() {
            let last = name.rsplit('/').next().unwrap_or_default();
            if let Some(other) = numbers.insert(last, number) {
                let (one, two) = (pictures.shown(other), pictures.shown(number));
                return Err(DataError::Unfit(format!("`{last}` occurs twice: {one}, {two}")));
            }
        }
        Ok(Self(numbers))
    }

    /// Collects what a list says of each picture: every one must have one line.
    fn gather<T>(
        &self,
        file: DataFile<'_>,
        lines: impl Iterator<Item = Result<Line<T>, DataError>>,
    ) -> Result<Vec<T>, DataError> {
        let mut known: Vec<Option<T>> = self.0.iter().map(|_| None).collect();
        for line in lines {
            let Line { number, picture, content } = line?;
            let refuse = |reason: String| {
                Err(DataError::malformed(file.name, format!("line {number}"), reason))
            };
            let Some(&index) = self.0.get(picture.as_str()) else {
                return refuse(format!("there is no picture `{picture}`"));
            };
            if known[index].replace(content).is_some() {
                return refuse(format!("`{picture}` already has a line"));
            }
        }
        if let Some((name, _)) = self.0.iter().find(|(_, index)| known[**index].is_none()) {
            return Err(DataError::malformed(file.name, "end", format!("`{name}` has no line")));
        }
        Ok(known.into_iter().flatten().collect())
    }
}

/// What a line of a list says of a picture.
struct Line<T> {
    number: usize,
    picture: String,
    content: T,
}

/// Reads the part of each picture.
fn partition(file: DataFile<'_>, faces: &Faces<'_>) -> Result<Vec<Split>, DataError> {
    let text = read_text(file)?;
    let lines = numbered(&text).map(|(number, line)| {
        let split = match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            [picture, "0"] => Some((picture, Split::Train)),
            [picture, "1"] => Some((picture, Split::Validation)),
            [picture, "2"] => Some((picture, Split::Test)),
            _ => None,
        };
        let (picture, content) = split.ok_or_else(|| {
            unexpected(file, number, "a picture and 0, 1 or 2, such as `000001.jpg 0`", line)
        })?;
        Ok(Line { number, picture: picture.to_owned(), content })
    });
    faces.gather(file, lines)
}

/// Reads the attributes of each picture: after a count and a line of names, -1 or 1 for each.
fn attributes(file: DataFile<'_>, faces: &Faces<'_>) -> Result<Factors, DataError> {
    let text = read_text(file)?;
    let mut lines = numbered(&text);
    let (number, count) = lines.next().unwrap_or((1, ""));
    if count.trim().parse::<usize>().is_err() {
        return Err(unexpected(file, number, "the number of pictures", count));
    }
    let (_, names) = lines.next().unwrap_or((2, ""));
    let names: Vec<String> = names.split_ascii_whitespace().map(str::to_owned).collect();
    let lines = lines.map(|(number, line)| {
        let mut words = line.split_ascii_whitespace();
        let picture = words.next().unwrap_or_default().to_owned();
        let values: Option<Vec<f32>> = words
            .map(|word| match word {
                "-1" => Some(0.0),
                "1" => Some(1.0),
                _ => None,
            })
            .collect();
        let content = values.filter(|values| values.len() == names.len()).ok_or_else(|| {
            let expected = format!("a picture and {} values, each -1 or 1", names.len());
            unexpected(file, number, &expected, line)
        })?;
        Ok(Line { number, picture, content })
    });
    let values = faces.gather(file, lines)?.concat();
    Ok(Factors { names, values })
}

/// Counts lines from 1, leaving out empty ones.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

fn unexpected(file: DataFile<'_>, number: usize, expected: &str, line: &str) -> DataError {
    let shown: String = line.chars().take(40).flat_map(char::escape_debug).collect();
    let reason = format!("expected {expected}, found `{shown}`");
    DataError::malformed(file.name, format!("line {number}"), reason)
}

fn read_text(file: DataFile<'_>) -> Result<String, DataError> {
    let mut bytes = Vec::new();
    let unpacked = file.open_unpacked()?;
    unpacked.take(MOST_TEXT + 1).read_to_end(&mut bytes).map_err(DataError::file(file.name))?;
    if bytes.len() as u64 > MOST_TEXT {
        let reason = format!("expected at most {MOST_TEXT} bytes, found more");
        return Err(DataError::malformed(file.name, "end", reason));
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = format!("byte {}", error.utf8_error().valid_up_to());
        DataError::malformed(file.name, place, "expected text, found other bytes")
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::data::ImageSource;

    const FACE: &[u8] = include_bytes!("../../../tests/reference/pictures/color.jpg");
    const PROGRESSIVE: &[u8] = include_bytes!("../../../tests/reference/pictures/progressive.jpg");
    const PARTS: &[u8] = b"000001.jpg 0\r\n000002.jpg 2\r\n000003.jpg 1\r\n";
    const ABOUT: &[u8] = b"3\nBald Smiling \n000001.jpg  1 -1\n000002.jpg -1 -1\n000003.jpg 1 1\n";

    fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn three_faces() -> Vec<u8> {
        archive(&[
            ("img_align_celeba/000002.jpg", PROGRESSIVE),
            ("img_align_celeba/000001.jpg", FACE),
            ("img_align_celeba/000003.jpg", FACE),
            ("__MACOSX/img_align_celeba/._000001.jpg", b"x"),
        ])
    }

    fn open(settings: &CelebA, named: &[(&str, &[u8])]) -> Result<Opened, String> {
        let folder = tempfile::tempdir().unwrap();
        let mut places = BTreeMap::new();
        for (number, (name, bytes)) in named.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, bytes).unwrap();
            places.insert((*name).to_owned(), path);
        }
        match settings.open(&Files::new(places)) {
            Ok(Samples::Images(images)) => Ok(Opened { images, _folder: folder }),
            Ok(Samples::Vectors(..)) => panic!("faces are images"),
            Err(error) => Err(error.to_string()),
        }
    }

    struct Opened {
        images: Box<dyn ImageSource>,
        _folder: tempfile::TempDir,
    }

    #[test]
    fn the_archive_gives_pictures_parts_and_attributes() {
        let zip = three_faces();
        let files: [(&str, &[u8]); 3] = [(IMAGES, &zip), (PARTITION, PARTS), (ATTRIBUTES, ABOUT)];
        let mut faces = open(&CelebA { attributes: true, skip_broken: false }, &files).unwrap();
        let catalog = faces.images.catalog();
        assert_eq!(
            catalog.partition.clone().unwrap(),
            [Split::Train, Split::Test, Split::Validation]
        );
        assert_eq!(catalog.annotations.factors.names, ["Bald", "Smiling"]);
        assert_eq!(catalog.annotations.factors.values, [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
        let shape = ImageShape { channels: 3, height: 37, width: 29 };
        assert_eq!(faces.images.shape(), shape);
        let mut pixels = vec![0; 2 * shape.pixels()];
        assert_eq!(faces.images.read(&[0, 2], &mut pixels).unwrap(), []);
        let (one, three) = pixels.split_at(shape.pixels());
        assert!(one == three && one.iter().any(|&pixel| pixel > 0));
    }

    #[test]
    fn unpacked_files_give_what_the_archive_gives() {
        let files: [(&str, &[u8]); 4] = [
            ("img_align_celeba/000001.jpg", FACE),
            ("img_align_celeba/000002.jpg", PROGRESSIVE),
            ("img_align_celeba/000003.jpg", FACE),
            (PARTITION, PARTS),
        ];
        let zip = three_faces();
        let packed: [(&str, &[u8]); 2] = [(IMAGES, &zip), (PARTITION, PARTS)];
        let read = |files: &[(&str, &[u8])]| {
            let mut faces = open(&CelebA::default(), files).unwrap();
            let mut pixels = vec![0; 3 * faces.images.shape().pixels()];
            assert_eq!(faces.images.read(&[0, 1, 2], &mut pixels).unwrap(), []);
            pixels
        };
        assert_eq!(read(&files), read(&packed));
    }

    #[test]
    fn a_damaged_picture_in_the_middle_is_named_and_the_others_are_read() {
        let damaged = &FACE[..FACE.len() / 2];
        let zip =
            archive(&[("a/000001.jpg", FACE), ("a/000002.jpg", damaged), ("a/000003.jpg", FACE)]);
        let files: [(&str, &[u8]); 2] = [(IMAGES, &zip), (PARTITION, PARTS)];
        let mut faces = open(&CelebA::default(), &files).unwrap();
        let size = faces.images.shape().pixels();
        let mut pixels = vec![3; 3 * size];
        let broken = faces.images.read(&[0, 1, 2], &mut pixels).unwrap();
        assert_eq!(broken.len(), 1);
        assert_eq!(broken[0].position, 1);
        let told = &broken[0].message;
        assert!(told.starts_with("img_align_celeba.zip/a/000002.jpg: byte "), "{told}");
        assert!(pixels[size..2 * size].iter().all(|&pixel| pixel == 3), "left as it was");
        assert!(pixels[2 * size..] == pixels[..size]);
    }

    #[test]
    fn lists_that_do_not_fit_the_pictures_are_refused_with_the_line() {
        let zip = three_faces();
        let told = |parts: &str| {
            let files: [(&str, &[u8]); 2] = [(IMAGES, &zip), (PARTITION, parts.as_bytes())];
            open(&CelebA::default(), &files).err().unwrap()
        };
        let list = |reason: &str| format!("{PARTITION}: {reason}");
        assert_eq!(
            told("000001.jpg 0\n\n000002.jpg 3\n"),
            list(
                "line 3: expected a picture and 0, 1 or 2, such as `000001.jpg 0`, \
                 found `000002.jpg 3`"
            )
        );
        assert_eq!(told("000009.jpg 0\n"), list("line 1: there is no picture `000009.jpg`"));
        assert_eq!(
            told("000001.jpg 0\n000001.jpg 1\n"),
            list("line 2: `000001.jpg` already has a line")
        );
        assert_eq!(told("000001.jpg 0\n000003.jpg 1\n"), list("end: `000002.jpg` has no line"));
    }

    #[test]
    fn attributes_that_are_neither_minus_one_nor_one_are_refused_with_the_line() {
        let zip = three_faces();
        let told = |about: &str| {
            let files: [(&str, &[u8]); 3] =
                [(IMAGES, &zip), (PARTITION, PARTS), (ATTRIBUTES, about.as_bytes())];
            open(&CelebA { attributes: true, skip_broken: false }, &files).err().unwrap()
        };
        let values = "expected a picture and 2 values, each -1 or 1";
        assert_eq!(
            told("3\nBald Smiling\n000001.jpg 1 0\n"),
            format!("{ATTRIBUTES}: line 3: {values}, found `000001.jpg 1 0`")
        );
        assert_eq!(
            told("3\nBald Smiling\n000001.jpg 1\n"),
            format!("{ATTRIBUTES}: line 3: {values}, found `000001.jpg 1`")
        );
        assert_eq!(
            told("Bald\n"),
            format!("{ATTRIBUTES}: line 1: expected the number of pictures, found `Bald`")
        );
    }

    #[test]
    fn missing_files_are_named() {
        let zip = three_faces();
        let told = open(&CelebA::default(), &[(IMAGES, &zip)]).err().unwrap();
        assert_eq!(told, "no file `list_eval_partition.txt` found, only img_align_celeba.zip");
        let told = open(&CelebA::default(), &[(PARTITION, PARTS)]).err().unwrap();
        assert_eq!(told, "no file `img_align_celeba.zip` found, only list_eval_partition.txt");
    }
}
