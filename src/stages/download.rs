//! `Download`: files from the net, each known beforehand by its SHA-256.
//!
//! ```ron
//! "mnist-files": Download(files: Mnist),   // or FashionMnist, Dsprites, Shapes3d, CelebA,
//!                                          // and FidInception: the weights that FID needs
//! "own-files": Download(files: Pinned([    // or your own
//!     (name: "codes.npy", bytes: 4096,
//!      sha256: "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7",
//!      mirrors: ["https://example.org/codes.npy.gz", "file:/data/codes.npy"]),
//! ])),
//! ```
//!
//! The data folder (`--data DIR`, or `data` in the pipeline) is searched first, for files that are
//! raw or gzipped; then mirrors are asked in order. Whatever is found counts only if its hash is
//! right. Files are kept unpacked, once, whichever stages and pipelines name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use crate::data::FileSet;
use crate::download::{
    DownloadError, Origin, Patience, PinnedFile, Surroundings, Transfer, is_right, obtain,
};
use crate::engine::context::{RunContext, StageError, log_line};
use crate::engine::digest::ContentDigest;
use crate::engine::events::Progress;
use crate::engine::stage::{Input, Kind, Problem, Producer, Stage};

/// Settings of a download stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// Which files.
    pub files: FileSet,
}

impl Stage for Download {
    fn kind(&self) -> Kind {
        Kind { name: "Download", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        Vec::new()
    }

    fn output(&self, _inputs: &[Vec<&str>]) -> String {
        "files".to_owned()
    }

    fn problems(&self, _inputs: &[Vec<Producer>]) -> Vec<Problem> {
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
        // What is here stays when a later file fails or the run is stopped.
        let state = context.state_folder().to_owned();
        fs::create_dir_all(state.join(KEPT))?;
        for file in &files {
            let to = kept_file(&state, file);
            if !is_right(file, &to) {
                discard(&to)?;
                fetch(context, file, &to, before, total)?;
            }
            before = before.saturating_add(file.bytes);
        }
        for file in &files {
            let from = kept_file(&state, file);
            let digest = ContentDigest::of_file(&from)?;
            link(&from, &context.writer().path(file.name.as_str())?)?;
            context.aliases().add(&file.sha256.to_string(), &digest)?;
        }
        Ok(())
    }
}

/// The folder for whole files in the state of the stage.
const KEPT: &str = "files";

/// Returns where a file lies in the state of the stage that fetches it.
pub(super) fn kept_file(state: &Path, file: &PinnedFile) -> PathBuf {
    state.join(KEPT).join(file.name.as_str())
}

/// Gives a file a second name; file systems without such names get a copy, whole or not at all.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    let linked = fs::hard_link(from, to);
    if linked.as_ref().is_err_and(|cause| cause.kind() != io::ErrorKind::AlreadyExists) {
        let copy = to.with_extension("copy");
        fs::copy(from, &copy)?;
        return fs::rename(copy, to);
    }
    linked
}

/// Removes what a killed process may have left.
fn discard(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

/// Leaves one file at `to`; `before` of `total` bytes are here already.
fn fetch(
    context: &mut RunContext,
    file: &PinnedFile,
    to: &Path,
    before: u64,
    total: u64,
) -> Result<(), StageError> {
    if let Some(known) = context.aliases().find(&file.sha256.to_string()) {
        context.log(&format!("{}: in the cache already", file.name));
        return Ok(link(&known, to)?);
    }
    let supply = context.supply().clone();
    let parts = context.state_folder().join("parts");
    let stop = context.stop_flag();
    let mut progress = |transfer: Transfer| {
        // A packed file counts as the share of it that is here.
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
    let around = Surroundings {
        local: &supply.folders,
        parts: &parts,
        offline: supply.offline,
        patience: Patience::default(),
        stop: &|| stop.load(Ordering::Relaxed),
        progress: &mut progress,
        log: &log_line,
    };
    match obtain(file, to, around) {
        Ok(Origin::Local(path)) => context.log(&format!("{}: {}", file.name, path.display())),
        Ok(Origin::Mirror(mirror)) => context.log(&format!("{}: {mirror}", file.name)),
        Err(DownloadError::Stopped) => return Err(StageError::Stopped),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
