//! Curves of trainings that are shown to TensorBoard: while they run, or afterwards.

use std::io;
use std::path::Path;

use super::EPOCH_SECONDS;
use crate::engine::stage::context::RunContext;
use crate::engine::stage::run_record::RunRecord;
use crate::engine::system::clock;
use crate::training::{EventFile, History};

/// The event file of a training. Curves are only informative: failing to write them must not end a
/// training.
pub(super) struct LiveCurves(Option<EventFile>);

impl LiveCurves {
    /// Starts the file, if curves are wanted.
    pub(super) fn start(context: &RunContext) -> Self {
        let Some(folder) = context.curves_folder() else {
            return Self(None);
        };
        match EventFile::create(&folder.path, &folder.owner, clock::now() as f64) {
            Ok(file) => Self(Some(file)),
            Err(cause) => {
                let path = folder.path.display();
                context.log(&format!("no curves are shown in {path}: {cause}"));
                Self(None)
            }
        }
    }

    /// Shows the epochs that are new in the record; a file that can't be written any more is left.
    pub(super) fn show(&mut self, history: &History) {
        let now = clock::now() as f64;
        if self.0.as_mut().is_some_and(|file| file.update(history, |_| now).is_err()) {
            self.0 = None;
        }
    }
}

/// Writes the curves of a training that has ended, unless the folder has them: as they would have been
/// shown, epoch by epoch.
pub fn write_curves(
    folder: &Path,
    owner: &str,
    history: &History,
    run: &RunRecord,
) -> io::Result<()> {
    if EventFile::is_complete(folder, owner, history) {
        return Ok(());
    }
    let seconds = run.measured.get(EPOCH_SECONDS).map(Vec::as_slice).unwrap_or_default();
    let later = |epoch: usize| seconds.iter().skip(epoch + 1).sum::<f64>();
    let time = |epoch: usize| run.finished as f64 - later(epoch);
    EventFile::create(folder, owner, time(0))?.update(history, time)
}
