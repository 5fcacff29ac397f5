//! Why a table changed: the root causes, found by comparing the manifests of two reports.
//!
//! A report folder's `manifest.json` has the key record of every stage. From the table, inputs are
//! followed by the digests of their contents to the stages that computed them, in both manifests;
//! where two records differ in more than their inputs, that is a root cause.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::cli::commands::report::manifest::Manifest;
use crate::engine::digest::ContentDigest;
use crate::engine::key::{InputRecord, KeyRecord};

/// A change and the stages that it concerns directly.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct RootCause {
    /// What changed, such as `epochs 20 -> 40`.
    pub change: String,
    /// The stages whose own record says so.
    pub stages: Vec<String>,
}

/// Returns the root causes behind a table, those of the most stages first.
pub(super) fn root_causes(old: &Manifest, new: &Manifest, table: &str) -> Vec<RootCause> {
    let mut walk = Walk { old, new, visited: BTreeSet::new(), found: BTreeMap::new() };
    walk.visit(table, table);
    let cause = |(change, stages): (String, BTreeSet<String>)| RootCause {
        change,
        stages: stages.into_iter().collect(),
    };
    let mut causes: Vec<RootCause> = walk.found.into_iter().map(cause).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.stages.len()));
    causes
}

struct Walk<'a> {
    old: &'a Manifest,
    new: &'a Manifest,
    visited: BTreeSet<(String, String)>,
    found: BTreeMap<String, BTreeSet<String>>,
}

impl Walk<'_> {
    fn visit(&mut self, old_name: &str, new_name: &str) {
        if !self.visited.insert((old_name.to_owned(), new_name.to_owned())) {
            return;
        }
        let (Some(old), Some(new)) = (self.old.stages.get(old_name), self.new.stages.get(new_name))
        else {
            return;
        };
        if old.digest == new.digest {
            return;
        }
        if old.record == new.record {
            self.add("same key, different result: another kind of processor or device, or a stage that is not deterministic", new_name);
        }
        for difference in new.record.differences(&old.record) {
            if !difference.is_input() {
                self.add(&difference.line(), new_name);
            }
        }
        let (old_inputs, new_inputs) = (contents(&old.record), contents(&new.record));
        for (role, new_digest) in &new_inputs {
            match old_inputs.get(role) {
                Some(old_digest) if old_digest == new_digest => {}
                Some(old_digest) => self.follow(*old_digest, *new_digest, role, new_name),
                None => self.add(&format!("input {role} was added"), new_name),
            }
        }
        for role in old_inputs.keys().filter(|role| !new_inputs.contains_key(*role)) {
            self.add(&format!("input {role} was removed"), new_name);
        }
    }

    /// Visits the stages that computed two contents, preferably of the same name.
    fn follow(&mut self, old: ContentDigest, new: ContentDigest, role: &str, reader: &str) {
        let (old, new) = (producers(self.old, old), producers(self.new, new));
        let namesake = new.iter().find(|name| old.contains(name)).copied();
        let pair = match (old.first(), new.first()) {
            _ if namesake.is_some() => namesake.zip(namesake),
            (Some(old), Some(new)) => Some((*old, *new)),
            _ => None,
        };
        match pair.map(|(old, new)| (old.to_owned(), new.to_owned())) {
            Some((old, new)) => self.visit(&old, &new),
            None => self.add(&format!("input {role} changed"), reader),
        }
    }

    fn add(&mut self, change: &str, stage: &str) {
        self.found.entry(change.to_owned()).or_default().insert(stage.to_owned());
    }
}

fn producers(manifest: &Manifest, digest: ContentDigest) -> Vec<&str> {
    let stages = manifest.stages.iter().filter(|(_, entry)| entry.digest == digest);
    stages.map(|(name, _)| name.as_str()).collect()
}

/// Returns the content of every input: by role, and by labels within a family.
fn contents(record: &KeyRecord) -> BTreeMap<String, ContentDigest> {
    let mut found = BTreeMap::new();
    for (role, input) in &record.inputs {
        match input {
            InputRecord::One(digest) => {
                found.insert(role.clone(), *digest);
            }
            InputRecord::Each(members) => {
                for (labels, digest) in members {
                    let labels = labels.iter().map(|(axis, label)| format!("{axis}={label}"));
                    let labels = labels.collect::<Vec<_>>().join(", ");
                    found.insert(format!("{role} ({labels})"), *digest);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn digest(text: &str) -> Value {
        json!(ContentDigest::of_bytes(text.as_bytes()))
    }

    fn entry(digest: Value, record: Value) -> Value {
        let key = serde_json::from_value::<KeyRecord>(record.clone()).unwrap().key();
        json!({"kind": record["kind"], "key": key, "digest": digest, "record": record})
    }

    /// A file, two trainings of it, a record of each and a table of both.
    fn manifest(beta: u32, data: &str) -> Manifest {
        let mut stages = serde_json::Map::new();
        let images = json!({"kind": "Dataset", "version": 1, "settings": {},
                            "files": {"images.npz": digest(data)}});
        stages.insert("images".into(), entry(digest(&format!("images {data}")), images));
        let mut members = Vec::new();
        for seed in 0..2 {
            let result = format!("{beta} {data} {seed}");
            let train = json!({"kind": "Train", "version": 1, "settings": {"beta": beta, "seed": seed},
                               "inputs": {"data": {"one": digest(&format!("images {data}"))}}});
            let score = json!({"kind": "Score", "version": 1, "settings": {},
                               "inputs": {"model": {"one": digest(&format!("model {result}"))}}});
            stages
                .insert(format!("train-{seed}"), entry(digest(&format!("model {result}")), train));
            // Both seeds have the same score: contents do not tell their producers apart.
            let scored = digest(&format!("score {beta} {data}"));
            stages.insert(format!("score-{seed}"), entry(scored.clone(), score));
            members.push(json!([{"seed": seed.to_string()}, scored]));
        }
        let table = json!({"kind": "Table", "version": 1, "settings": {"caption": "c"},
                           "inputs": {"records[0]": {"each": members}}});
        stages.insert("table".into(), entry(digest(&format!("table {beta} {data}")), table));
        serde_json::from_value(json!({"pipeline": "p", "stages": stages, "files": {}})).unwrap()
    }

    #[test]
    fn a_changed_setting_is_the_cause_however_far_behind_the_table() {
        let found = root_causes(&manifest(16, "a"), &manifest(4, "a"), "table");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].change, "beta 16 -> 4");
        assert!(found[0].stages.contains(&"train-0".to_owned()));
    }

    #[test]
    fn a_changed_file_is_named_once_and_not_what_depends_on_it() {
        let found = root_causes(&manifest(16, "a"), &manifest(16, "b"), "table");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].change.starts_with("file images.npz "), "{found:?}");
        assert_eq!(found[0].stages, ["images"]);
    }

    #[test]
    fn nothing_changed_has_no_cause_and_another_result_of_the_same_key_is_one() {
        let old = manifest(16, "a");
        assert!(root_causes(&old, &manifest(16, "a"), "table").is_empty());
        let mut other = manifest(16, "a");
        other.stages.get_mut("table").unwrap().digest = ContentDigest::of_bytes(b"other");
        let found = root_causes(&old, &other, "table");
        assert_eq!(
            found[0].change,
            "same key, different result: another kind of processor or device, or a stage that is not deterministic"
        );
    }
}
