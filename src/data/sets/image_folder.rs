//! Your own pictures: a folder of them or a zip archive, with classes from sub-folders.
//!
//! Pictures are counted in order of their names. The first folder in which their paths differ tells
//! the class; pictures that all lie in one folder have none. Hidden files, what macOS and Windows
//! leave behind, and files that are no pictures by their extension are passed over.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::formats::pictures::{
    ColorMode, DecodeOptions, EXTENSIONS, Framing, PictureSet, Pictures, extension, is_picture,
};
use crate::data::{
    Annotations, Catalog, Classes, Content, DataError, DataSet, Factors, Files, Samples,
    side_problem,
};

/// Settings of a folder of pictures, for instance `ImageFolder(size: 64)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageFolder {
    /// Whether images are read as gray or in color, whatever the files hold.
    #[serde(default)]
    pub channels: ColorMode,
    /// Crops each picture to its central square and scales it to this height and width; without it,
    /// all pictures must have the same size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<NonZeroUsize>,
    /// Skips damaged pictures instead of failing.
    #[serde(default)]
    pub skip_broken: bool,
}

impl DataSet for ImageFolder {
    fn content(&self) -> Content {
        Content::Images
    }

    fn reads_files(&self) -> bool {
        true
    }

    /// Lists the pictures in many files or in one zip archive.
    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        let pictures = match files.only() {
            Ok(file) if extension(file.name) == "zip" => Pictures::in_archive(file, is_picture)?,
            _ => Pictures::in_files(files.iter(), is_picture),
        };
        if pictures.names().is_empty() {
            return Err(DataError::Missing {
                wanted: format!("picture (.{})", EXTENSIONS.join(", .")),
                present: files.iter().map(|file| file.name.to_owned()).collect(),
            });
        }
        let annotations =
            Annotations { factors: Factors::default(), classes: classes(pictures.names())? };
        let catalog = Catalog { count: pictures.names().len(), annotations, partition: None };
        let framing = self.size.map_or(Framing::Native, |side| Framing::Square(side.get()));
        let options =
            DecodeOptions { mode: self.channels, framing, skips_broken: self.skip_broken };
        Ok(Samples::Images(Box::new(PictureSet::open(catalog, pictures, options)?)))
    }

    fn skips_broken(&self) -> bool {
        self.skip_broken
    }

    fn problems(&self) -> Vec<String> {
        self.size.and_then(side_problem).into_iter().collect()
    }
}

/// Takes classes from the first folders that differ.
fn classes(names: &[String]) -> Result<Option<Classes>, DataError> {
    let folders: Vec<Vec<&str>> = names
        .iter()
        .map(|name| {
            let mut parts: Vec<&str> = name.split('/').collect();
            parts.pop();
            parts
        })
        .collect();
    let Some(first) = folders.first() else { return Ok(None) };
    let depth = first
        .iter()
        .enumerate()
        .position(|(depth, part)| folders.iter().any(|other| other.get(depth) != Some(part)));
    let deeper = folders.iter().any(|folders| folders.len() > first.len());
    let Some(depth) = depth.or(deeper.then_some(first.len())) else { return Ok(None) };
    let mut of_pictures = Vec::with_capacity(names.len());
    for (name, folders) in names.iter().zip(&folders) {
        of_pictures.push(*folders.get(depth).ok_or_else(|| {
            DataError::Unfit(format!(
                "image `{name}` is next to class folders: put every image into the folder \
                 of its class, or use no folders at all"
            ))
        })?);
    }
    let too_many = || DataError::Unfit("there are more than 65,536 different classes".to_owned());
    Classes::numbered(&of_pictures).map(Some).ok_or_else(too_many)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::data::ImageSource;
    use crate::numerics::memory::pretended::with_available;

    /// A gray picture of one shade.
    fn flat(height: usize, width: usize, shade: u8) -> Vec<u8> {
        let mut bytes = format!("P5 {width} {height} 255 ").into_bytes();
        bytes.extend(vec![shade; height * width]);
        bytes
    }

    fn with_files<T>(named: &[(&str, Vec<u8>)], check: impl FnOnce(&Files) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let mut places = BTreeMap::new();
        for (number, (name, bytes)) in named.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, bytes).unwrap();
            places.insert((*name).to_owned(), path);
        }
        check(&Files::new(places))
    }

    fn open(settings: &ImageFolder, files: &Files) -> Result<Box<dyn ImageSource>, String> {
        match settings.open(files) {
            Ok(Samples::Images(images)) => Ok(images),
            Ok(Samples::Vectors(..)) => panic!("pictures are images"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn gray() -> ImageFolder {
        ImageFolder { channels: ColorMode::Gray, ..ImageFolder::default() }
    }

    fn cats_and_dogs() -> [(&'static str, Vec<u8>); 6] {
        [
            ("pets/dogs/1.pgm", flat(1, 2, 30)),
            ("pets/cats/2.pgm", flat(1, 2, 20)),
            ("pets/cats/1.PGM", flat(1, 2, 10)),
            ("pets/cats/Thumbs.db", b"x".to_vec()),
            ("pets/cats/.hidden.png", b"x".to_vec()),
            ("__MACOSX/pets/cats/._1.png", b"x".to_vec()),
        ]
    }

    #[test]
    fn classes_are_the_folders_and_the_order_is_that_of_names() {
        with_files(&cats_and_dogs(), |files| {
            let mut images = open(&gray(), files).unwrap();
            let classes = images.catalog().annotations.classes.clone().unwrap();
            assert_eq!(classes.names, ["cats", "dogs"]);
            assert_eq!(classes.values, [0, 0, 1]);
            let mut pixels = [0; 6];
            assert_eq!(images.read(&[0, 1, 2], &mut pixels).unwrap(), []);
            assert_eq!(pixels, [10, 10, 20, 20, 30, 30]);
        });
    }

    #[test]
    fn a_zip_archive_gives_what_its_files_give() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in cats_and_dogs() {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(&bytes).unwrap();
        }
        let packed = writer.finish().unwrap().into_inner();
        with_files(&[("pets.zip", packed)], |files| {
            let mut images = open(&gray(), files).unwrap();
            let classes = images.catalog().annotations.classes.clone().unwrap();
            assert_eq!((classes.names.len(), classes.values), (2, vec![0, 0, 1]));
            let mut pixels = [0; 4];
            assert_eq!(images.read(&[0, 2], &mut pixels).unwrap(), []);
            assert_eq!(pixels, [10, 10, 30, 30]);
        });
    }

    #[test]
    fn pictures_in_one_folder_have_no_classes_and_stray_ones_are_refused() {
        let named = |names: &[&str]| {
            classes(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(named(&["1.png", "2.png"]).unwrap(), None);
        assert_eq!(named(&["a/b/1.png", "a/b/2.png"]).unwrap(), None);
        let classes = named(&["a/b/1.png", "a/c/d/2.png"]).unwrap().unwrap();
        assert_eq!(classes.names, ["b", "c"]);
        for stray in [["1.png", "cats/1.png"], ["a/b/1.png", "a/2.png"]] {
            let error = named(&stray).unwrap_err().to_string();
            assert!(error.contains("is next to class folders"), "{error}");
        }
    }

    #[test]
    fn an_empty_folder_is_refused() {
        let error = with_files(&[("notes.txt", vec![])], |files| open(&gray(), files).err());
        assert_eq!(
            error.unwrap(),
            "no picture (.png, .jpg, .jpeg, .pgm, .ppm, .pnm) found, only notes.txt"
        );
    }

    #[test]
    fn a_picture_of_another_size_is_refused_with_both_names_and_sizes() {
        let pictures = [("1.pgm", flat(1, 2, 0)), ("2.pgm", flat(3, 4, 0))];
        with_files(&pictures, |files| {
            let error = open(&gray(), files).unwrap().read(&[0, 1], &mut [0; 4]).unwrap_err();
            assert_eq!(
                error.to_string(),
                "2.pgm: header: expected 1 x 2 pixels (height x width), as in 1.pgm, \
                 found 3 x 4: make all images the same size, or set `size`"
            );
        });
    }

    #[test]
    fn pictures_of_different_sizes_are_cut_to_the_middle_square_and_scaled() {
        let mut wide = b"P5 4 2 255 ".to_vec();
        wide.extend([0, 60, 60, 0, 0, 60, 60, 0]);
        let pictures = [("1.pgm", flat(3, 3, 40)), ("2.pgm", wide)];
        with_files(&pictures, |files| {
            let settings = ImageFolder { size: NonZeroUsize::new(2), ..gray() };
            let mut images = open(&settings, files).unwrap();
            let mut pixels = [0; 8];
            assert_eq!(images.read(&[0, 1], &mut pixels).unwrap(), []);
            assert_eq!(pixels, [40, 40, 40, 40, 60, 60, 60, 60]);
        });
    }

    #[test]
    fn a_damaged_picture_is_told_by_name_and_the_others_are_read() {
        let pictures =
            [("1.pgm", flat(1, 1, 5)), ("2.jpg", b"a text".to_vec()), ("3.pgm", flat(1, 1, 7))];
        with_files(&pictures, |files| {
            let mut pixels = [1; 3];
            let broken = open(&gray(), files).unwrap().read(&[0, 1, 2], &mut pixels).unwrap();
            assert_eq!(pixels, [5, 1, 7]);
            assert_eq!(broken.len(), 1);
            assert_eq!(broken[0].position, 1);
            assert_eq!(
                broken[0].message,
                "2.jpg: byte 0: expected a PNG, JPEG, PGM or PPM picture, found `a te`"
            );
        });
    }

    #[test]
    fn a_damaged_first_picture_fails_unless_it_may_be_skipped() {
        let pictures = [("1.png", b"a text".to_vec()), ("2.pgm", flat(1, 1, 7))];
        with_files(&pictures, |files| {
            assert!(open(&gray(), files).err().unwrap().starts_with("1.png: byte 0"));
            let skipping = ImageFolder { skip_broken: true, ..gray() };
            let mut images = open(&skipping, files).unwrap();
            let mut pixels = [0; 2];
            assert_eq!(images.read(&[0, 1], &mut pixels).unwrap()[0].position, 0);
            assert_eq!(pixels, [0, 7]);
        });
    }

    #[test]
    fn a_picture_for_which_there_is_no_memory_stops_it_and_is_never_taken_for_a_broken_one() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["1.pgm", "2.pgm"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(&flat(100, 100, 7)).unwrap();
        }
        let packed = writer.finish().unwrap().into_inner();
        let settings = ImageFolder { skip_broken: true, size: NonZeroUsize::new(8), ..gray() };
        let read = |files: &Files, available: u64| {
            // Memory is pretended for one thread only.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            pool.install(|| {
                let mut images = open(&settings, files).unwrap();
                let read = || images.read(&[0, 1], &mut [0; 128]).map_err(|e| e.to_string());
                with_available(available, read)
            })
        };
        with_files(&[("1.pgm", flat(100, 100, 7)), ("2.pgm", flat(100, 100, 9))], |files| {
            assert_eq!(read(files, 160_000), Ok(Vec::new()));
            assert_eq!(
                read(files, 159_999).unwrap_err(),
                "decoding 1.pgm would take 0.0 GB of memory, but only 0.0 GB is available: use a \
                 smaller file, or more memory"
            );
        });
        with_files(&[("two.zip", packed)], |files| {
            assert_eq!(read(files, 160_000), Ok(Vec::new()));
            let refused = read(files, 10_000).unwrap_err();
            assert!(refused.starts_with("two.zip/1.pgm would take "), "{refused}");
        });
    }

    #[test]
    fn images_do_not_depend_on_the_number_of_threads() {
        let pictures: Vec<(String, Vec<u8>)> =
            (0..60).map(|n| (format!("{n:02}.pgm"), flat(5, 4, n))).collect();
        let named: Vec<(&str, Vec<u8>)> =
            pictures.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        let read = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = ImageFolder { size: NonZeroUsize::new(3), ..gray() };
            let rows: Vec<usize> = (0..60).collect();
            with_files(&named, |files| {
                pool.install(|| {
                    let mut pixels = vec![0; 60 * 9];
                    open(&settings, files).unwrap().read(&rows, &mut pixels).unwrap();
                    pixels
                })
            })
        };
        let one = read(1);
        assert_eq!(one, read(3));
        assert_eq!(one[59 * 9], 59);
    }

    #[test]
    fn settings_are_read_as_written() {
        let settings: ImageFolder = ron::from_str("(channels: Gray, skip_broken: true)").unwrap();
        assert_eq!(settings, ImageFolder { skip_broken: true, ..gray() });
        assert_eq!(ron::from_str::<ImageFolder>("()").unwrap().channels, ColorMode::Rgb);
    }
}
