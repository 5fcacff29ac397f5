//! The results in a bundle: manifests of a cache with all their files, and no others.

use std::collections::{BTreeMap, BTreeSet};

use super::error::BundleError;
use super::reader::Bundle;
use crate::engine::cache::Entry;
use crate::engine::digest::{ContentDigest, StageKey};

const ENTRIES: &str = "cache/entries/";
const OBJECTS: &str = "cache/objects/";

/// Returns the name of a result's manifest.
pub fn entry_name(key: &StageKey) -> String {
    let name = key.to_string();
    format!("{ENTRIES}{}/{}.json", &name[..2], &name[2..])
}

/// Returns the name of a file of a result.
pub fn object_name(digest: &ContentDigest) -> String {
    let name = digest.to_string();
    format!("{OBJECTS}{}/{}", &name[..2], &name[2..])
}

impl Bundle {
    /// Reads every manifest: each is of the key in its name, and has all its files.
    pub fn results(&self) -> Result<BTreeMap<StageKey, Entry>, BundleError> {
        let mut entries = BTreeMap::new();
        let mut needed = BTreeSet::new();
        for file in self.files().iter().filter(|file| file.name.starts_with(ENTRIES)) {
            let name = &file.name;
            let entry = Entry::parse(&self.read(name)?)
                .map_err(|what| self.refused(format!("`{name}` {what}")))?;
            if entry_name(&entry.key) != *name {
                return Err(self.refused(format!("`{name}` is the manifest of another key")));
            }
            for stored in &entry.artifact.files {
                let object = object_name(&stored.digest);
                let Some(found) = self.file(&object) else {
                    return Err(
                        self.refused(format!("`{name}` needs `{object}`, which is not there"))
                    );
                };
                if (found.bytes, found.digest) != (stored.bytes, stored.digest) {
                    return Err(self.refused(format!("`{object}` is not what `{name}` says of it")));
                }
                needed.insert(object);
            }
            entries.insert(entry.key, entry);
        }
        let mut objects = self.files().iter().filter(|file| file.name.starts_with("cache/"));
        let stray =
            objects.find(|file| !file.name.starts_with(ENTRIES) && !needed.contains(&file.name));
        if let Some(stray) = stray {
            let name = &stray.name;
            return Err(self.refused(format!("`{name}` belongs to no result")));
        }
        Ok(entries)
    }
}
