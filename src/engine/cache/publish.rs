//! Publishing: from a stage's output folder to an entry that everyone can see.
//!
//! The order makes every crash harmless. Files are hashed and synced, moved to their digest's
//! place, their folders synced; then the manifest the same way; last the index, in one
//! transaction. Before the manifest is in place nothing refers to the new files; after it, all of
//! them are on disk.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::folders::remove;
use super::{Cache, CacheError, Claim, Entry, StoredResult};
use crate::engine::digest::ContentDigest;
use crate::engine::key::KeyRecord;
use crate::engine::stage::artifact::{StoredArtifact, StoredFile};
use crate::engine::stage::run_record::RunRecord;
use crate::engine::system::failpoint;
use crate::engine::system::file_type;

impl Claim<'_> {
    /// Publishes what is in the output folder and gives the claim back. Nothing but `declared` files
    /// may be there: a program could have reached it by itself.
    pub fn commit(
        self,
        kind: &str,
        declared: &BTreeSet<String>,
        record: KeyRecord,
        run: RunRecord,
    ) -> Result<StoredResult, CacheError> {
        let output = self.output_folder();
        let names = files_in(&output).map_err(CacheError::at(&output))?;
        if names.is_empty() {
            return Err(CacheError::NoOutput);
        }
        if let Some(name) = names.iter().find(|name| !declared.contains(*name)) {
            return Err(CacheError::Undeclared(name.clone()));
        }
        failpoint::pass("publish.check.after").map_err(CacheError::at(&output))?;
        let mut files = Vec::with_capacity(names.len());
        for name in &names {
            let path = output.join(name);
            files.push(describe(&path, name).map_err(CacheError::at(&path))?);
        }
        failpoint::pass("publish.hash.after").map_err(CacheError::at(&output))?;
        self.put_in_place(&files)?;
        let trajectory = self.trajectory.as_ref().map(|held| held.key);
        let artifact = StoredArtifact::new(kind, files);
        let entry = Entry { key: self.key, record, trajectory, artifact, run };
        self.show(entry)
    }

    /// Makes an entry whose files are in place visible, and gives the claim back.
    pub(super) fn show(mut self, entry: Entry) -> Result<StoredResult, CacheError> {
        self.write_manifest(&entry)?;
        self.cache.index.insert(&entry)?;
        // The result is there for everyone: what can't be removed now is a leftover.
        let _ = self.clear();
        self.release()?;
        Ok(entry.into())
    }

    /// Moves files of the output folder to where their digests say, durably.
    pub(super) fn put_in_place(&self, files: &[StoredFile]) -> Result<(), CacheError> {
        let output = self.output_folder();
        Self::sync(&output, files)?;
        self.move_in(&output, files)
    }

    fn sync(output: &Path, files: &[StoredFile]) -> Result<(), CacheError> {
        failpoint::pass("publish.sync.before").map_err(CacheError::at(output))?;
        for StoredFile { name, .. } in files {
            let path = output.join(name);
            let file = File::open(&path).map_err(CacheError::at(&path))?;
            file.sync_all().map_err(CacheError::at(&path))?;
            fs::set_permissions(&path, Permissions::from_mode(0o444))
                .map_err(CacheError::at(&path))?;
        }
        failpoint::pass("publish.sync.after").map_err(CacheError::at(output))
    }

    fn move_in(&self, output: &Path, files: &[StoredFile]) -> Result<(), CacheError> {
        failpoint::pass("publish.rename.before").map_err(CacheError::at(output))?;
        let mut folders: Vec<PathBuf> = Vec::new();
        for file in files {
            let from = output.join(&file.name);
            let to = self.cache.objects.path(&file.digest);
            let folder = parent(&to);
            fs::create_dir_all(folder).map_err(CacheError::at(folder))?;
            // Whatever has come to lie in its place.
            if to.is_dir() {
                remove(&to)?;
            }
            fs::rename(&from, &to).map_err(CacheError::at(&to))?;
            if !folders.iter().any(|seen| seen == folder) {
                folders.push(folder.to_owned());
            }
            failpoint::pass("publish.rename.each").map_err(CacheError::at(&to))?;
        }
        failpoint::pass("publish.rename.after").map_err(CacheError::at(output))?;
        folders.push(self.cache.root.join("objects"));
        for folder in folders {
            sync_folder(&folder)?;
        }
        failpoint::pass("publish.sync-folder.after").map_err(CacheError::at(output))
    }

    fn write_manifest(&self, entry: &Entry) -> Result<(), CacheError> {
        let scratch = self.scratch_folder();
        fs::create_dir_all(&scratch).map_err(CacheError::at(&scratch))?;
        self.cache.write_manifest(entry, &scratch.join("manifest.json"))
    }
}

impl Cache {
    /// Writes a manifest durably, by way of a temporary file.
    pub(super) fn write_manifest(&self, entry: &Entry, temporary: &Path) -> Result<(), CacheError> {
        let path = self.entry_path(&entry.key);
        let at = CacheError::at(&path);
        failpoint::pass("publish.manifest-write.before").map_err(&at)?;
        let text = serde_json::to_vec_pretty(entry).map_err(|e| at(io::Error::other(e)))?;
        fs::write(temporary, text).map_err(&at)?;
        File::open(temporary).and_then(|file| file.sync_all()).map_err(&at)?;
        failpoint::pass("publish.manifest-write.after").map_err(&at)?;
        fs::create_dir_all(parent(&path)).map_err(&at)?;
        if path.is_dir() {
            remove(&path)?;
        }
        fs::rename(temporary, &path).map_err(&at)?;
        sync_folder(parent(&path))?;
        sync_folder(&self.root.join("entries"))?;
        failpoint::pass("publish.manifest-rename.after").map_err(&at)
    }
}

fn describe(path: &Path, name: &str) -> io::Result<StoredFile> {
    Ok(StoredFile {
        name: name.to_owned(),
        digest: ContentDigest::of_own_file(path)?,
        bytes: fs::metadata(path)?.len(),
    })
}

/// Returns the names of all files below a folder, with `/` between parts, sorted.
fn files_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![(folder.to_owned(), String::new())];
    while let Some((path, prefix)) = waiting.pop() {
        for item in fs::read_dir(path)? {
            let item = item?;
            let file_name = item.file_name();
            let Some(name) = file_name.to_str() else {
                let name = file_name.display();
                return Err(io::Error::other(format!("the file name `{name}` is not valid UTF-8")));
            };
            let name = format!("{prefix}{name}");
            let kind = item.file_type()?;
            if kind.is_dir() {
                waiting.push((item.path(), format!("{name}/")));
            } else if kind.is_file() {
                found.push(name);
            } else {
                let kind = file_type::name(kind);
                return Err(io::Error::other(format!("`{name}` is {kind}, not a file")));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Makes renames in a folder durable.
fn sync_folder(folder: &Path) -> Result<(), CacheError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(CacheError::at(folder))
}
