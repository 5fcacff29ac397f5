//! `Download`: files from the net, each known beforehand by its SHA-256.
//!
//! ```ron
//! "mnist-files": Download(files: Mnist),   // or FashionMnist, Dsprites, Shapes3d, CelebA
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
use std::path::Path;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use crate::data::FileSet;
use crate::download::{
    DownloadError, Origin, Patience, PinnedFile, Surroundings, Transfer, obtain,
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

    fn output(&self, _inputs: &[Vec<String>]) -> String {
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
        let total = files.iter().map(|file| file.bytes).sum();
        let mut before = 0;
        for file in &files {
            let to = context.writer().path(file.name.as_str())?;
            fetch(context, file, &to, before, total)?;
            let digest = ContentDigest::of_file(&to)?;
            context.aliases().add(&file.sha256.to_string(), &digest)?;
            before += file.bytes;
        }
        Ok(())
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
    if let Some(kept) = context.aliases().find(&file.sha256.to_string()) {
        context.log(&format!("{}: in the cache already", file.name));
        // A second name for the same bytes; file systems without such names get a copy.
        return Ok(fs::hard_link(&kept, to).or_else(|_| fs::copy(&kept, to).map(drop))?);
    }
    let supply = context.supply().clone();
    let parts = context.parts_folder().to_owned();
    let stop = context.stop_flag();
    let mut progress = |transfer: Transfer| {
        context.progress(Progress {
            done: before + transfer.done,
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
