//! What lies outside a pipeline file: where data files are looked for, and which are there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::engine::stage::artifact::plain_path;
use crate::engine::system::regular_file;

/// How a pipeline learns which outside files are there.
#[derive(Clone, Debug, Default)]
pub enum FileProbe {
    /// By looking, beside the pipeline file and in the data folder: the given one, else the one that
    /// the pipeline names.
    #[default]
    Search,
    /// As above, with this data folder.
    SearchIn(PathBuf),
    /// From a record of an earlier run: only these were there, and none need be here now.
    Recorded(BTreeSet<String>),
    /// From a record likewise, and nothing outside the folder of the pipeline file is even looked for:
    /// the file is a stranger's.
    Enclosed(BTreeSet<String>),
}

/// Where one pipeline file looks for files.
#[derive(Clone, Debug)]
pub struct SearchPaths {
    beside: PathBuf,
    data: Option<PathBuf>,
    recorded: Option<BTreeSet<String>>,
    is_enclosed: bool,
}

impl SearchPaths {
    /// Searches the folder `beside` of a pipeline, and the data folder that it names.
    pub fn new(beside: &Path, named: Option<&str>, probe: &FileProbe) -> Self {
        let is_enclosed = matches!(probe, FileProbe::Enclosed(_));
        let named = named.filter(|folder| !is_enclosed || plain_path(folder).is_ok());
        let named = named.map(|folder| beside.join(folder));
        let (data, recorded) = match probe {
            FileProbe::Search => (named, None),
            FileProbe::SearchIn(folder) => (Some(folder.clone()), None),
            FileProbe::Recorded(names) | FileProbe::Enclosed(names) => (named, Some(names.clone())),
        };
        Self { beside: beside.to_owned(), data, recorded, is_enclosed }
    }

    /// Returns where a file beside the pipeline file is, unless it must not be looked for.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        self.may_look_for(name).then(|| self.beside.join(name))
    }

    fn may_look_for(&self, name: &str) -> bool {
        !self.is_enclosed || plain_path(name).is_ok()
    }

    /// Returns the data folder.
    pub fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// Returns whether files may be missing because a record stands in for them.
    pub const fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// Returns where a file or folder is.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.paths(name).find(|path| path.is_file() || path.is_dir())
    }

    /// Returns what stands in the place of a file that was not found, such as a named pipe.
    pub fn other_kind(&self, name: &str) -> Option<&'static str> {
        self.paths(name).find_map(|path| regular_file::other_kind(&path))
    }

    /// Returns where a file or folder may be.
    fn paths(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let folders = [Some(self.beside.as_path()), self.data.as_deref()];
        let folders = folders.into_iter().flatten().filter(|_| self.may_look_for(name));
        folders.map(move |folder| folder.join(name))
    }

    /// Returns whether a file or folder is, or was, there.
    pub fn has(&self, name: &str) -> bool {
        match &self.recorded {
            Some(names) => names.contains(name),
            None => self.find(name).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_enclosed_pipeline_finds_what_lies_in_its_folder_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("secret"));
        fs::create_dir_all(inside.join("data")).unwrap();
        fs::write(inside.join("data/own"), "").unwrap();
        fs::write(&outside, "").unwrap();
        let probe = FileProbe::Enclosed(BTreeSet::new());
        let paths = SearchPaths::new(&inside, Some("data"), &probe);
        assert!(paths.find("own").is_some() && paths.beside("notes").is_some());
        let absolute = outside.to_str().unwrap();
        for name in ["../secret", absolute, "data/../../secret"] {
            assert!(paths.find(name).is_none() && paths.beside(name).is_none(), "{name}");
            assert!(paths.other_kind(name).is_none(), "{name}");
        }
        for data in ["..", absolute, "../in/../"] {
            let paths = SearchPaths::new(&inside, Some(data), &probe);
            assert!(paths.data().is_none() && paths.find("secret").is_none(), "{data}");
        }
    }
}
