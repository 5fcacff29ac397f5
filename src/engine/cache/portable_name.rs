//! Names of files that stay right when a project is moved or copied together with its cache.

use std::fs;
use std::path::{Path, PathBuf};

use super::Cache;

impl Cache {
    /// Returns the name under which a file is remembered: from the folder of the cache, if the file
    /// lies in it or below, else the whole path.
    pub fn portable_name(&self, path: &Path) -> String {
        let whole = without_links(path);
        let project = self.project();
        let inside = project.as_deref().and_then(|project| whole.strip_prefix(project).ok());
        inside.unwrap_or(&whole).display().to_string()
    }

    /// Returns the path of a file that is remembered under a name.
    pub(super) fn named_path(&self, name: &str) -> PathBuf {
        // A whole path replaces what it is joined to.
        self.project().unwrap_or_default().join(name)
    }

    /// Returns the folder that the cache is in; the cache itself may be a link to elsewhere.
    fn project(&self) -> Option<PathBuf> {
        fs::canonicalize(std::path::absolute(&self.root).ok()?.parent()?).ok()
    }
}

/// Returns a path whose folder has no links in it.
fn without_links(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, whole.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => whole,
    }
}
