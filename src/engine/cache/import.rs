//! Importing: a result that was computed elsewhere becomes an entry of this cache.
//!
//! Its manifest has been read by [`Entry::parse`], so that its key is that of its record. Whoever
//! imports it decides whether to believe it; here every file is held to the size and the digest in
//! the manifest, and becomes visible in the same order as a result of this machine.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use super::{Cache, CacheError, Claim, Claimed, Entry, Patience, Reuse, StoredResult};
use crate::engine::digest::ContentDigest;
use crate::engine::stage::artifact::StoredFile;

/// Opens the bytes of a file of a result, wherever they are.
pub type FileSource<'a> = dyn FnMut(&StoredFile) -> io::Result<Box<dyn Read + 'a>> + 'a;

impl Cache {
    /// Adds a result unless its key has one; `open` is called for the files that are not here yet.
    pub fn import(
        &self,
        entry: &Entry,
        open: &mut FileSource<'_>,
        patience: Patience<'_>,
    ) -> Result<StoredResult, CacheError> {
        match self.claim(&entry.key, None, Reuse::Allowed, patience)? {
            Claimed::Hit(known) => Ok(known),
            Claimed::Mine(claim) => claim.import(entry, open),
        }
    }
}

impl Claim<'_> {
    /// Publishes a result that was computed elsewhere, as [`Cache::import`] does for whoever has not
    /// claimed its key yet.
    pub fn import(
        self,
        entry: &Entry,
        open: &mut FileSource<'_>,
    ) -> Result<StoredResult, CacheError> {
        debug_assert_eq!(self.key, entry.key, "a claim is good for its own key alone");
        let mut seen = BTreeSet::new();
        let mut fetched = Vec::new();
        for file in &entry.artifact.files {
            let is_new = seen.insert(file.digest);
            if is_new && self.cache.objects.check_digest(file).is_err() {
                fetched.push(self.fetch(file, open)?);
            }
        }
        self.put_in_place(&fetched)?;
        self.show(entry.clone())
    }

    /// Copies a file to the output folder; returns under which name. Its own says nothing about where
    /// it belongs here.
    fn fetch(
        &self,
        file: &StoredFile,
        open: &mut FileSource<'_>,
    ) -> Result<StoredFile, CacheError> {
        let name = file.digest.to_string();
        let path = self.output_folder().join(&name);
        let at = CacheError::at(&path);
        let wrong =
            |what: String| CacheError::Foreign { key: self.key, name: file.name.clone(), what };
        let source = open(file).map_err(|cause| wrong(format!("can't be read: {cause}")))?;
        let mut writer = BufWriter::new(File::create(&path).map_err(&at)?);
        // One byte more tells that there are too many.
        let mut source = source.take(file.bytes.saturating_add(1));
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; PIECE];
        let mut bytes = 0;
        loop {
            let read = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(wrong(format!("can't be read: {cause}"))),
            };
            hasher.update(&buffer[..read]);
            writer.write_all(&buffer[..read]).map_err(&at)?;
            bytes += read as u64;
        }
        writer.flush().map_err(&at)?;
        if bytes != file.bytes {
            return Err(wrong(format!("does not have the {} bytes of its manifest", file.bytes)));
        }
        if ContentDigest::of_hash(hasher.finalize()) != file.digest {
            return Err(wrong("does not have the digest of its manifest".to_owned()));
        }
        Ok(StoredFile { name, ..file.clone() })
    }
}

/// Bytes that are copied at a time.
const PIECE: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use serde_json::json;

    use super::*;
    use crate::engine::cache::{Check, Lookup};
    use crate::engine::key::KeyRecord;
    use crate::engine::stage::Kind;
    use crate::engine::stage::artifact::StoredArtifact;
    use crate::engine::stage::run_record::RunRecord;

    fn entry(contents: &[(&str, &str)]) -> Entry {
        let record = KeyRecord::new(Kind { name: "Test", version: 1 }, json!({}));
        let files = contents.iter().map(|(name, text)| StoredFile {
            name: (*name).to_owned(),
            digest: ContentDigest::of_bytes(text.as_bytes()),
            bytes: text.len() as u64,
        });
        let artifact = StoredArtifact::new("test", files.collect());
        let run = RunRecord::default();
        Entry { key: record.key(), record, trajectory: None, artifact, run }
    }

    fn import(
        cache: &Cache,
        entry: &Entry,
        open: &mut FileSource<'_>,
    ) -> Result<StoredResult, CacheError> {
        let stop = AtomicBool::new(false);
        cache.import(entry, open, Patience { longest: None, stop: &stop, on_wait: &mut || {} })
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), Check::Everything).unwrap();
        (folder, cache)
    }

    #[test]
    fn an_imported_result_is_a_hit_and_each_file_is_fetched_once() {
        let (folder, cache) = cache();
        let contents = [("deep/a", "one"), ("b", "two"), ("c", "one")];
        let (entry, by_name) = (entry(&contents), BTreeMap::from(contents));
        let opened = Cell::new(0);
        let mut open = |file: &StoredFile| {
            opened.set(opened.get() + 1);
            Ok(Box::new(by_name[file.name.as_str()].as_bytes()) as Box<dyn Read>)
        };
        for _ in 0..2 {
            import(&cache, &entry, &mut open).unwrap();
        }
        assert_eq!(opened.get(), 2, "equal files, and results that are known, are not read again");
        let Lookup::Hit(found) = cache.lookup(&entry.key).unwrap() else {
            panic!("it was imported");
        };
        assert_eq!(cache.reader(&found.artifact).read("deep/a").unwrap(), b"one");
        assert_eq!(cache.entry(&entry.key).unwrap(), entry);
        assert!(cache.verify().unwrap().is_sound());
        assert_eq!(fs::read_dir(folder.path().join("work")).unwrap().count(), 0);
        assert!(!folder.path().join("claims").join(format!("{}.lock", entry.key)).exists());
    }

    #[test]
    fn files_that_are_not_what_the_manifest_says_leave_nothing_behind() {
        let (folder, cache) = cache();
        let entry = entry(&[("a", "right"), ("b", "good")]);
        for (text, what) in [
            ("left!", "digest of its manifest"),
            ("right and more", "5 bytes of its manifest"),
            ("rig", "5 bytes of its manifest"),
        ] {
            let mut open = |file: &StoredFile| {
                let text = if file.name == "a" { text } else { "good" };
                Ok(Box::new(text.as_bytes()) as Box<dyn Read>)
            };
            let error = import(&cache, &entry, &mut open).unwrap_err().to_string();
            assert!(error.starts_with("`a` of result") && error.ends_with(what), "{error}");
        }
        let mut unreadable = |_: &StoredFile| Err(io::Error::other("gone"));
        let error = import(&cache, &entry, &mut unreadable).unwrap_err().to_string();
        assert!(error.ends_with("can't be read: gone"), "{error}");
        assert!(matches!(cache.lookup(&entry.key).unwrap(), Lookup::Miss));
        assert_eq!(fs::read_dir(folder.path().join("objects")).unwrap().count(), 0);
        assert_eq!(cache.size().unwrap(), (0, 0));
    }
}
