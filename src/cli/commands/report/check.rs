//! `pcae-run report --check`: whether a stored report matches this program and this pipeline file.
//!
//! Needs no cache. The key of each stage is made anew from the present plan; what only a run can
//! know, the contents of its inputs, comes from the manifest, where each is the result of a stage
//! whose own key is checked. Every file of the folder is tied to the result of its stage: its digest
//! to the list of the stage's files, and the digest of this list to the one that the manifest has for
//! the stage. Macros are made anew from the tables. Page and document show times that only the cache
//! knows, so they are compared with their digests. What remains believed is said at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::kept::KeptReport;
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
use crate::report::folder::{MANIFEST, NUMBERS, name_in_folder};
use crate::report::latex_macros;
use crate::stages::AnyStage;

/// Compares a report with the program and the pipeline file.
pub(crate) fn check(common: &Common, file: Option<&Path>) -> Result<ExitCode, CommandError> {
    let file =
        file.ok_or_else(|| CommandError::usage("pass the pipeline file to check against"))?;
    let source = Source::read(file)?.at_scale(scale_choice(common));
    // The name is the same whatever else was there.
    let named = load_recorded_plan(&source, &BTreeSet::new())?;
    let folder = common.reports.join(named.name());
    let manifest = Manifest::read(&folder)?;
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
    let report = KeptReport { folder, manifest };
    let mut files = 0;
    for (name, found) in checked_files(&report) {
        files += usize::from(found.is_none());
        differences.extend(found.map(|what| (name, what)));
    }
    let unproven = unproven(&report)?;
    print(common, (matching, files), &differences, &unproven);
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { Finding::Different.into() })
}

/// Returns every component in which a stage's present record differs from the kept one.
pub(in crate::cli::commands) fn compare(
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

/// Returns every file that the report should have, with what is wrong with it.
fn checked_files(report: &KeptReport) -> Vec<(String, Option<String>)> {
    let KeptReport { folder, manifest } = report;
    let mut checked = Vec::new();
    let mut made: BTreeMap<String, ContentDigest> = BTreeMap::new();
    for (stage, entry) in &manifest.stages {
        let Some(artifact) = &entry.artifact else {
            continue;
        };
        // The artifact's own digest is that of its files, or it could not have been read.
        if artifact.digest != entry.digest {
            let wrong = "lists files that do not have the digest of its result".to_owned();
            checked.push((stage.clone(), Some(wrong)));
        }
        made.extend(
            artifact
                .files
                .iter()
                .filter_map(|file| Some((name_in_folder(stage, &file.name)?, file.digest))),
        );
    }
    for (name, digest) in &manifest.files {
        let wrong = if made.get(name).is_none_or(|own| own == digest) {
            wrong_file(folder, name, digest).map(str::to_owned)
        } else {
            Some("is listed with a digest that its stage did not make".to_owned())
        };
        checked.push((name.clone(), wrong));
    }
    for name in made.keys().filter(|name| !manifest.files.contains_key(*name)) {
        checked.push((name.clone(), Some("is not listed, though its stage made it".to_owned())));
    }
    for (name, digest) in &manifest.pages {
        let wrong = if name == NUMBERS { wrong_numbers(report) } else { None };
        let differs = wrong_file(folder, name, digest);
        let differs = differs.map(|what| what.replace("its stage", "the report"));
        checked.push((name.clone(), differs.or(wrong)));
    }
    checked
}

/// Makes the macros of all numbers anew; returns what is wrong with the file of them.
fn wrong_numbers(report: &KeptReport) -> Option<String> {
    let named = report.tables().map(|name| Ok((name.to_owned(), report.table(name)?)));
    let tables: Vec<_> = named.collect::<Result<_, CommandError>>().ok()?;
    let text =
        regular_file::open(&report.folder.join(NUMBERS)).and_then(io::read_to_string).ok()?;
    let mut expected: Vec<String> =
        latex_macros::render(&tables).lines().map(str::to_owned).collect();
    let mut found: Vec<String> = text.lines().map(str::to_owned).collect();
    // The report has its tables as they stand in the pipeline file.
    expected.sort_unstable();
    found.sort_unstable();
    (expected != found).then(|| "does not have the numbers of the tables".to_owned())
}

/// Returns what a check can't show.
fn unproven(report: &KeptReport) -> Result<Vec<String>, CommandError> {
    let KeptReport { folder, manifest } = report;
    let mut unproven = vec![
        "that the manifest is honest: whoever writes all of it anew can make any report match; only \
         a run of the pipeline, or a signature of someone you trust, shows more"
            .to_owned(),
    ];
    if !manifest.pages.is_empty() {
        let pages: Vec<&str> =
            manifest.pages.keys().map(String::as_str).filter(|name| *name != NUMBERS).collect();
        unproven.push(format!("times, logs and hardware in {}", pages.join(", ")));
    }
    let known = |name: &String| {
        name == MANIFEST || manifest.files.contains_key(name) || manifest.pages.contains_key(name)
    };
    let listed = fs::read_dir(folder).map_err(|cause| publish::at(folder, &cause))?;
    let names = listed.filter_map(|item| item.ok()?.file_name().into_string().ok());
    let mut others: Vec<String> = names.filter(|name| !known(name)).collect();
    others.sort_unstable();
    if !others.is_empty() {
        unproven.push(format!("files that no stage of the report made: {}", others.join(", ")));
    }
    Ok(unproven)
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

fn print(
    common: &Common,
    (keys, files): (usize, usize),
    differences: &[(String, String)],
    unproven: &[String],
) {
    if common.json {
        let differences: Vec<_> = differences
            .iter()
            .map(|(name, what)| json!({"name": name, "difference": what}))
            .collect();
        terminal::json(&json!({
            "keys": keys, "files": files, "differences": differences, "unproven": unproven,
        }));
        return;
    }
    for (name, what) in differences {
        terminal::line(&format!("{name}: {what}"));
    }
    let verb = |count| if count == 1 { "matches" } else { "match" };
    let (key, file) = (terminal::count(keys, "key"), terminal::count(files, "file"));
    terminal::line(&format!("{key} {}, {file} {}", verb(keys), verb(files)));
    for what in unproven {
        terminal::note(&format!("not proven: {what}"));
    }
}
