//! What every data set answers.

use super::{DataError, Extent, Files, Samples};

/// What a data set consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Images.
    Images,
    /// Vectors.
    Vectors,
}

/// A data set with its settings.
pub trait DataSet {
    /// Returns what the set consists of.
    fn content(&self) -> Content;

    /// Returns whether there must be files to read.
    fn reads_files(&self) -> bool;

    /// Opens the data set; `files` are those that it reads.
    fn open(&self, files: &Files) -> Result<Samples, DataError>;

    /// Returns how many samples of which form there are, where the settings alone tell.
    fn extent(&self) -> Option<Extent> {
        None
    }

    /// Returns whether images that can't be decoded are left out instead of ending it.
    fn skips_broken(&self) -> bool {
        false
    }

    /// Returns settings that can't hold, one line each.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }
}
