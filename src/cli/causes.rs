//! Why a table moved: the first changes behind it, found by walking two manifests side by side.
//!
//! A report folder's `manifest.json` holds the key record of every stage. From the table, inputs
//! are followed by the digests of their contents to the stages that made them, in both manifests;
//! where two records differ in more than their inputs, a cause is found.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::engine::digest::ContentDigest;
use crate::engine::key::{InputRecord, KeyRecord};

/// How the results of a report folder were made.
#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    stages: BTreeMap<String, Made>,
}

/// How one stage's result was made.
#[derive(Debug, Deserialize)]
struct Made {
    digest: ContentDigest,
    record: KeyRecord,
}

/// A change and the stages that it reached first.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Cause {
    /// What changed, such as `epochs 20 -> 40`.
    pub change: String,
    /// The stages whose own record says so.
    pub stages: Vec<String>,
}

/// Returns the first changes behind a table, those of the most stages first.
pub(super) fn causes(old: &Manifest, new: &Manifest, table: &str) -> Vec<Cause> {
    let mut walk = Walk { old, new, seen: BTreeSet::new(), found: BTreeMap::new() };
    walk.visit(table, table);
    let cause = |(change, stages): (String, BTreeSet<String>)| Cause {
        change,
        stages: stages.into_iter().collect(),
    };
    let mut causes: Vec<Cause> = walk.found.into_iter().map(cause).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.stages.len()));
    causes
}

struct Walk<'a> {
    old: &'a Manifest,
    new: &'a Manifest,
    seen: BTreeSet<(String, String)>,
    found: BTreeMap<String, BTreeSet<String>>,
}

impl Walk<'_> {
    fn visit(&mut self, old_name: &str, new_name: &str) {
        if !self.seen.insert((old_name.to_owned(), new_name.to_owned())) {
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
            self.tell("same key, another result: it is not deterministic", new_name);
        }
        for difference in new.record.differences(&old.record) {
            if !difference.is_input() {
                self.tell(&difference.line(), new_name);
            }
        }
        let (old_inputs, new_inputs) = (contents(&old.record), contents(&new.record));
        for (role, new_digest) in &new_inputs {
            match old_inputs.get(role) {
                Some(old_digest) if old_digest == new_digest => {}
                Some(old_digest) => self.follow(*old_digest, *new_digest, role, new_name),
                None => self.tell(&format!("input {role} is new"), new_name),
            }
        }
        for role in old_inputs.keys().filter(|role| !new_inputs.contains_key(*role)) {
            self.tell(&format!("input {role} is gone"), new_name);
        }
    }

    /// Goes on to the stages that made two contents, preferably of the same name.
    fn follow(&mut self, old: ContentDigest, new: ContentDigest, role: &str, reader: &str) {
        let (makers_of_old, makers_of_new) = (makers(self.old, old), makers(self.new, new));
        let namesake = makers_of_new.iter().find(|name| makers_of_old.contains(name)).copied();
        let pair = match (makers_of_old.first(), makers_of_new.first()) {
            _ if namesake.is_some() => namesake.zip(namesake),
            (Some(old), Some(new)) => Some((*old, *new)),
            _ => None,
        };
        match pair.map(|(old, new)| (old.to_owned(), new.to_owned())) {
            Some((old, new)) => self.visit(&old, &new),
            None => self.tell(&format!("input {role} changed"), reader),
        }
    }

    fn tell(&mut self, change: &str, stage: &str) {
        self.found.entry(change.to_owned()).or_default().insert(stage.to_owned());
    }
}

fn makers(manifest: &Manifest, digest: ContentDigest) -> Vec<&str> {
    let stages = manifest.stages.iter().filter(|(_, made)| made.digest == digest);
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

    /// A file, two trainings of it, a record of each and a table of both.
    fn manifest(beta: u32, data: &str) -> Manifest {
        let mut stages = serde_json::Map::new();
        let images = json!({"kind": "Dataset", "version": 1, "settings": {},
                            "files": {"images.npz": digest(data)}});
        stages.insert(
            "images".into(),
            json!({"digest": digest(&format!("images {data}")), "record": images}),
        );
        let mut members = Vec::new();
        for seed in 0..2 {
            let result = format!("{beta} {data} {seed}");
            let train = json!({"kind": "Train", "version": 1, "settings": {"beta": beta, "seed": seed},
                               "inputs": {"data": {"one": digest(&format!("images {data}"))}}});
            let score = json!({"kind": "Score", "version": 1, "settings": {},
                               "inputs": {"model": {"one": digest(&format!("model {result}"))}}});
            stages.insert(
                format!("train-{seed}"),
                json!({"digest": digest(&format!("model {result}")), "record": train}),
            );
            // Both seeds score alike: contents do not tell their makers apart.
            let scored = digest(&format!("score {beta} {data}"));
            stages.insert(format!("score-{seed}"), json!({"digest": scored, "record": score}));
            members.push(json!([{"seed": seed.to_string()}, scored]));
        }
        let table = json!({"kind": "Table", "version": 1, "settings": {"caption": "c"},
                           "inputs": {"records[0]": {"each": members}}});
        stages.insert(
            "table".into(),
            json!({"digest": digest(&format!("table {beta} {data}")), "record": table}),
        );
        serde_json::from_value(json!({"pipeline": "p", "stages": stages})).unwrap()
    }

    #[test]
    fn a_changed_setting_is_the_cause_however_far_behind_the_table() {
        let found = causes(&manifest(16, "a"), &manifest(4, "a"), "table");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].change, "beta 16 -> 4");
        assert!(found[0].stages.contains(&"train-0".to_owned()));
    }

    #[test]
    fn a_changed_file_is_named_once_and_not_its_followers() {
        let found = causes(&manifest(16, "a"), &manifest(16, "b"), "table");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].change.starts_with("file images.npz "), "{found:?}");
        assert_eq!(found[0].stages, ["images"]);
    }

    #[test]
    fn nothing_changed_has_no_cause_and_another_result_of_the_same_key_is_one() {
        let old = manifest(16, "a");
        assert!(causes(&old, &manifest(16, "a"), "table").is_empty());
        let mut other = manifest(16, "a");
        other.stages.get_mut("table").unwrap().digest = ContentDigest::of_bytes(b"other");
        let found = causes(&old, &other, "table");
        assert_eq!(found[0].change, "same key, another result: it is not deterministic");
    }
}
