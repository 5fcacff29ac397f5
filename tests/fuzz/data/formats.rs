//! The formats that need no large library.

#[path = "../../../src/data/formats/deflate.rs"]
mod deflate;
#[path = "../../../src/data/formats/idx.rs"]
pub mod idx;
#[path = "../../../src/data/formats/npy/mod.rs"]
pub mod npy;
#[path = "../../../src/data/formats/pictures/mod.rs"]
pub mod pictures;
#[path = "../../../src/data/formats/zip_archive.rs"]
pub mod zip_archive;
