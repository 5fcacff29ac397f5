//! Image sets: `images.npy` (bytes; image, channel, row, column) and what is known of them.
//!
//! The split is part of the artifact's kind, so that a stage that trains can't be given test
//! images: a pipeline that tries is refused before it runs. Images that were not split at all are
//! a kind of their own.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::annotations::{self, SampleMetadata};
use super::arrays::read_bytes;
use crate::data::formats::npy::Header;
use crate::data::{Broken, Catalog, DataError, ImageShape, ImageSink, ImageSource, Images, Split};
use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};

/// Images that a model may learn from.
#[derive(Debug)]
pub struct TrainImages(pub Images);

/// Images of any split.
#[derive(Debug)]
pub struct AnyImages(pub Images);

/// Returns the artifact kind of a split.
pub(crate) const fn images_kind(split: Option<Split>) -> ArtifactKind {
    match split {
        None => "images",
        Some(Split::Train) => "train-images",
        Some(Split::Validation) => "validation-images",
        Some(Split::Test) => "test-images",
    }
}

impl Artifact for TrainImages {
    const KINDS: &'static [ArtifactKind] = &["train-images"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write(&self.0, writer)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        read(reader).map(Self)
    }
}

impl Artifact for AnyImages {
    const KINDS: &'static [ArtifactKind] =
        &["images", "train-images", "validation-images", "test-images"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        write(&self.0, writer)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        read(reader).map(Self)
    }
}

pub(super) fn write(images: &Images, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
    let mut file = ImageFile::new(writer)?;
    let malformed = |error: DataError| ArtifactError::malformed(PIXELS, error);
    file.begin(images.shape(), images.len()).map_err(malformed)?;
    file.push(images.pixels()).map_err(malformed)?;
    file.finish(writer, SampleMetadata::only(images.annotations()))
}

pub(super) fn read(reader: &ArtifactReader) -> Result<Images, ArtifactError> {
    let ([_, channels, height, width], pixels) = read_bytes::<4>(reader, PIXELS)?;
    Images::new(ImageShape { channels, height, width }, pixels, annotations::read(reader)?)
        .map_err(|error| ArtifactError::malformed(PIXELS, error))
}

/// The file that holds the pixels.
pub(super) const PIXELS: &str = "images.npy";

/// Images of an artifact that are read in blocks, so that they need not fit into memory.
pub(crate) struct StoredImages {
    file: File,
    /// Where the first image begins.
    start: u64,
    shape: ImageShape,
    catalog: Catalog,
}

impl StoredImages {
    /// Opens the images of an artifact.
    pub(crate) fn open(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let mut file = File::open(reader.path(PIXELS)?).map_err(ArtifactError::file(PIXELS))?;
        let header =
            Header::read(&mut file).map_err(|reason| ArtifactError::malformed(PIXELS, reason))?;
        let start = header.length;
        let &[count, channels, height, width] = header.shape.as_slice() else {
            return Err(ArtifactError::malformed(PIXELS, "expected 4 dimensions"));
        };
        let shape = ImageShape { channels, height, width };
        let catalog = Catalog {
            count,
            annotations: annotations::read(reader)?,
            partition: annotations::partition(reader)?,
        };
        Ok(Self { file, start, shape, catalog })
    }
}

impl ImageSource for StoredImages {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        let size = self.shape.pixels();
        let mut at = 0;
        // Neighbors are read at once.
        for run in rows.chunk_by(|one, next| one + 1 == *next) {
            let place = self.start + (run[0] * size) as u64;
            let part = &mut pixels[at..at + run.len() * size];
            self.file
                .seek(SeekFrom::Start(place))
                .and_then(|_| self.file.read_exact(part))
                .map_err(DataError::file(PIXELS))?;
            at += part.len();
        }
        Ok(Vec::new())
    }
}

/// `images.npy` while it is written block by block; the number of images is known only at the end.
/// Without a first block there is no file.
pub(crate) struct ImageFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    shape: ImageShape,
    bytes: u64,
}

impl ImageFile {
    /// Prepares for the file of an artifact.
    pub(crate) fn new(writer: &ArtifactWriter) -> Result<Self, ArtifactError> {
        let shape = ImageShape { channels: 0, height: 0, width: 0 };
        Ok(Self { path: writer.path(PIXELS)?, file: None, shape, bytes: 0 })
    }

    /// Puts the number of images into the header, and what is known of them beside them.
    pub(crate) fn finish(
        mut self,
        writer: &mut ArtifactWriter,
        known: SampleMetadata<'_>,
    ) -> Result<(), ArtifactError> {
        let header = self.header();
        if let Some(file) = &mut self.file {
            file.rewind()
                .and_then(|()| file.write_all(&header))
                .and_then(|()| file.flush())
                .map_err(ArtifactError::file(PIXELS))?;
        }
        known.write(writer, self.count())
    }

    fn count(&self) -> usize {
        (self.bytes / (self.shape.pixels() as u64).max(1)) as usize
    }

    /// Returns an npy header whose length does not depend on the number of images.
    fn header(&self) -> Vec<u8> {
        const LENGTH: usize = 128;
        let ImageShape { channels, height, width } = self.shape;
        let count = self.count();
        let shape = format!("({count}, {channels}, {height}, {width})");
        let dict = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}");
        Header::encode(&dict, LENGTH)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(bytes).map_err(DataError::file(PIXELS))
    }
}

impl ImageSink for ImageFile {
    fn begin(&mut self, shape: ImageShape, _most: usize) -> Result<(), DataError> {
        self.shape = shape;
        let file = File::create(&self.path).map_err(DataError::file(PIXELS))?;
        self.file = Some(BufWriter::new(file));
        let header = self.header();
        self.put(&header)
    }

    fn push(&mut self, pixels: &[u8]) -> Result<(), DataError> {
        self.bytes += pixels.len() as u64;
        self.put(pixels)
    }

    fn reorder(&mut self, places: &[usize]) -> Result<(), DataError> {
        let failed = || DataError::file(PIXELS);
        if let Some(mut file) = self.file.take() {
            file.flush().map_err(failed())?;
        }
        let unordered = self.path.with_extension("unordered");
        fs::rename(&self.path, &unordered).map_err(failed())?;
        let mut source = File::open(&unordered).map_err(failed())?;
        let start = self.header().len() as u64;
        self.bytes = 0;
        self.begin(self.shape, places.len())?;
        let mut image = vec![0; self.shape.pixels()];
        for &place in places {
            let at = start + (place * image.len()) as u64;
            source.seek(SeekFrom::Start(at)).map_err(failed())?;
            source.read_exact(&mut image).map_err(failed())?;
            self.push(&image)?;
        }
        fs::remove_file(&unordered).map_err(failed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, Classes, Factors};

    #[test]
    fn written_images_can_be_put_into_another_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArtifactWriter::new(folder.path().to_owned());
        let mut file = ImageFile::new(&writer).unwrap();
        let shape = ImageShape { channels: 1, height: 1, width: 2 };
        file.begin(shape, 3).unwrap();
        file.push(&[1, 2, 3, 4, 5, 6]).unwrap();
        file.reorder(&[2, 0, 1]).unwrap();
        let known = Annotations::default();
        file.finish(&mut writer, SampleMetadata::only(&known)).unwrap();
        let reader = writer.reader(&["images.npy", "factors.npy", "about.json"]).unwrap();
        assert_eq!(AnyImages::read(&reader).unwrap().0.pixels(), [5, 6, 1, 2, 3, 4]);
        let stays = |name: &str| folder.path().join(name).exists();
        assert!(stays("images.npy") && !stays("images.unordered"));
    }

    #[test]
    fn images_written_block_by_block_come_back_with_all_that_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArtifactWriter::new(folder.path().to_owned());
        let shape = ImageShape { channels: 1, height: 1, width: 2 };
        let known = Annotations {
            factors: Factors { names: vec!["x".into()], values: vec![0.5, 0.25, 0.75] },
            classes: Some(Classes { names: vec!["a".into(), "b".into()], values: vec![1, 0, 1] }),
        };
        let mut file = ImageFile::new(&writer).unwrap();
        file.begin(shape, 3).unwrap();
        file.push(&[1, 2, 3, 4]).unwrap();
        file.push(&[5, 6]).unwrap();
        let parts = [Split::Test, Split::Train, Split::Train];
        let all = SampleMetadata { partition: Some(&parts), ..SampleMetadata::only(&known) };
        file.finish(&mut writer, all).unwrap();
        let names = ["images.npy", "factors.npy", "classes.npy", "parts.npy", "about.json"];
        let reader = writer.reader(&names).unwrap();
        let mut stored = StoredImages::open(&reader).unwrap();
        assert_eq!(stored.catalog().partition.as_deref(), Some(&parts[..]));
        let mut pixels = [0; 4];
        stored.read(&[0, 2], &mut pixels).unwrap();
        assert_eq!(pixels, [1, 2, 5, 6]);
        let images = AnyImages::read(&reader).unwrap().0;
        assert_eq!(images, Images::new(shape, vec![1, 2, 3, 4, 5, 6], known).unwrap());
    }
}
