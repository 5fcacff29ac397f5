//! Image sets: `images.npy` (bytes; image, channel, row, column) and what is known of them.
//!
//! The split is part of the artifact's kind, so that a stage that trains can't be given test
//! images: a pipeline that tries is refused before it runs. Images that were not split at all are
//! a kind of their own.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::PathBuf;

use super::annotations;
use super::arrays::read_bytes;
use crate::data::{Annotations, DataError, ImageShape, ImageSink, Images, Split};
use crate::engine::artifact::{
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
    file.begin(images.shape()).map_err(malformed)?;
    file.push(images.pixels()).map_err(malformed)?;
    file.finish(writer, images.annotations(), &[])
}

pub(super) fn read(reader: &ArtifactReader) -> Result<Images, ArtifactError> {
    let ([_, channels, height, width], pixels) = read_bytes::<4>(reader, PIXELS)?;
    Images::new(ImageShape { channels, height, width }, pixels, annotations::read(reader)?)
        .map_err(|error| ArtifactError::malformed(PIXELS, error))
}

/// The file that holds the pixels.
pub(super) const PIXELS: &str = "images.npy";

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
        known: &Annotations,
        skipped: &[String],
    ) -> Result<(), ArtifactError> {
        let header = self.header();
        if let Some(file) = &mut self.file {
            file.rewind()
                .and_then(|()| file.write_all(&header))
                .and_then(|()| file.flush())
                .map_err(ArtifactError::file(PIXELS))?;
        }
        annotations::write(writer, known, self.count(), &[], skipped)
    }

    fn count(&self) -> usize {
        (self.bytes / (self.shape.pixels() as u64).max(1)) as usize
    }

    /// Returns an npy header whose length does not depend on the number of images.
    fn header(&self) -> Vec<u8> {
        const LENGTH: usize = 128;
        let ImageShape { channels, height, width } = self.shape;
        let count = self.count();
        let mut header = b"\x93NUMPY\x01\x00".to_vec();
        header.extend(((LENGTH - header.len() - 2) as u16).to_le_bytes());
        let shape = format!("({count}, {channels}, {height}, {width})");
        let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}");
        header.extend(text.as_bytes());
        header.resize(LENGTH - 1, b' ');
        header.push(b'\n');
        header
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(bytes).map_err(DataError::file(PIXELS))
    }
}

impl ImageSink for ImageFile {
    fn begin(&mut self, shape: ImageShape) -> Result<(), DataError> {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, Factors};

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
        file.begin(shape).unwrap();
        file.push(&[1, 2, 3, 4]).unwrap();
        file.push(&[5, 6]).unwrap();
        file.finish(&mut writer, &known, &[]).unwrap();
        let names = ["images.npy", "factors.npy", "classes.npy", "about.json"];
        let images = AnyImages::read(&writer.reader(&names).unwrap()).unwrap().0;
        assert_eq!(images, Images::new(shape, vec![1, 2, 3, 4, 5, 6], known).unwrap());
    }
}
