//! Readers of file formats, one file or folder each. They know no data set.

mod deflate;
pub(super) mod hdf5;
pub(super) mod idx;
pub(crate) mod npy;
pub(super) mod pictures;
pub(super) mod table;
pub(super) mod zip_archive;
