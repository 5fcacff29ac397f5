//! Sets of pinned files by name, and how a publisher's table becomes pins.

use serde::{Deserialize, Serialize, Serializer};

use super::published::Published;
use super::{celeba, dsprites, mnist, shapes3d};
use crate::download::{FileName, Gzip, PinnedFile, Sha256Digest};

/// TensorFlow's network of 2015-12-05 as pytorch-fid has converted it. It belongs to no data set, so
/// it stands here.
const FID_INCEPTION_FILES: &[Published] = &[Published {
    name: "pt_inception-2015-12-05-6726825d.pth",
    bytes: 95_628_359,
    sha256: "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2",
    gzip: None,
    mirrors: &[
        "https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/",
        "https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/weights-inception-2015-12-05-6726825d.pth",
    ],
}];

/// The files of a data set, or your own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum FileSet {
    /// Aligned faces and their official parts.
    CelebA,
    /// The HDF5 file of dSprites.
    Dsprites,
    /// Four files of Fashion-MNIST.
    FashionMnist,
    /// The weights of the Inception network that FID is defined by.
    FidInception,
    /// Four files of MNIST.
    Mnist,
    /// Your own.
    Pinned(Vec<PinnedFile>),
    /// The HDF5 file of 3DShapes.
    Shapes3d,
}

impl FileSet {
    /// Returns the files with their hashes and mirrors.
    pub fn files(&self) -> Vec<PinnedFile> {
        let published = match self {
            Self::CelebA => celeba::FILES,
            Self::Dsprites => dsprites::FILES,
            Self::FashionMnist => &mnist::FASHION_MNIST_FILES,
            Self::FidInception => FID_INCEPTION_FILES,
            Self::Mnist => &mnist::MNIST_FILES,
            Self::Shapes3d => shapes3d::FILES,
            Self::Pinned(files) => return files.clone(),
        };
        published.iter().filter_map(pinned).collect()
    }
}

// What counts is which bytes, not under which name a set is known.
impl Serialize for FileSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.files().serialize(serializer)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_file_can_be_asked_for() {
        let sets = [
            (FileSet::CelebA, celeba::FILES),
            (FileSet::Dsprites, dsprites::FILES),
            (FileSet::FashionMnist, &mnist::FASHION_MNIST_FILES[..]),
            (FileSet::FidInception, FID_INCEPTION_FILES),
            (FileSet::Mnist, &mnist::MNIST_FILES),
            (FileSet::Shapes3d, shapes3d::FILES),
        ];
        for (set, table) in sets {
            let files = set.files();
            assert_eq!(files.len(), table.len(), "{set:?}");
            for file in files {
                assert!(!file.mirrors.is_empty(), "{}", file.name);
                assert_eq!(file.problems(), [""; 0], "{}", file.name);
            }
        }
    }
}
