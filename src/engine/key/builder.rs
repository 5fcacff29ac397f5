//! The one builder of keys: from a planned stage, and the contents that only a run knows.
//!
//! `plan`, `why`, `status`, the run itself and `report --check` all build their keys here, so that
//! they can't disagree. They differ only in where contents come from ([`Contents`]).

use std::path::Path;

use serde_json::Value;

use super::record::{InputRecord, KeyRecord};
use crate::engine::digest::ContentDigest;
use crate::engine::plan::{Plan, PlannedStage, StageIndex, file_name};
use crate::engine::stage::{Needs, Reference, StageSet};

/// What a key holds that the plan doesn't know.
pub trait Contents {
    /// Why a content can't be told.
    type Error;

    /// Returns the digest of a stage's result, if there is one.
    fn of_stage(&self, stage: StageIndex) -> Option<ContentDigest>;

    /// Returns the digest of an outside file by its name in the key; `path` is where it was found.
    fn of_file(
        &self,
        name: &str,
        path: Option<&Path>,
    ) -> Result<Option<ContentDigest>, Self::Error>;

    /// Returns the value of an environment variable, if it is set.
    fn of_variable(&self, name: &str) -> Result<Option<String>, Self::Error>;

    /// Returns the compute backend.
    fn backend(&self) -> Option<&str>;
}

/// Returns the part of a record that a stage itself decides: kind, version, settings.
pub fn bare_record<S: StageSet>(stage: &S) -> KeyRecord {
    KeyRecord::new(stage.as_stage().kind(), settings(stage))
}

/// Returns a stage's settings; the kind's own name around them is dropped.
pub fn settings<S: StageSet>(stage: &S) -> Value {
    match serde_json::to_value(stage) {
        Ok(Value::Object(map)) if map.len() == 1 => {
            map.into_iter().next().map(|(_, inner)| inner).unwrap_or_default()
        }
        other => other.unwrap_or_default(),
    }
}

/// Returns the record of a stage whose inputs are known.
pub fn record<S: StageSet, C: Contents>(
    plan: &Plan<S>,
    planned: &PlannedStage<S>,
    contents: &C,
) -> Result<KeyRecord, C::Error> {
    complete(bare_record(&*planned.stage), plan, planned, contents)
}

/// Completes a bare record, whatever form its settings have.
pub fn complete<S: StageSet, T, C: Contents>(
    mut record: KeyRecord<T>,
    plan: &Plan<S>,
    planned: &PlannedStage<S>,
    contents: &C,
) -> Result<KeyRecord<T>, C::Error> {
    let stage = planned.stage.as_stage();
    for input in &planned.inputs {
        let one = match (&input.reference, &input.members[..]) {
            (Reference::One(_), [member, ..]) => contents.of_stage(*member).map(InputRecord::One),
            _ => None,
        };
        let input_record = one.unwrap_or_else(|| {
            let members = input.members.iter().filter_map(|&member| {
                let labels = plan.stages()[member].labels.clone();
                Some((labels, contents.of_stage(member)?))
            });
            InputRecord::Each(members.collect())
        });
        record.inputs.insert(input.role.clone(), input_record);
    }
    let externals = stage.externals();
    for file in &externals.files {
        let name = file_name(file);
        let path = planned.files.get(&name).map(std::path::PathBuf::as_path);
        if let Some(digest) = contents.of_file(&name, path)? {
            record.files.insert(name, digest);
        }
    }
    for name in externals.variables {
        let value = contents.of_variable(&name)?;
        record.variables.insert(name, value);
    }
    if stage.needs() == Needs::Device {
        record.backend = contents.backend().map(str::to_owned);
    }
    Ok(record)
}
