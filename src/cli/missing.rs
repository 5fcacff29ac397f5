//! The files that a run would have to fetch, all of them, before anything runs.

use std::path::Path;

use super::session::Session;
use super::terminal;
use crate::engine::assess::Standing;
use crate::engine::plan::StageIndex;
use crate::stages::{MissingFile, missing_files};

/// Files that are not on this machine, each with the stage that wants it.
pub(super) struct Missing {
    files: Vec<(String, MissingFile)>,
    searched: Option<String>,
}

impl Missing {
    /// Looks for the files of the due stages.
    pub(super) fn of(session: &Session, standings: &[Standing], due: &[StageIndex]) -> Self {
        let folders: Vec<_> = session.plan.data().map(Path::to_owned).into_iter().collect();
        let aliases = session.cache.aliases();
        let mut files: Vec<(String, MissingFile)> = Vec::new();
        for &stage in due {
            let planned = &session.plan.stages()[stage];
            let key = match &standings[stage] {
                Standing::Cached(result) => Some(result.key),
                Standing::Stale { record, .. } => Some(record.key()),
                Standing::Waiting { .. } => None,
            };
            let kept = key.map(|key| session.cache.state_folder(&key));
            for file in missing_files(&planned.stage, &folders, &aliases, kept.as_deref()) {
                if !files.iter().any(|(_, known)| *known == file) {
                    files.push((planned.name.clone(), file));
                }
            }
        }
        let searched = session.plan.data().map(|folder| folder.display().to_string());
        Self { files, searched }
    }

    /// Tells the files that can't be had from those that will be fetched.
    pub(super) fn sort(self, offline: bool) -> (Self, Self) {
        let searched = self.searched.clone();
        let can_be_fetched = |(_, file): &(String, MissingFile)| !offline && file.is_on_the_web();
        let (fetched, lost) = self.files.into_iter().partition(can_be_fetched);
        (Self { files: lost, searched: searched.clone() }, Self { files: fetched, searched })
    }

    /// Returns whether nothing is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns how many files are missing and how large they are, in words.
    pub(super) fn amount(&self) -> String {
        let bytes = self.files.iter().fold(0, |sum: u64, (_, file)| sum.saturating_add(file.bytes));
        format!("{} ({})", terminal::count(self.files.len(), "file"), terminal::size(bytes))
    }

    /// Returns that these files can't be had, and what to do about it.
    pub(super) fn complaint(&self, offline: bool) -> String {
        let cause = if offline { "the network is off" } else { "no web address is known" };
        format!("{} can't be had, for {cause}:\n{}", self.amount(), self.list())
    }

    /// Returns each file with its size and where it can be had, and a folder that would do.
    pub(super) fn list(&self) -> String {
        let mut lines = Vec::new();
        for (stage, file) in &self.files {
            lines.push(format!(
                "  {}  {}  (stage `{stage}`)",
                file.name,
                terminal::size(file.bytes)
            ));
            lines.extend(file.mirrors.iter().map(|mirror| format!("      {mirror}")));
            if file.mirrors.is_empty() {
                lines.push("      no address is known".to_owned());
            }
        }
        lines.push(match &self.searched {
            Some(folder) => format!(
                "put them into the data folder `{folder}`, or into another and name it with \
                 `--data DIR`; there each may lie raw or gzipped, up to two folders deep:"
            ),
            None => "put them into a folder and name it with `--data DIR`; there each may lie raw \
                     or gzipped, up to two folders deep:"
                .to_owned(),
        });
        let folder = self.searched.as_deref().unwrap_or("DIR");
        lines.extend(self.files.iter().map(|(_, file)| format!("  {folder}/{}", file.name)));
        lines.join("\n")
    }
}
