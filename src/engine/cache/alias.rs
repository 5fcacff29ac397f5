//! Other names of files in the cache, such as their SHA-256.
//!
//! An alias is a small file that holds the digest of an object. It keeps nothing alive: when the
//! object has been collected the alias leads nowhere and is collected too.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::objects::Objects;
use crate::engine::digest::ContentDigest;
use crate::engine::stage::artifact::plain_path;
use crate::engine::stage::context::FileAliases;

/// Names of objects other than their digests.
#[derive(Clone, Debug)]
pub struct Aliases {
    folder: PathBuf,
    objects: Objects,
}

impl Aliases {
    pub(super) fn new(folder: PathBuf, objects: Objects) -> Self {
        Self { folder, objects }
    }

    /// Returns whether there is a file behind a name, without reading it.
    pub fn leads_somewhere(&self, name: &str) -> bool {
        self.look_up(name).is_some_and(|(path, _)| path.is_file())
    }

    fn look_up(&self, name: &str) -> Option<(PathBuf, ContentDigest)> {
        let text = fs::read_to_string(self.folder.join(plain_path(name).ok()?)).ok()?;
        let digest = text.trim().parse().ok()?;
        Some((self.objects.path(&digest), digest))
    }

    /// Returns the aliases that lead nowhere.
    pub(super) fn dangling(&self) -> Vec<PathBuf> {
        let items = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let leads_nowhere = |name: &str| self.look_up(name).is_none_or(|(path, _)| !path.is_file());
        items
            .filter(|item| item.file_name().to_str().is_none_or(leads_nowhere))
            .map(|item| item.path())
            .collect()
    }
}

impl FileAliases for Aliases {
    fn find(&self, name: &str) -> Option<PathBuf> {
        let (path, digest) = self.look_up(name)?;
        (ContentDigest::of_file(&path).ok()? == digest).then_some(path)
    }

    fn add(&self, name: &str, digest: &ContentDigest) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(plain_path(name).map_err(io::Error::other)?);
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&temporary, digest.to_string())?;
        fs::rename(temporary, path)
    }
}
