//! The readers under test, and a way to give them bytes as files.

#![allow(dead_code, unused_imports, reason = "only part of each module is reached from here")]

use std::collections::BTreeMap;
use std::path::PathBuf;

#[path = "../../src/numerics/mod.rs"]
pub mod numerics;

/// The part of the data module that reads files.
pub mod data {
    #[path = "../../../src/data/annotations.rs"]
    mod annotations;
    #[path = "../../../src/data/archive.rs"]
    mod archive;
    #[path = "../../../src/data/arrays/mod.rs"]
    pub mod arrays;
    #[path = "../../../src/data/error.rs"]
    mod error;
    #[path = "../../../src/data/files.rs"]
    mod files;
    #[path = "../../../src/data/folder.rs"]
    pub mod folder;
    #[path = "../../../src/data/idx.rs"]
    mod idx;
    #[path = "../../../src/data/images.rs"]
    mod images;
    #[path = "../../../src/data/mnist.rs"]
    pub mod mnist;
    #[path = "../../../src/data/npy/mod.rs"]
    mod npy;
    #[path = "../../../src/data/pictures/mod.rs"]
    pub mod pictures;
    #[path = "../../../src/data/published.rs"]
    mod published;
    #[path = "../../../src/data/resize.rs"]
    mod resize;
    #[path = "../../../src/data/source.rs"]
    mod source;
    #[path = "../../../src/data/vectors.rs"]
    mod vectors;

    pub use annotations::{Annotations, Classes, Factors, Split};
    pub use error::DataError;
    pub use files::{DataFile, Files};
    pub use images::{ImageShape, Images};
    pub use source::{Broken, Catalog, ImageSource, Samples};
    pub use vectors::Vectors;
}

use data::{DataError, Files, Samples};

/// Lays bytes out as files of these names.
pub fn laid_out(files: &[(&str, &[u8])]) -> Files {
    let folder = std::env::temp_dir().join(format!("pcae-run-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    let place = |(name, bytes): &(&str, &[u8])| {
        let path: PathBuf = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        ((*name).to_owned(), path)
    };
    Files::new(files.iter().map(place).collect::<BTreeMap<_, _>>())
}

/// Reads all that a source offers; an error is fine, anything worse is not.
pub fn read_all(samples: Result<Samples, DataError>) {
    const MOST_BYTES: usize = 1 << 24;
    let Ok(Samples::Images(mut source)) = samples else {
        return;
    };
    let (size, count) = (source.shape().pixels(), source.catalog().count);
    let block = source.block().max(1).min(MOST_BYTES / size.max(1));
    let rows: Vec<usize> = (0..count.min(4 * block)).collect();
    for rows in rows.chunks(block.max(1)) {
        let mut pixels = vec![0; rows.len() * size];
        if source.read(rows, &mut pixels).is_err() {
            return;
        }
    }
}
