//! A run and a remote cache: asked before a stage runs, told of what was computed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::cache::{Cache, CacheError, FileImporter, StoredResult};
use crate::engine::digest::StageKey;
use crate::engine::key::KeyRecord;
use crate::engine::plan::StageIndex;
use crate::engine::remote::{
    Fetched, FetchedResult, Fetches, Parcel, Remote, UploadCount, Uploads,
};

/// What a run does with a remote cache.
#[derive(Debug)]
pub struct Sharing {
    fetches: Fetches,
    /// Where results go that are computed in this run, if they do.
    uploads: Option<Uploads>,
    /// Whether results are sent.
    is_sending: bool,
    asked: BTreeMap<StageIndex, Lookup>,
    /// What the user has been told; each is said once.
    told: BTreeSet<String>,
    notes: Vec<String>,
}

/// A stage that the local cache has no result of.
#[derive(Debug)]
pub(super) struct Lookup {
    /// Its key record.
    pub(super) record: KeyRecord,
    /// Why the local cache has none.
    pub(super) why: String,
}

/// A result that came from the remote.
pub(super) struct Shared {
    pub(super) result: StoredResult,
    pub(super) bytes: u64,
}

impl Sharing {
    /// Takes results from a remote, and sends it new ones if wanted.
    pub fn new(remote: Arc<Remote>, importer: FileImporter, uploads: bool) -> io::Result<Self> {
        let uploads = uploads.then(|| Uploads::new(Arc::clone(&remote))).transpose()?;
        let fetches = Fetches::new(remote, importer)?;
        let (asked, told) = (BTreeMap::new(), BTreeSet::new());
        let is_sending = uploads.is_some();
        Ok(Self { fetches, uploads, is_sending, asked, told, notes: Vec::new() })
    }

    /// Returns whether it is worth asking.
    pub(super) fn may_have(&self, key: &StageKey) -> bool {
        self.fetches.remote().may_have(key)
    }

    /// Asks for the result of a stage.
    pub(super) fn ask(&mut self, stage: StageIndex, lookup: Lookup) {
        self.fetches.ask(stage, lookup.record.key());
        self.asked.insert(stage, lookup);
    }

    /// Returns whether answers are to come.
    pub(super) fn is_waiting(&self) -> bool {
        self.fetches.is_waiting()
    }

    /// Returns the next stage with an answer, and its result if there is one.
    pub(super) fn next(
        &mut self,
        cache: &Cache,
        name: impl Fn(StageIndex) -> String,
        patience: Duration,
    ) -> Option<(StageIndex, Lookup, Option<Shared>)> {
        let (stage, fetched) = self.fetches.next(patience)?;
        let lookup = self.asked.remove(&stage)?;
        let shared = match fetched {
            Fetched::Hit(fetched) => self.import(cache, *fetched),
            Fetched::Unusable(why) => {
                // Once for each reason; there may be hundreds of such results.
                if self.told.insert(why.to_string()) {
                    self.notes.push(format!(
                        "the shared result of `{}` is not used: it {why}",
                        name(stage)
                    ));
                }
                None
            }
            Fetched::Absent => None,
        };
        self.note_failure();
        Some((stage, lookup, shared))
    }

    fn import(&mut self, cache: &Cache, fetched: FetchedResult) -> Option<Shared> {
        let FetchedResult { entry, is_signed, bytes, computed_on } = fetched;
        if let Some(machine) = computed_on {
            self.note(format!(
                "shared results that were computed on {machine} are used here (refuse them with `--same-machine`)"
            ));
        }
        match cache.import_entry(&entry, is_signed) {
            Ok(result) => Some(Shared { result, bytes }),
            Err(error) => {
                self.note(format!("shared results can't be stored here: {error}"));
                None
            }
        }
    }

    /// Sends a new result in the background.
    pub(super) fn send(&mut self, cache: &Cache, key: &StageKey) -> Result<(), CacheError> {
        if let Some(uploads) = &mut self.uploads {
            uploads.send(Parcel::new(cache.entry(key)?, cache));
        }
        Ok(())
    }

    /// Takes what the user should know, each thing once.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Waits until everything is sent; `progress` hears how many results are left, and may end the wait.
    pub fn finish(mut self, progress: &mut dyn FnMut(usize) -> bool) -> (UploadCount, Vec<String>) {
        const PATIENCE: Duration = Duration::from_millis(100);
        let Some(mut uploads) = self.uploads.take() else {
            return (UploadCount::default(), Vec::new());
        };
        let mut count = uploads.update(Duration::ZERO);
        while uploads.waiting() > 0 && progress(uploads.waiting()) {
            count = uploads.update(PATIENCE);
        }
        count.failed += uploads.waiting();
        self.note_failure();
        (count, self.notes)
    }

    fn note_failure(&mut self) {
        let remote = self.fetches.remote();
        let refusal = self.is_sending.then(|| remote.refuses_writing()).flatten();
        for note in [remote.given_up(), refusal].into_iter().flatten() {
            self.note(note);
        }
    }

    fn note(&mut self, note: String) {
        if self.told.insert(note.clone()) {
            self.notes.push(note);
        }
    }
}
