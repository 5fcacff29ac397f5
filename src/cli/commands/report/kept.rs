//! A report folder read by itself: its tables and how they were made, without a cache.

use std::io;
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::engine::digest::ContentDigest;
use crate::engine::key::KeyRecord;
use crate::engine::key::builder;
use crate::engine::plan::PlannedStage;
use crate::engine::system::regular_file;
use crate::report::Table;
use crate::report::folder::{MANIFEST, TABLE, name_in_folder};
use crate::stages::AnyStage;

/// A report folder.
pub(crate) struct KeptReport {
    /// Where it is.
    pub folder: PathBuf,
    /// The keys and digests of its results.
    pub manifest: Manifest,
}

impl KeptReport {
    /// Opens a folder that must be a report.
    pub(crate) fn open(folder: &Path) -> Result<Self, CommandError> {
        let manifest = Manifest::read(folder)?;
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    /// Opens a folder if it has a report.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>, CommandError> {
        if folder.join(MANIFEST).is_file() { Self::open(folder).map(Some) } else { Ok(None) }
    }

    /// Returns the names of the stages whose tables are here, in order.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        let stages = self.manifest.stages.iter();
        stages.filter(|(_, entry)| entry.kind == "Table").map(|(name, _)| name.as_str())
    }

    /// Returns whether it has the result of a stage with the same settings.
    pub(crate) fn is_of(&self, planned: &PlannedStage<AnyStage>) -> bool {
        let present = builder::bare_record(&*planned.stage);
        self.manifest.stages.get(&planned.name).is_some_and(|entry| {
            let KeyRecord { kind, version, settings, .. } = &entry.record;
            (kind, version, settings) == (&present.kind, &present.version, &present.settings)
        })
    }

    /// Reads the table of a stage.
    pub(crate) fn table(&self, stage: &str) -> Result<Table, CommandError> {
        let name = name_in_folder(stage, TABLE).unwrap_or_default();
        let path = self.folder.join(&name);
        let bytes = regular_file::open(&path).and_then(io::read_to_string).map_err(|cause| {
            let error = CommandError::usage(format!("{}: {cause}", path.display()));
            error.hint(
                "a report has it since tables can be traced without a cache: write the report anew",
            )
        })?;
        if self.manifest.files.get(&name) != Some(&ContentDigest::of_bytes(bytes.as_bytes())) {
            let path = path.display();
            let wrong = format!("{path} differs from the file that its stage wrote");
            terminal::warning(&CommandError::usage(wrong));
        }
        serde_json::from_str(&bytes).map_err(|error| {
            CommandError::usage(format!("{} is not a table: {error}", path.display()))
        })
    }
}
