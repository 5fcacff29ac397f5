//! The files that a data set is read from: by name, wherever they lie.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::DataError;

/// Named files; the name may hold slashes, as in `cats/1.png`.
#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<String, PathBuf>);

impl Files {
    /// Makes a set of files from names and places.
    pub fn new(files: BTreeMap<String, PathBuf>) -> Self {
        Self(files)
    }

    /// Returns every file, in order of names.
    pub fn iter(&self) -> impl Iterator<Item = DataFile<'_>> {
        self.0.iter().map(|(name, path)| DataFile { name, path })
    }

    /// Returns the first of `names` that is there, by its last name, plain or with `.gz`.
    pub fn find(&self, names: &[&str]) -> Result<DataFile<'_>, DataError> {
        let fits = |file: &DataFile<'_>, name: &str| {
            let last = file.name.rsplit('/').next().unwrap_or_default();
            last == name || last.strip_suffix(".gz") == Some(name)
        };
        let found = names.iter().find_map(|name| self.iter().find(|file| fits(file, name)));
        found.ok_or_else(|| DataError::Missing {
            wanted: format!("`{}`", names.join("` or `")),
            present: self.0.keys().cloned().collect(),
        })
    }

    /// Returns the only file, for sources that read exactly one.
    pub fn only(&self) -> Result<DataFile<'_>, DataError> {
        match self.iter().collect::<Vec<_>>()[..] {
            [file] => Ok(file),
            _ => Err(DataError::Unfit(format!(
                "one file is wanted here, but {} are given",
                self.0.len()
            ))),
        }
    }
}

/// One file of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFile<'a> {
    /// The name to show; the cache keeps files under other names.
    pub name: &'a str,
    /// Where it lies.
    pub path: &'a Path,
}

impl DataFile<'_> {
    /// Opens the file.
    pub fn open(&self) -> Result<File, DataError> {
        File::open(self.path).map_err(DataError::file(self.name))
    }

    /// Opens the file, unpacking it if its first bytes say that it is gzipped.
    pub fn open_unpacked(&self) -> Result<Box<dyn BufRead + Send>, DataError> {
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        let mut file = BufReader::new(self.open()?);
        let start = file.fill_buf().map_err(DataError::file(self.name))?;
        Ok(if start.starts_with(&GZIP) {
            Box::new(BufReader::new(MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        })
    }
}
