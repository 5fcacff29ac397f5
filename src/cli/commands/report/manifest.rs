//! `manifest.json`: the key, its pre-image and the result's digest of every stage of a report.
//!
//! No times and no hosts, so that equal results give equal bytes wherever they were made.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::key::KeyRecord;
use crate::engine::plan::StageIndex;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::StageSet;
use crate::engine::stage::artifact::StoredArtifact;
use crate::engine::system::regular_file;
use crate::report::folder::{MANIFEST, name_in_folder};

/// What a report is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The pipeline's name.
    pub pipeline: String,
    /// The outside files that the pipeline asked for and that were there.
    #[serde(default)]
    pub present: BTreeSet<String>,
    /// Every stage that has a result.
    pub stages: BTreeMap<String, ManifestEntry>,
    /// The files beside the manifest that stages have made.
    pub files: BTreeMap<String, ContentDigest>,
    /// The files beside the manifest that the report itself has made of them. Some show times, so
    /// that these digests are the only ones that differ where the same results were made twice.
    #[serde(default)]
    pub pages: BTreeMap<String, ContentDigest>,
}

/// What a result was computed from, and what came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ManifestEntry {
    /// The stage's kind.
    pub kind: String,
    /// The key.
    pub key: StageKey,
    /// The digest of the result.
    pub digest: ContentDigest,
    /// The key's pre-image.
    pub record: KeyRecord,
    /// The stages that it read, in the order in which it knows their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// All that a table, a figure or a conclusion consists of: `digest` is the digest of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<StoredArtifact>,
}

impl Manifest {
    /// Reads the manifest of a report folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, CommandError> {
        let path = folder.join(MANIFEST);
        let text = regular_file::open(&path).and_then(io::read_to_string).map_err(|cause| {
            let error = CommandError::usage(format!("{}: {cause}", path.display()));
            error.hint("`pcae-run report FILE` writes it")
        })?;
        Self::parse(text.as_bytes()).map_err(|error| {
            CommandError::usage(format!("{} is not a manifest: {error}", path.display()))
        })
    }

    /// Parses a manifest.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// Lists what the cache holds.
    pub(super) fn of(
        workspace: &Workspace,
        statuses: &[StageStatus],
    ) -> Result<Self, CommandError> {
        let present = workspace.plan.choices().iter().filter(|(_, is_there)| **is_there);
        let mut manifest = Self {
            pipeline: workspace.plan.name().to_owned(),
            present: present.map(|(name, _)| name.clone()).collect(),
            stages: BTreeMap::new(),
            files: BTreeMap::new(),
            pages: BTreeMap::new(),
        };
        for (planned, status) in workspace.plan.stages().iter().zip(statuses) {
            let StageStatus::Cached(result) = status else {
                continue;
            };
            let record = workspace.cache.entry(&result.key)?.record;
            let is_report = planned.stage.as_stage().is_report();
            let name = |stage: StageIndex| workspace.plan.stages()[stage].name.clone();
            let entry = ManifestEntry {
                kind: record.kind.clone(),
                key: result.key,
                digest: result.artifact.digest,
                record,
                reads: planned.members().map(name).collect(),
                artifact: is_report.then(|| result.artifact.clone()),
            };
            manifest.stages.insert(planned.name.clone(), entry);
            if is_report {
                manifest.files.extend(result.artifact.files.iter().filter_map(|file| {
                    Some((name_in_folder(&planned.name, &file.name)?, file.digest))
                }));
            }
        }
        Ok(manifest)
    }

    /// Returns the file's text: one line a stage, since there may be thousands.
    pub(super) fn text(&self) -> String {
        // Plain maps, strings and numbers can't fail.
        let line = |value: Value| serde_json::to_string(&value).unwrap_or_default();
        let stages: Vec<String> = self
            .stages
            .iter()
            .map(|(name, entry)| format!("{}: {}", line(json!(name)), line(json!(entry))))
            .collect();
        format!(
            "{{\n\"pipeline\": {},\n\"present\": {},\n\"files\": {},\n\"pages\": {},\n\"stages\": \
             {{\n{}\n}}\n}}\n",
            line(json!(self.pipeline)),
            line(json!(self.present)),
            line(json!(self.files)),
            line(json!(self.pages)),
            stages.join(",\n")
        )
    }
}
