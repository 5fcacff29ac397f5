//! The files that the stages to run need and that are not on this machine.

use std::path::Path;

use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;
use crate::engine::plan::StageIndex;
use crate::engine::run::status::StageStatus;
use crate::stages::{MissingFile, missing_files};

/// Missing files, each with the stage that needs it.
pub(crate) struct MissingFiles {
    files: Vec<(String, MissingFile)>,
    /// The data folder, where there is one.
    folder: Option<String>,
}

impl MissingFiles {
    /// Looks for the files of the due stages.
    pub(crate) fn of(workspace: &Workspace, statuses: &[StageStatus], due: &[StageIndex]) -> Self {
        let folders: Vec<_> = workspace.plan.data().map(Path::to_owned).into_iter().collect();
        let aliases = workspace.cache.aliases();
        let mut files: Vec<(String, MissingFile)> = Vec::new();
        for &stage in due {
            let planned = &workspace.plan.stages()[stage];
            let key = match &statuses[stage] {
                StageStatus::Cached(result) => Some(result.key),
                StageStatus::Stale { record, .. } => Some(record.key()),
                StageStatus::Waiting { .. } => None,
            };
            let kept = key.map(|key| workspace.cache.state_folder(&key));
            for file in missing_files(&planned.stage, &folders, &aliases, kept.as_deref()) {
                if !files.iter().any(|(_, known)| *known == file) {
                    files.push((planned.name.clone(), file));
                }
            }
        }
        let folder = workspace.plan.data().map(|folder| folder.display().to_string());
        Self { files, folder }
    }

    /// Returns the files that can't be downloaded, and those that will be.
    pub(crate) fn partition(self, offline: bool) -> (Self, Self) {
        let folder = self.folder.clone();
        let can_be_downloaded =
            |(_, file): &(String, MissingFile)| !offline && file.is_on_the_web();
        let (downloads, unavailable) = self.files.into_iter().partition(can_be_downloaded);
        (Self { files: unavailable, folder: folder.clone() }, Self { files: downloads, folder })
    }

    /// Returns whether nothing is missing.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns how many files are missing and how large they are, in words.
    pub(crate) fn amount(&self) -> String {
        let bytes = self.files.iter().fold(0, |sum: u64, (_, file)| sum.saturating_add(file.bytes));
        format!("{} ({})", terminal::count(self.files.len(), "file"), terminal::size(bytes))
    }

    /// Returns that these files are not available, and where to put them.
    pub(crate) fn error(&self, offline: bool) -> CommandError {
        let why = if offline { "offline" } else { "(no download URL is known)" };
        let message = format!("{} not available {why}:\n{}", self.amount(), self.list());
        CommandError::failed(message).hint(self.advice())
    }

    /// Returns each file with its size, the stage that needs it and its addresses.
    pub(crate) fn list(&self) -> String {
        let mut lines = Vec::new();
        for (stage, file) in &self.files {
            let (name, size) = (&file.name, terminal::size(file.bytes));
            lines.push(format!("  {name}  {size}  (stage `{stage}`)"));
            lines.extend(file.mirrors.iter().map(|mirror| format!("      {mirror}")));
            if file.mirrors.is_empty() {
                lines.push("      no URL is known".to_owned());
            }
        }
        lines.join("\n")
    }

    /// Returns where the files can be put so that they are found.
    pub(crate) fn advice(&self) -> String {
        let place = match &self.folder {
            Some(folder) => format!("the data folder `{folder}`, or another one and pass"),
            None => "a folder and pass".to_owned(),
        };
        let folder = self.folder.as_deref().unwrap_or("DIR");
        let paths = self.files.iter().map(|(_, file)| format!("\n  {folder}/{}", file.name));
        format!(
            "put them into {place} it with `--data DIR`; files may be gzipped, and up to two \
             folders deep:{}",
            paths.collect::<String>()
        )
    }
}
