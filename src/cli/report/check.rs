//! `pcae-run report --check`: whether a kept report is of this program and this pipeline file.
//!
//! Needs no cache. The key of each stage is made anew from the present plan; what only a run can
//! know, the contents of its inputs, comes from the manifest, where each is the result of a stage
//! whose own key is checked. Only outside files that are not here, environment variables and the
//! compute backend are believed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::MANIFEST;
use super::manifest::{Manifest, StageProof};
use crate::cli::args::Common;
use crate::cli::failure::{Failure, STAGE_FAILED};
use crate::cli::publish;
use crate::cli::session::load_recorded_plan;
use crate::cli::terminal;
use crate::engine::artifact::plain_path;
use crate::engine::assess;
use crate::engine::difference::Difference;
use crate::engine::digest::ContentDigest;
use crate::engine::key::{InputRecord, KeyRecord};
use crate::engine::plan::{Plan, PlannedStage};
use crate::engine::source::Source;
use crate::engine::stage::{Needs, Reference, StageSet};
use crate::stages::AnyStage;

/// Compares a report with the program and the pipeline file.
pub(crate) fn check(common: &Common, file: Option<&Path>) -> Result<ExitCode, Failure> {
    let file = file.ok_or_else(|| Failure::usage("name the pipeline file to check against"))?;
    let source = Source::read(file)?;
    // The name is the same whatever else was there.
    let named = load_recorded_plan(&source, &BTreeSet::new())?;
    let folder = common.reports.join(named.name());
    let manifest = read(&folder.join(MANIFEST))?;
    let plan = load_recorded_plan(&source, &manifest.present)?;
    let mut differences = Vec::new();
    let mut matching = 0;
    for planned in plan.stages() {
        let found = match manifest.stages.get(&planned.name) {
            Some(proof) => compare(&plan, planned, proof, &manifest)?,
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
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(STAGE_FAILED) })
}

fn read(path: &Path) -> Result<Manifest, Failure> {
    let bytes = fs::read(path).map_err(|cause| {
        let path = path.display();
        Failure::usage(format!("{path}: {cause}; `pcae-run report FILE` writes it"))
    })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Failure::usage(format!("{} is no manifest: {error}", path.display())))
}

/// Returns every component in which a stage's present record differs from the kept one.
fn compare(
    plan: &Plan<AnyStage>,
    planned: &PlannedStage<AnyStage>,
    proof: &StageProof,
    manifest: &Manifest,
) -> Result<Vec<String>, Failure> {
    let present = present_record(plan, planned, &proof.record, manifest)?;
    if present.key() == proof.key && proof.record.kind == proof.kind {
        return Ok(Vec::new());
    }
    let differences = present.differences(&proof.record);
    if differences.is_empty() {
        return Ok(vec!["has a key that is not that of its record".to_owned()]);
    }
    Ok(differences.iter().map(Difference::line).collect())
}

/// Makes a stage's record from the present plan and the results that the manifest tells of.
fn present_record(
    plan: &Plan<AnyStage>,
    planned: &PlannedStage<AnyStage>,
    kept: &KeyRecord,
    manifest: &Manifest,
) -> Result<KeyRecord, Failure> {
    let stage = planned.stage.as_stage();
    let mut record = assess::bare_record(&*planned.stage);
    for input in &planned.inputs {
        let members: Vec<_> = input
            .members
            .iter()
            .filter_map(|&member| {
                let member = &plan.stages()[member];
                Some((member.labels.clone(), manifest.stages.get(&member.name)?.digest))
            })
            .collect();
        let content = match (&input.reference, members.first()) {
            (Reference::One(_), Some((_, digest))) => InputRecord::One(*digest),
            _ => InputRecord::Each(members),
        };
        record.inputs.insert(input.role.clone(), content);
    }
    record.files.clone_from(&kept.files);
    for (name, path) in &planned.files {
        let digest = ContentDigest::of_path(path).map_err(|cause| publish::at(path, &cause))?;
        record.files.insert(name.clone(), digest);
    }
    let variables = stage.externals().variables.into_iter();
    let believed = |name: String| {
        let value = kept.variables.get(&name).cloned().flatten();
        (name, value)
    };
    record.variables = variables.map(believed).collect::<BTreeMap<_, _>>();
    if stage.needs() == Needs::Device {
        record.backend.clone_from(&kept.backend);
    }
    Ok(record)
}

/// Returns what is wrong with a file of the report.
fn wrong_file(folder: &Path, name: &str, digest: &ContentDigest) -> Option<&'static str> {
    let Ok(name) = plain_path(name) else {
        return Some("is no name of a file of a report");
    };
    match ContentDigest::of_file(&folder.join(name)) {
        Err(_) => Some("is not there"),
        Ok(found) if found != *digest => Some("is not the file that its stage made"),
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
