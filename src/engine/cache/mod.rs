//! The content-addressed cache.
//!
//! ```text
//! cache/
//!   objects/ab/cdef..   files by BLAKE3 digest, read-only
//!   entries/ab/cdef.json  one manifest per key: the key record, the artifact, how it was made
//!   index.sqlite        the manifests again, for fast lookup; can be rebuilt from them
//!   claims/  work/  jobs/  logs/   locks, running stages, their jobs, what they printed
//!   incoming/           files of results that were computed elsewhere, until they are whole
//!   unsigned/           keys whose results came from elsewhere without a trusted signature
//!   trajectories/       state that stages share which differ only in how far they go
//!   aliases/            other names of objects
//!   unusable/           manifests that `cache rebuild` could not use
//!   rates.json          how fast devices were measured to be, for predictions
//! ```
//!
//! Only a [`Claim`] can write a result, and only a miss hands one out; [`Cache::import_entry`] adds one that
//! was computed elsewhere. An entry that can be seen is
//! complete: files are in place and synced before the manifest, the manifest before the index.

mod alias;
mod claim;
mod entry;
mod error;
mod file_digest;
mod file_system;
mod folders;
mod gc;
mod import;
mod index;
mod inputs;
mod lease;
mod leftovers;
mod lock;
mod lookup;
mod objects;
mod portable_name;
mod publish;
mod run_place;
mod schema;
mod stat;
#[cfg(test)]
mod tests;
mod trajectory;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

pub use alias::Aliases;
pub use claim::{Claim, Claimed, Reuse};
pub use entry::{Entry, ResultSummary, StoredResult};
pub use error::CacheError;
pub use file_system::is_network;
pub use gc::{Candidate, Collection, GcRoots};
pub use import::{FileImporter, FileSource, ImportError, IncomingFile};
pub use index::{FailedRun, History, PastRun, ReachedBy, ReadTransaction};
pub use inputs::CheckedFile;
pub use lease::LeaseTerms;
pub use leftovers::{RunningRun, RunningStage, note_progress};
pub use lock::Patience;
pub use lookup::{FileLocator, LocatedResult, Lookup};
pub use objects::Check;
pub use run_place::RunPlace;
pub use stat::FileStamp;
pub use trajectory::Trajectory;
pub use verify::Verification;

use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::key::KeyRecord;
use crate::engine::stage::artifact::{ArtifactReader, StoredArtifact, StoredFile};
use crate::engine::system::regular_file;
use index::Index;
use lease::Lease;
use lock::LockName;
use objects::Objects;

/// The layout of the cache folder; a newer one is refused by older programs.
const LAYOUT: u32 = 1;

/// An open cache folder.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
    objects: Objects,
    index: Index,
    check: Check,
    /// Why nothing can be added, if so.
    unwritable: Option<CacheError>,
    /// How long leases last, if machines share it.
    terms: Option<LeaseTerms>,
    notes: Vec<String>,
}

impl Cache {
    /// Opens a cache folder, making it if needed. One that can't be written can be read.
    pub fn open(root: &Path, check: Check) -> Result<Self, CacheError> {
        let mut notes = Vec::new();
        let (index, unwritable) = match Self::open_for_writing(root, &mut notes) {
            Ok(index) => (index, None),
            Err(error) if error.prevents_writing() && root.join("entries").is_dir() => {
                (Index::open_for_reading(root)?, Some(error))
            }
            Err(error) => return Err(error),
        };
        let (objects, terms) = (Objects::new(root.join("objects")), LeaseTerms::of(root));
        Ok(Self { root: root.to_owned(), objects, index, check, unwritable, terms, notes })
    }

    /// Returns whether a folder is a cache.
    pub fn is_there(root: &Path) -> bool {
        root.join("layout").is_file() || root.join("entries").is_dir()
    }

    /// Opens a cache folder for whoever computes nothing: where there is none, none is made, and
    /// nothing is found in it.
    pub fn open_if_there(root: &Path, check: Check) -> Result<Self, CacheError> {
        if Self::is_there(root) {
            return Self::open(root, check);
        }
        let objects = Objects::new(root.join("objects"));
        let unwritable = Some(CacheError::Absent { path: root.to_owned() });
        let (root, index, notes) = (root.to_owned(), Index::empty()?, Vec::new());
        Ok(Self { root, objects, index, check, unwritable, terms: None, notes })
    }

    /// Opens a cache folder on a node of a cluster: results are found by their manifests and published
    /// by them, and the index, which is on another machine's disk, is that machine's to write.
    pub fn open_on_node(root: &Path) -> Result<Self, CacheError> {
        check_layout(root)?;
        let (objects, index) = (Objects::new(root.join("objects")), Index::empty()?);
        let (check, notes, terms) = (Check::Small, Vec::new(), LeaseTerms::of(root));
        let root = root.to_owned();
        Ok(Self { root, objects, index, check, unwritable: None, terms, notes })
    }

    fn open_for_writing(root: &Path, notes: &mut Vec<String>) -> Result<Index, CacheError> {
        for folder in ["objects", "entries", "claims", "work", "jobs", "logs"] {
            fs::create_dir_all(root.join(folder))
                .map_err(|cause| CacheError::Folder { path: root.to_owned(), cause })?;
        }
        check_layout(root)?;
        match Index::open(root) {
            Err(CacheError::NewerIndex(version)) => {
                let aside = Index::set_aside(root, version)?;
                notes.push(format!(
                    "the cache index was written by a newer pcae-run: moved to {}; a new one is made",
                    aside.display()
                ));
                let index = Index::open(root)?;
                index.adopt_all(root)?;
                Ok(index)
            }
            opened => opened,
        }
    }

    /// Returns whether results can be added.
    pub fn is_writable(&self) -> bool {
        self.unwritable.is_none()
    }

    /// Returns why no results can be added, if so.
    pub fn unwritable(&self) -> Option<&CacheError> {
        self.unwritable.as_ref()
    }

    /// Returns what the user should know about how the cache was opened.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the cache folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a reader for an artifact's files.
    pub fn reader(&self, artifact: &StoredArtifact) -> ArtifactReader {
        let files = artifact.files.iter();
        ArtifactReader::new(
            files.map(|file| (file.name.clone(), self.objects.path(&file.digest))).collect(),
        )
    }

    /// Returns where a file is or belongs.
    pub fn object_path(&self, file: &StoredFile) -> PathBuf {
        self.objects.path(&file.digest)
    }

    /// Returns the other names of files in the cache.
    pub fn aliases(&self) -> Aliases {
        Aliases::new(self.root.join("aliases"), self.objects.clone())
    }

    /// Returns where a stage's log is kept.
    pub fn log_path(&self, key: &StageKey) -> PathBuf {
        self.root.join("logs").join(format!("{key}.log"))
    }

    /// Returns the earlier result of a stage of this name whose record differs least.
    pub fn closest_of_stage(
        &self,
        pipeline: &str,
        stage: &str,
        record: &KeyRecord,
    ) -> Result<Option<Entry>, CacheError> {
        const LOOKED_AT: usize = 20;
        let entries = self.index.recent_of_stage(pipeline, stage, LOOKED_AT)?;
        Ok(closest(&entries, record, stage).cloned())
    }

    /// Returns the result whose record differs least; among equals one of a stage of this name.
    /// Looks at the `most` latest results of the kind.
    pub fn closest(
        &self,
        stage: &str,
        record: &KeyRecord,
        most: usize,
    ) -> Result<Option<Entry>, CacheError> {
        let entries = self.index.recent(&record.kind, most)?;
        Ok(closest(&entries, record, stage).cloned())
    }

    /// Returns how earlier runs of a kind went.
    pub fn history(&self, kind: &str) -> Result<History, CacheError> {
        Ok(self.index.history(kind)?)
    }

    /// Returns the latest results of a kind, `most` of them.
    pub fn recent(&self, kind: &str, most: usize) -> Result<Vec<Entry>, CacheError> {
        Ok(self.index.recent(kind, most)?)
    }

    /// Returns where a stage without a trajectory keeps its state until it ends.
    pub fn state_folder(&self, key: &StageKey) -> PathBuf {
        self.root.join("work").join(key.to_string()).join("state")
    }

    /// Notes that a pipeline file was run on this cache.
    pub fn remember_pipeline(&self, path: &Path) -> Result<(), CacheError> {
        let name = self.portable_name(path);
        // Known already: a run that has nothing to do writes nothing.
        if self.is_writable() && self.index.pipelines()?.first().is_none_or(|last| *last != name) {
            self.index.remember_pipeline(&name)?;
        }
        Ok(())
    }

    /// Notes which results a run of a pipeline reached, in place of what the last one in the same
    /// context did.
    pub fn remember_reached(
        &self,
        run: &ReachedBy,
        keys: &BTreeSet<StageKey>,
    ) -> Result<(), CacheError> {
        let keys = keys.iter().flat_map(StageKey::bytes).copied().collect::<Vec<u8>>();
        if self.is_writable() && self.index.reached_in(run)?.as_ref() != Some(&keys) {
            self.index.remember_reached(run, &keys)?;
        }
        Ok(())
    }

    /// Returns which results runs of a pipeline with this text reached, in whatever context.
    pub fn reached(&self, pipeline: &str, text: &str) -> Result<BTreeSet<StageKey>, CacheError> {
        // Earlier programs remembered whole paths.
        let whole = self.named_path(pipeline).display().to_string();
        let names = [Some(pipeline), Some(whole.as_str()).filter(|whole| *whole != pipeline)];
        let mut rows = Vec::new();
        for name in names.into_iter().flatten() {
            rows.extend(self.index.reached(name, text)?);
            for other in index::others(&self.root)? {
                rows.extend(other.reached(name, text)?);
            }
        }
        let keys = rows.iter().flat_map(|keys| keys.as_chunks().0);
        Ok(keys.map(|bytes| StageKey::of_hash(blake3::Hash::from_bytes(*bytes))).collect())
    }

    /// Returns the pipeline files that were run on this cache, the last one first.
    pub fn pipelines(&self) -> Result<Vec<PathBuf>, CacheError> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut names = self.index.pipelines()?;
        for other in index::others(&self.root)? {
            names.extend(other.pipelines()?);
        }
        for path in names.iter().map(|name| self.named_path(name)) {
            if !found.contains(&path) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Notes how a stage ended.
    pub fn remember_run(&self, run: &PastRun) -> Result<(), CacheError> {
        Ok(self.index.remember_run(run)?)
    }

    /// Returns the keys whose latest run for a pipeline failed.
    pub fn failures(&self, pipeline: &str) -> Result<BTreeSet<StageKey>, CacheError> {
        Ok(self.failed_runs(pipeline)?.into_keys().collect())
    }

    /// Returns the latest runs for a pipeline that failed, by key.
    pub fn failed_runs(&self, pipeline: &str) -> Result<BTreeMap<StageKey, FailedRun>, CacheError> {
        Ok(self.index.failed_runs(pipeline)?.into_iter().collect())
    }

    /// Returns the digest of an outside file, from memory if it is surely unchanged.
    pub fn digest_of_file(&self, path: &Path) -> Result<ContentDigest, CacheError> {
        // Stages know it by its whole path, pipelines often do not.
        file_digest::digest(&self.index, &std::path::absolute(path).map_err(CacheError::at(path))?)
    }

    /// Returns the number of entries and the bytes of all objects.
    pub fn size(&self) -> Result<(usize, u64), CacheError> {
        Ok(self.index.size()?)
    }

    /// Returns entries, bytes and compute seconds by kind.
    pub fn size_by_kind(&self) -> Result<Vec<(String, u64, u64, f64)>, CacheError> {
        Ok(self.index.size_by_kind()?)
    }

    /// Returns every entry.
    pub fn entries(&self) -> Result<Vec<Entry>, CacheError> {
        Ok(self.index.all()?)
    }

    /// Returns what is wrong with the index's own structure, if anything.
    pub fn index_damage(&self) -> Result<Option<String>, CacheError> {
        Ok(self.index.damage()?)
    }

    /// Marks the cache as in use, so that nothing is collected meanwhile; `on_wait` is called if a
    /// collection has to be waited for. A cache that can't even be locked is used without.
    pub fn hold(&self, on_wait: &mut dyn FnMut()) -> Result<Option<InUse>, CacheError> {
        if matches!(self.unwritable, Some(CacheError::Absent { .. })) {
            return Ok(None);
        }
        if let Some(terms) = self.terms
            && self.is_writable()
        {
            return self.hold_leased(terms, on_wait).map(Some);
        }
        let (file, path) = match use_lock(&self.root) {
            Err(_) if !self.is_writable() => return Ok(None),
            lock => lock?,
        };
        match file.try_lock_shared() {
            // Shared with other machines since it was opened, by leases that this process does not look for.
            Ok(()) if LeaseTerms::is_marked(&self.root) && self.is_writable() => {
                return Err(CacheError::InUse);
            }
            Ok(()) => return Ok(Some(InUse::locked(file))),
            Err(TryLockError::WouldBlock) => on_wait(),
            Err(TryLockError::Error(_)) if !self.is_writable() => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(CacheError::File { path, cause }),
        }
        file.lock_shared().map_err(CacheError::at(&path))?;
        Ok(Some(InUse::locked(file)))
    }

    /// Marks a shared cache as in use. Whoever collects looks for such marks after having made its own, and
    /// here it is the other way around: one of two that begin at once sees the other.
    fn hold_leased(
        &self,
        terms: LeaseTerms,
        on_wait: &mut dyn FnMut(),
    ) -> Result<InUse, CacheError> {
        const PAUSE: Duration = Duration::from_millis(500);
        let collection = self.root.join("claims").join(COLLECTION);
        let mut waited = false;
        loop {
            let path = self.root.join("claims").join(lease::of_user());
            let lease = Lease::try_acquire(&path, terms).map_err(CacheError::at(&path))?;
            let in_use = InUse { _file: None, lease };
            if !lease::is_owned(&collection, terms) {
                return Ok(in_use);
            }
            drop(in_use);
            if !std::mem::replace(&mut waited, true) {
                on_wait();
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns the lock of a key or a trajectory.
    fn lock_name(&self, name: &str) -> LockName {
        let path = self.root.join("claims").join(format!("{name}.lock"));
        LockName { path, terms: self.terms() }
    }

    /// Returns how long leases last, if machines share this cache.
    fn terms(&self) -> Option<LeaseTerms> {
        self.terms
    }

    /// Marks a cache as one that machines share.
    pub fn share(root: &Path, terms: LeaseTerms) -> Result<(), CacheError> {
        if LeaseTerms::is_marked(root) {
            return Ok(());
        }
        fs::create_dir_all(root.join("jobs")).map_err(CacheError::at(root))?;
        // Whoever uses it now has locks that leases know nothing of.
        let _alone = hold_alone(root)?;
        terms.write(root)
    }

    fn entry_path(&self, key: &StageKey) -> PathBuf {
        let name = key.to_string();
        self.root.join("entries").join(&name[..2]).join(format!("{}.json", &name[2..]))
    }
}

/// The lease of whoever collects what nobody needs.
const COLLECTION: &str = "collection.lease";

/// A mark that a cache is in use, until it is dropped: the lock of a file, or a lease.
#[derive(Debug)]
pub struct InUse {
    _file: Option<File>,
    /// Gone once it has been given back.
    lease: Option<Lease>,
}

impl InUse {
    const fn locked(file: File) -> Self {
        Self { _file: Some(file), lease: None }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.release();
        }
    }
}

/// Makes sure that no run is using a cache.
fn hold_alone(root: &Path) -> Result<InUse, CacheError> {
    const TRIES: usize = 50;
    const PAUSE: Duration = Duration::from_millis(20);
    if let Some(terms) = LeaseTerms::of(root) {
        return hold_alone_leased(root, terms);
    }
    let (file, path) = use_lock(root)?;
    // A process that is just being started holds a copy of every lock of its parent for a moment.
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(InUse::locked(file)),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(cause)) => return Err(CacheError::File { path, cause }),
        }
    }
    Err(CacheError::InUse)
}

/// Makes sure that no run on any machine is using a cache, and that no jobs in a queue will.
fn hold_alone_leased(root: &Path, terms: LeaseTerms) -> Result<InUse, CacheError> {
    let path = root.join("claims").join(COLLECTION);
    let lease = Lease::try_acquire(&path, terms).map_err(CacheError::at(&path))?;
    let alone = InUse { _file: None, lease: Some(lease.ok_or(CacheError::InUse)?) };
    for folder in ["claims", "jobs"].map(|name| root.join(name)) {
        for name in folders::names_in(&folder) {
            let other = folder.join(&name);
            let is_lease = name.ends_with(lease::SUFFIX) && other != path;
            if leftovers::batch_run(&name).is_some() || is_lease && lease::is_owned(&other, terms) {
                return Err(CacheError::InUse);
            }
        }
    }
    Ok(alone)
}

fn use_lock(root: &Path) -> Result<(File, PathBuf), CacheError> {
    let folder = root.join("claims");
    let _ = fs::create_dir_all(&folder);
    let path = folder.join("in-use.lock");
    // For reading, too: some network file systems want that for a shared lock.
    let file = File::options().create(true).read(true).append(true).open(&path);
    // Who may only read can lock, too.
    let file = file.or_else(|cause| File::open(&path).map_err(|_| cause));
    Ok((file.map_err(CacheError::at(&path))?, path))
}

/// Returns the other result whose record differs least; among equals one of a stage of this name.
pub(super) fn closest<'e>(
    entries: &'e [Entry],
    record: &KeyRecord,
    stage: &str,
) -> Option<&'e Entry> {
    let key = record.key();
    let others = entries.iter().filter(|entry| entry.key != key);
    others.min_by_key(|entry| (record.differences(&entry.record).len(), entry.run.stage != stage))
}

fn check_layout(root: &Path) -> Result<(), CacheError> {
    const LONGEST: u64 = 64;
    let path = root.join("layout");
    match regular_file::read_text(&path, LONGEST) {
        Ok(text) => match text.trim().parse() {
            Ok(LAYOUT) | Err(_) => Ok(()),
            Ok(found) => Err(CacheError::Newer { path: root.to_owned(), found, known: LAYOUT }),
        },
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            fs::write(&path, format!("{LAYOUT}\n")).map_err(CacheError::at(&path))
        }
        Err(cause) => Err(CacheError::File { path, cause }),
    }
}
