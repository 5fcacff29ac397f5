//! `pcae-run report --check`: whether a stored report matches this program and this pipeline file.
//!
//! Needs no cache. The key of each stage is made anew from the present plan; what only a run can
//! know, the contents of its inputs, comes from the manifest, where each is the result of a stage
//! whose own key is checked. Only outside files that are not here, environment variables and the
//! compute backend are believed.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::manifest::{Manifest, ManifestEntry};
use super::publish;
use crate::cli::args::Common;
use crate::cli::error::{CommandError, Finding};
use crate::cli::output::terminal;
use crate::cli::workspace::{load_recorded_plan, scale_choice};
use crate::engine::digest::ContentDigest;
use crate::engine::key::KeyRecord;
use crate::engine::key::builder::{self, Contents};
use crate::engine::key::difference::Difference;
use crate::engine::pipeline::source::Source;
use crate::engine::plan::{Plan, PlannedStage, StageIndex};
use crate::engine::stage::artifact::plain_path;
use crate::engine::system::regular_file;
use crate::report::folder::MANIFEST;
use crate::stages::AnyStage;

/// Compares a report with the program and the pipeline file.
pub(crate) fn check(common: &Common, file: Option<&Path>) -> Result<ExitCode, CommandError> {
    let file =
        file.ok_or_else(|| CommandError::usage("pass the pipeline file to check against"))?;
    let source = Source::read(file)?.at_scale(scale_choice(common));
    // The name is the same whatever else was there.
    let named = load_recorded_plan(&source, &BTreeSet::new())?;
    let folder = common.reports.join(named.name());
    let manifest = read(&folder.join(MANIFEST))?;
    let plan = load_recorded_plan(&source, &manifest.present)?;
    let mut differences = Vec::new();
    let mut matching = 0;
    for planned in plan.stages() {
        let found = match manifest.stages.get(&planned.name) {
            Some(entry) => compare(&plan, planned, entry, &manifest)?,
            None => vec!["has no result in the report".to_owned()],
        };
        matching += usize::from(found.is_empty());
        differences.extend(found.into_iter().map(|line| (planned.name.clone(), line)));
    }
    for name in manifest.stages.keys().filter(|name| plan.find(name).is_none()) {
        differences.push((name.clone(), "is not in the pipeline".to_owned()));
    }
    let mut files = 0;
    for (name, digest) in &manifest.files {
        let found = wrong_file(&folder, name, digest);
        files += usize::from(found.is_none());
        differences.extend(found.map(|what| (name.clone(), what.to_owned())));
    }
    print(common, matching, files, &differences);
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { Finding::Different.into() })
}

fn read(path: &Path) -> Result<Manifest, CommandError> {
    let text = regular_file::open(path).and_then(io::read_to_string).map_err(|cause| {
        let path = path.display();
        let error = CommandError::usage(format!("{path}: {cause}"));
        error.hint("`pcae-run report FILE` writes it")
    })?;
    serde_json::from_str(&text).map_err(|error| {
        CommandError::usage(format!("{} is not a manifest: {error}", path.display()))
    })
}

/// Returns every component in which a stage's present record differs from the kept one.
fn compare(
    plan: &Plan<AnyStage>,
    planned: &PlannedStage<AnyStage>,
    entry: &ManifestEntry,
    manifest: &Manifest,
) -> Result<Vec<String>, CommandError> {
    let contents = StoredContents { plan, manifest, record: &entry.record };
    let present = builder::record(plan, planned, &contents)?;
    if present.key() == entry.key && entry.record.kind == entry.kind {
        return Ok(Vec::new());
    }
    let differences = present.differences(&entry.record);
    if differences.is_empty() {
        return Ok(vec!["has a key that does not match its record".to_owned()]);
    }
    Ok(differences.iter().map(Difference::line).collect())
}

/// The contents of keys as a stored report has them.
struct StoredContents<'a> {
    plan: &'a Plan<AnyStage>,
    manifest: &'a Manifest,
    /// The stage's record in the report.
    record: &'a KeyRecord,
}

impl Contents for StoredContents<'_> {
    type Error = CommandError;

    fn of_stage(&self, stage: StageIndex) -> Option<ContentDigest> {
        Some(self.manifest.stages.get(&self.plan.stages()[stage].name)?.digest)
    }

    fn of_file(
        &self,
        name: &str,
        path: Option<&Path>,
    ) -> Result<Option<ContentDigest>, CommandError> {
        let Some(path) = path else {
            return Ok(self.record.files.get(name).copied());
        };
        ContentDigest::of_path(path).map(Some).map_err(|cause| publish::at(path, &cause))
    }

    fn of_variable(&self, name: &str) -> Result<Option<String>, CommandError> {
        Ok(self.record.variables.get(name).cloned().flatten())
    }

    fn backend(&self) -> Option<&str> {
        self.record.backend.as_deref()
    }
}

/// Returns what is wrong with a file of the report.
fn wrong_file(folder: &Path, name: &str, digest: &ContentDigest) -> Option<&'static str> {
    let Ok(name) = plain_path(name) else {
        return Some("is not a valid file name");
    };
    match ContentDigest::of_file(&folder.join(name)) {
        Err(_) => Some("is missing"),
        Ok(found) if found != *digest => Some("differs from the file that its stage wrote"),
        Ok(_) => None,
    }
}

fn print(common: &Common, keys: usize, files: usize, differences: &[(String, String)]) {
    if common.json {
        let differences: Vec<_> = differences
            .iter()
            .map(|(name, what)| json!({"name": name, "difference": what}))
            .collect();
        terminal::json(&json!({"keys": keys, "files": files, "differences": differences}));
        return;
    }
    for (name, what) in differences {
        terminal::line(&format!("{name}: {what}"));
    }
    let verb = |count| if count == 1 { "matches" } else { "match" };
    let (key, file) = (terminal::count(keys, "key"), terminal::count(files, "file"));
    terminal::line(&format!("{key} {}, {file} {}", verb(keys), verb(files)));
}
