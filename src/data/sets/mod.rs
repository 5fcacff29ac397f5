//! The data sets that a pipeline can name, one file or folder each.
//!
//! To add one: a file with its settings and an implementation of [`DataSet`], its `mod` line, and
//! its line in the declaration below.

pub(super) mod array;
pub(super) mod celeba;
mod declaration;
pub(super) mod dsprites;
mod fashion_mnist;
pub(super) mod image_folder;
pub(super) mod manifold;
pub(super) mod mnist;
mod published;
pub(super) mod shapes3d;
pub(super) mod table;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use self::declaration::{data_sets, described};
use self::published::Published;
use super::download::{FileName, Gzip, PinnedFile, Sha256Digest};
use super::{BrokenPolicy, Content, DataError, DataSet, Extent, Files, Samples};

data_sets! {
    Array(array::ArrayFile), "An `.npy` or `.npz` file of images or vectors.";
    CelebA(celeba::CelebA), "Photographs of faces.", files: "The aligned faces and their official split.";
    Dsprites(dsprites::Dsprites), "Sprites of varying position, orientation and scale.", files: "The HDF5 file.";
    FashionMnist(fashion_mnist::FashionMnist), "Images of clothing.", files: "The four idx files.";
    ImageFolder(image_folder::ImageFolder), "Pictures in a folder or zip; sub-folders are classes.";
    Manifold(manifold::Manifold), "Points on a manifold of known dimension.";
    Mnist(mnist::Mnist), "Handwritten digits.", files: "The four idx files.";
    Shapes3d(shapes3d::Shapes3d), "Scenes of a shape in a colored room.", files: "The HDF5 file.";
    Table(table::TableFile), "A CSV or Parquet file of vectors.";
}

impl DatasetSpec {
    /// Opens the data set; `files` are those that it reads.
    pub fn open(&self, files: &Files) -> Result<Samples, DataError> {
        self.data_set().open(files)
    }

    /// Returns whether there must be files to read.
    pub fn reads_files(&self) -> bool {
        self.data_set().reads_files()
    }

    /// Returns what the set consists of.
    pub fn content(&self) -> Content {
        self.data_set().content()
    }

    /// Returns how many samples of which form there are, where the settings alone tell.
    pub fn extent(&self) -> Option<Extent> {
        self.data_set().extent()
    }

    /// Returns what happens to images that can't be decoded.
    pub fn broken(&self) -> BrokenPolicy {
        if self.data_set().skips_broken() { BrokenPolicy::Skip } else { BrokenPolicy::Fail }
    }

    /// Returns settings that can't hold, one line each.
    pub fn problems(&self) -> Vec<String> {
        self.data_set().problems()
    }
}

/// TensorFlow's network of 2015-12-05 as pytorch-fid has converted it. It belongs to no data set.
const FID_INCEPTION: &[Published] = &[Published {
    name: "pt_inception-2015-12-05-6726825d.pth",
    bytes: 95_628_359,
    sha256: "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
    gzip: None,
    mirrors: &[
        "https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/",
        "https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/weights-inception-2015-12-05-6726825d.pth",
    ],
}];

impl FileSet {
    /// Returns the files with their hashes and mirrors.
    pub fn files(&self) -> Vec<PinnedFile> {
        match self {
            Self::Pinned(files) => files.clone(),
            _ => self.published().iter().filter_map(pinned).collect(),
        }
    }
}

/// Returns a file as the download wants it; a test makes sure that every table is sound.
fn pinned(file: &Published) -> Option<PinnedFile> {
    let gzip = file.gzip.map(|(bytes, sha256)| Gzip {
        bytes: Some(bytes),
        sha256: sha256.and_then(Sha256Digest::from_hex),
    });
    Some(PinnedFile {
        name: FileName::new(file.name).ok()?,
        bytes: file.bytes,
        sha256: Sha256Digest::from_hex(file.sha256)?,
        gzip,
        mirrors: file.addresses(),
    })
}

// What counts is which bytes, not under which name a set is known.
impl Serialize for FileSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.files().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn every_published_file_can_be_asked_for() {
        for set in FileSet::PUBLISHED {
            let files = set.files();
            assert!(!files.is_empty() && files.len() == set.published().len(), "{set:?}");
            for file in files {
                assert!(!file.mirrors.is_empty(), "{}", file.name);
                assert_eq!(file.problems(), [""; 0], "{}", file.name);
            }
        }
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let inside = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        inside.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn every_data_set_is_declared() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/data/sets"));
        let mut count = 0;
        for source in sources(folder) {
            let text = fs::read_to_string(source).unwrap();
            for rest in text.split("\nimpl DataSet for ").skip(1) {
                let name = rest.split(' ').next().unwrap();
                assert!(DatasetSpec::SETTINGS.contains(&name), "{name} is not declared");
                count += 1;
            }
        }
        assert_eq!(count, DatasetSpec::SETTINGS.len());
    }
}
