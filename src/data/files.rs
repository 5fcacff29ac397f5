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
        let is_wanted = |file: &DataFile<'_>| names.iter().any(|name| fits(file, name));
        let found: Vec<_> = self.iter().filter(is_wanted).collect();
        if let [first, rest @ ..] = &found[..] {
            // Raw beside packed is one file; in two folders there are two data sets.
            let Some(other) = rest.iter().find(|file| file.folder() != first.folder()) else {
                let by_order = names.iter().find_map(|name| found.iter().find(|f| fits(f, name)));
                return Ok(*by_order.unwrap_or(first));
            };
            return Err(DataError::Unfit(format!(
                "`{}` and `{}` both match: name one folder",
                first.name, other.name
            )));
        }
        Err(DataError::Missing {
            wanted: format!("file `{}`", names.join("` or `")),
            present: self.0.keys().cloned().collect(),
        })
    }

    /// Returns the only file, for sources that read exactly one.
    pub fn only(&self) -> Result<DataFile<'_>, DataError> {
        match self.iter().collect::<Vec<_>>()[..] {
            [file] => Ok(file),
            [] => Err(DataError::Unfit("expected a file, but none is given".to_owned())),
            [first, second, ..] => Err(DataError::Unfit(format!(
                "expected one file, found {}, such as `{}` and `{}`",
                self.0.len(),
                first.name,
                second.name
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
    /// Returns the folder part of the name.
    pub fn folder(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Opens the file.
    pub fn open(&self) -> Result<File, DataError> {
        File::open(self.path).map_err(DataError::file(self.name))
    }

    /// Returns the file's length in bytes, packed if it is.
    pub fn length(&self) -> Result<u64, DataError> {
        std::fs::metadata(self.path).map(|file| file.len()).map_err(DataError::file(self.name))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Files {
        Files::new(names.iter().map(|name| ((*name).to_owned(), PathBuf::from(name))).collect())
    }

    #[test]
    fn a_file_is_found_by_its_last_name_packed_or_not() {
        let found = files(&["data/a", "data/b.gz"]);
        assert_eq!(found.find(&["b"]).unwrap().name, "data/b.gz");
        assert_eq!(found.find(&["c", "a"]).unwrap().name, "data/a");
        assert_eq!(
            found.find(&["c"]).unwrap_err().to_string(),
            "no file `c` found, only data/a, data/b.gz"
        );
    }

    #[test]
    fn two_folders_with_the_same_names_are_not_guessed_between() {
        let both = files(&["data/fashion/a.gz", "data/mnist/a", "data/mnist/a.gz"]);
        assert_eq!(
            both.find(&["a"]).unwrap_err().to_string(),
            "`data/fashion/a.gz` and `data/mnist/a` both match: name one folder"
        );
        assert!(files(&["x/a-b", "y/a.b"]).find(&["a-b", "a.b"]).is_err(), "another spelling");
        assert_eq!(files(&["mnist/a", "mnist/a.gz"]).find(&["a"]).unwrap().name, "mnist/a");
    }
}
