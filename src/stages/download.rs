//! The stage kind [`Download`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::FileSet;
use crate::data::download::{
    DownloadError, FetchOptions, Origin, PinnedFile, RetryPolicy, Transfer, is_right, obtain,
};
use crate::engine::digest::ContentDigest;
use crate::engine::stage::context::{RunContext, StageError, log_line};
use crate::engine::stage::lifecycle::Progress;
use crate::engine::stage::{Input, Inputs, Kind, Problem, Producer, Stage};

/// Files from the network, each identified by its SHA-256.
///
/// ```ron
/// "mnist-files": Download(files: Mnist),   // or FashionMnist, Dsprites, Shapes3d, CelebA,
///                                          // and FidInception: the weights that FID needs
/// "own-files": Download(files: Pinned([    // or your own
///     (name: "codes.npy", bytes: 4096,
///      sha256: "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7",
///      mirrors: ["https://example.org/codes.npy.gz", "file:/data/codes.npy"]),
/// ])),
/// ```
///
/// The data folder (`--data DIR`, or `data` in the pipeline) is searched first, for plain or
/// gzipped files; then mirrors are tried in order. A file is accepted only if its hash matches.
/// Files are kept unpacked, once, no matter how many stages and pipelines name them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// The files to fetch.
    pub files: FileSet,
}

impl Stage for Download {
    fn kind(&self) -> Kind {
        Kind { name: "Download", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        Vec::new()
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "files".to_owned()
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let files = self.files.files();
        let mut found: Vec<_> = files.iter().flat_map(PinnedFile::problems).collect();
        if files.is_empty() {
            found.push("there is nothing to download".to_owned());
        }
        for (at, file) in files.iter().enumerate() {
            if files[..at].iter().any(|other| other.name == file.name) {
                found.push(format!("two files are named `{}`", file.name));
            }
        }
        found.into_iter().map(|message| Problem { field: "files", message, help: None }).collect()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let files = self.files.files();
        let total = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes));
        let mut before = 0;
        // Complete files stay when a later one fails or the run is stopped.
        let state = context.state_folder().to_owned();
        fs::create_dir_all(state.join(COMPLETE))?;
        for file in &files {
            let to = complete_file(&state, file);
            if !is_right(file, &to) {
                discard(&to)?;
                fetch(context, file, &to, before, total)?;
            }
            before = before.saturating_add(file.bytes);
        }
        for file in &files {
            let from = complete_file(&state, file);
            let digest = ContentDigest::of_file(&from)?;
            link(&from, &context.writer().path(file.name.as_str())?)?;
            context.aliases().add(&file.sha256.to_string(), &digest)?;
        }
        Ok(())
    }
}

/// The folder for complete files in the state of the stage.
const COMPLETE: &str = "files";

/// Returns where the stage's state holds a complete file.
pub(super) fn complete_file(state: &Path, file: &PinnedFile) -> PathBuf {
    state.join(COMPLETE).join(file.name.as_str())
}

/// Makes a hard link; on file systems without them, a copy that appears under its name when complete.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    let linked = fs::hard_link(from, to);
    if linked.as_ref().is_err_and(|cause| cause.kind() != io::ErrorKind::AlreadyExists) {
        let copy = to.with_extension("copy");
        fs::copy(from, &copy)?;
        return fs::rename(copy, to);
    }
    linked
}

/// Removes an incomplete file that a killed process may have left.
fn discard(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

/// Fetches one file to `to`; `before` of `total` bytes are there already.
fn fetch(
    context: &mut RunContext,
    file: &PinnedFile,
    to: &Path,
    before: u64,
    total: u64,
) -> Result<(), StageError> {
    // An alias only says where to look: what is delivered has the hash.
    let known = context.aliases().find(&file.sha256.to_string());
    if let Some(known) = known.filter(|known| is_right(file, known)) {
        context.log(&format!("{}: already in the cache", file.name));
        return Ok(link(&known, to)?);
    }
    let policy = context.download_policy().clone();
    let parts = context.state_folder().join("parts");
    let stop = context.stop_flag();
    let mut progress = |transfer: Transfer| {
        // A compressed file counts by the share of it that has been read.
        let share = u128::from(file.bytes) * u128::from(transfer.done.min(transfer.total));
        let done = share / u128::from(transfer.total.max(1));
        context.progress(Progress {
            done: before.saturating_add(u64::try_from(done).unwrap_or(file.bytes)),
            total,
            unit: "byte".to_owned(),
            note: transfer.note,
            message: None,
        });
    };
    let options = FetchOptions {
        local: &policy.folders,
        parts: &parts,
        offline: policy.offline,
        retry_policy: RetryPolicy::default(),
        stop: &|| stop.load(Ordering::Relaxed),
        progress: &mut progress,
        log: &log_line,
    };
    match obtain(file, to, options) {
        Ok(Origin::Local(path)) => context.log(&format!("{}: {}", file.name, path.display())),
        Ok(Origin::Mirror(mirror)) => context.log(&format!("{}: {mirror}", file.name)),
        Err(DownloadError::Stopped) => return Err(StageError::Stopped),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (r"Download(files: Mnist)", "7cb7e3e5");
