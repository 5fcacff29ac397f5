//! What a running stage sees: its inputs, a place to write, and a line to the person watching.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::artifact::{Artifact, ArtifactReader, ArtifactWriter};
use super::lifecycle::Progress;
use super::run_record::RunRecord;
use super::{Each, Labels, StageRef};
use crate::engine::digest::{ContentDigest, files_in};
use crate::engine::system::regular_file;

/// How a stage ends when it doesn't finish.
#[derive(Debug)]
pub enum StageError {
    /// It was asked to stop and has saved its state.
    Stopped,
    /// It can't be done; the message goes to the user.
    Failed(Box<dyn Error + Send + Sync>),
}

// `StageError` itself is no `Error`, so that `?` can take in every error there is.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for StageError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// How a stage may come by files that it knows by their hash; never part of a key.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DownloadPolicy {
    /// Folders to look into first.
    pub folders: Vec<PathBuf>,
    /// Whether the network must not be used.
    pub offline: bool,
}

/// Other names of files in the cache: what the outside world calls a file, such as its SHA-256.
pub trait FileAliases {
    /// Returns the file behind a name, if the cache still has it, undamaged.
    fn find(&self, name: &str) -> Option<PathBuf>;

    /// Gives the file with this digest a name.
    fn add(&self, name: &str, digest: &ContentDigest) -> io::Result<()>;
}

/// One member of an input: its labels and its files.
#[derive(Clone, Debug)]
pub struct Member {
    /// The axis labels of the stage that made it.
    pub labels: Labels,
    /// Its files.
    pub reader: ArtifactReader,
    /// The digest of its content.
    pub digest: ContentDigest,
    /// How it was made.
    pub run: RunRecord,
}

/// Where a stage shows curves while it runs; they are no part of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurvesFolder {
    /// The folder, which need not be there.
    pub path: PathBuf,
    /// A name that no other result has.
    pub owner: String,
}

/// Everything that a stage may touch while it runs.
pub struct RunContext {
    pub(crate) inputs: BTreeMap<String, Vec<Member>>,
    pub(crate) writer: ArtifactWriter,
    pub(crate) state: PathBuf,
    pub(crate) state_owner: String,
    pub(crate) scratch: PathBuf,
    pub(crate) device: String,
    pub(crate) curves: Option<CurvesFolder>,
    pub(crate) files: BTreeMap<String, (PathBuf, ContentDigest)>,
    /// Whether outside files may have been read where they are.
    pub(crate) reads_in_place: Cell<bool>,
    pub(crate) variables: BTreeMap<String, Option<String>>,
    pub(crate) downloads: DownloadPolicy,
    pub(crate) aliases: Box<dyn FileAliases>,
    pub(crate) measured: BTreeMap<String, Vec<f64>>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) report: Box<dyn FnMut(Progress)>,
}

impl RunContext {
    /// Reads the artifact behind a reference.
    pub fn load<T: Artifact>(&self, reference: &StageRef<T>) -> Result<T, StageError> {
        Ok(T::read(&self.only(reference.name())?.reader)?)
    }

    /// Reads every artifact of a family, with the labels of the stage that made it.
    pub fn load_each<T: Artifact>(&self, family: &Each<T>) -> Result<Vec<(Labels, T)>, StageError> {
        self.members(family.pattern())?
            .iter()
            .map(|member| Ok((member.labels.clone(), T::read(&member.reader)?)))
            .collect()
    }

    /// Returns the digest of every artifact of a family, in the same order.
    pub fn digests_of<T>(
        &self,
        family: &Each<T>,
    ) -> Result<Vec<(Labels, ContentDigest)>, StageError> {
        let members = self.members(family.pattern())?;
        Ok(members.iter().map(|member| (member.labels.clone(), member.digest)).collect())
    }

    /// Returns the files behind a reference, whatever its kind.
    pub fn files_of<T>(&self, reference: &StageRef<T>) -> Result<&ArtifactReader, StageError> {
        Ok(&self.only(reference.name())?.reader)
    }

    /// Returns how the artifact behind a reference was made: where, how long it took, and what its
    /// stage measured of that run. None of it is content: a run that leaves the same bytes in another
    /// time makes no stage run again, so what a stage tells of it is told of the first run.
    pub fn run_of<T>(&self, reference: &StageRef<T>) -> Result<&RunRecord, StageError> {
        Ok(&self.only(reference.name())?.run)
    }

    /// Writes the stage's artifact.
    pub fn store<T: Artifact>(&mut self, value: &T) -> Result<(), StageError> {
        Ok(value.write(&mut self.writer)?)
    }

    /// Returns the writer, for artifacts that are made file by file.
    pub fn writer(&mut self) -> &mut ArtifactWriter {
        &mut self.writer
    }

    /// Returns a folder that outlives a stopped or killed run of the same key. A stage with a horizon
    /// finds there what any stage of its trajectory left, whether it finished or not.
    pub fn state_folder(&self) -> &Path {
        &self.state
    }

    /// Returns the name of what the state belongs to. State is marked with it, so that files from
    /// elsewhere are not taken for it.
    pub fn state_owner(&self) -> &str {
        &self.state_owner
    }

    /// Returns an empty folder that is thrown away when the stage ends.
    pub fn scratch_folder(&self) -> &Path {
        &self.scratch
    }

    /// Returns the name of the compute device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns where the stage shows curves while it runs, if anybody wants to see them.
    pub fn curves_folder(&self) -> Option<&CurvesFolder> {
        self.curves.as_ref()
    }

    /// Copies the declared outside files into a folder; the copies are what the key says.
    pub fn copy_files(&self, folder: &Path) -> Result<(), StageError> {
        for (name, (path, digest)) in &self.files {
            let copy = folder.join(name);
            copy_all(path, &copy)?;
            if ContentDigest::of_path(&copy)? != *digest {
                return Err(
                    format!("`{}` changed while the stage ran: run again", path.display()).into()
                );
            }
        }
        Ok(())
    }

    /// Returns where the declared outside files and folders are, by their last name. Reading them
    /// in place is fine: one that changes meanwhile is noticed when the stage has ended.
    pub fn outside_files(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.reads_in_place.set(true);
        self.files.iter().map(|(name, (path, _))| (name.as_str(), path.as_path()))
    }

    /// Returns how files that are known by their hash may be had.
    pub fn download_policy(&self) -> &DownloadPolicy {
        &self.downloads
    }

    /// Returns the other names of files in the cache.
    pub fn aliases(&self) -> &dyn FileAliases {
        &*self.aliases
    }

    /// Returns the declared environment variables; absent ones are `None`.
    pub fn variables(&self) -> &BTreeMap<String, Option<String>> {
        &self.variables
    }

    /// Returns the flag that is set when the stage should save its state and stop.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Returns whether the stage should save its state and stop.
    pub fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells the person watching how far the stage is.
    pub fn progress(&mut self, progress: Progress) {
        (self.report)(progress);
    }

    /// Keeps numbers of this very run, such as times, in its record: they are no part of the result.
    pub fn measured(&mut self, name: &str, values: Vec<f64>) {
        self.measured.insert(name.to_owned(), values);
    }

    /// Writes a line into the stage's log, which is this process's standard error.
    pub fn log(&self, line: &str) {
        log_line(line);
    }

    fn members(&self, reference: &str) -> Result<&[Member], StageError> {
        let members = self.inputs.get(reference).map(Vec::as_slice);
        members.ok_or_else(|| format!("`{reference}` is not a declared input").into())
    }

    fn only(&self, reference: &str) -> Result<&Member, StageError> {
        let members = self.members(reference)?;
        members.first().ok_or_else(|| format!("`{reference}` has no artifact").into())
    }
}

/// Writes a line into the log of the stage that this process runs.
pub fn log_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return copy_file(from, to);
    }
    fs::create_dir_all(to)?;
    for (name, path) in files_in(from)? {
        let copy = to.join(name);
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent)?;
        }
        copy_file(&path, &copy)?;
    }
    Ok(())
}

/// Copies a regular file with its permissions: a script may have to be executable.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = regular_file::open(from)?;
    io::copy(&mut source, &mut File::create(to)?)?;
    fs::set_permissions(to, source.metadata()?.permissions())
}
