//! Keys: everything that decides a stage's bytes, and nothing else.
//!
//! A [`KeyRecord`] holds the kind with its version, the resolved settings, the contents of inputs
//! by role, outside files, environment variables and the compute backend. Names, comments, jobs,
//! threads, paths and hosts are not in it. The record is stored beside the result, so that any two
//! keys can be compared component by component.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::digest::encoding::{Encode, Encoder};
use crate::engine::digest::{ContentDigest, StageKey, TrajectoryKey};
use crate::engine::stage::{Kind, Labels};

/// Raised when the meaning of a record changes; every key changes with it.
const CONTEXT: &str = "pcae-run stage key v1";

/// Another context than that of keys, so that the two never meet.
const TRAJECTORY_CONTEXT: &str = "pcae-run trajectory v1";

/// What stands under an input's role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputRecord {
    /// The artifact of one stage.
    One(ContentDigest),
    /// The artifacts of a family, in order.
    Each(Vec<(Labels, ContentDigest)>),
}

impl InputRecord {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.map_of(1);
        match self {
            Self::One(digest) => {
                encoder.text("one");
                encoder.text(&digest.hex());
            }
            Self::Each(members) => {
                encoder.text("each");
                encoder.list_of(members.len());
                for (labels, digest) in members {
                    encoder.list_of(2);
                    encoder.map_of(labels.len());
                    for (axis, label) in labels {
                        encoder.text(axis);
                        encoder.text(label);
                    }
                    encoder.text(&digest.hex());
                }
            }
        }
    }
}

/// The pre-image of a key. Where only the key matters, the settings may be an encoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord<S = Value> {
    /// The stage kind.
    pub kind: String,
    /// The kind's version.
    pub version: u32,
    /// The settings with all defaults filled in.
    pub settings: S,
    /// Input contents by role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, InputRecord>,
    /// Outside files by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, ContentDigest>,
    /// Environment variables; `null` where absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Option<String>>,
    /// The compute backend, for stages that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
}

impl<S> KeyRecord<S> {
    /// Starts a record from a kind and its serialized settings.
    pub fn new(kind: Kind, settings: S) -> Self {
        Self {
            kind: kind.name.to_owned(),
            version: kind.version,
            settings,
            inputs: BTreeMap::new(),
            files: BTreeMap::new(),
            variables: BTreeMap::new(),
            backend: None,
        }
    }

    /// Puts settings of another form in place of these.
    pub fn with<T>(self, settings: T) -> KeyRecord<T> {
        let Self { kind, version, settings: _, inputs, files, variables, backend } = self;
        KeyRecord { kind, version, settings, inputs, files, variables, backend }
    }
}

impl<S: Encode> KeyRecord<S> {
    /// Returns the key.
    pub fn key(&self) -> StageKey {
        StageKey::of_hash(self.hash(CONTEXT))
    }

    fn hash(&self, context: &str) -> blake3::Hash {
        let mut encoder = Encoder::default();
        // The fields in order of their names, as they stand in a manifest; what is empty is left out.
        let optional = [
            self.backend.is_some(),
            !self.files.is_empty(),
            !self.inputs.is_empty(),
            !self.variables.is_empty(),
        ];
        encoder.map_of(3 + optional.into_iter().filter(|is_there| *is_there).count());
        if let Some(backend) = &self.backend {
            encoder.text("backend");
            encoder.text(backend);
        }
        if !self.files.is_empty() {
            encoder.text("files");
            encoder.map_of(self.files.len());
            for (name, digest) in &self.files {
                encoder.text(name);
                encoder.text(&digest.hex());
            }
        }
        if !self.inputs.is_empty() {
            encoder.text("inputs");
            encoder.map_of(self.inputs.len());
            for (role, input) in &self.inputs {
                encoder.text(role);
                input.encode(&mut encoder);
            }
        }
        encoder.text("kind");
        encoder.text(&self.kind);
        encoder.text("settings");
        self.settings.encode(&mut encoder);
        if !self.variables.is_empty() {
            encoder.text("variables");
            encoder.map_of(self.variables.len());
            for (name, value) in &self.variables {
                encoder.text(name);
                match value {
                    Some(value) => encoder.text(value),
                    None => encoder.value(&Value::Null),
                }
            }
        }
        encoder.text("version");
        encoder.value(&self.version.into());
        encoder.finish(context)
    }
}

impl KeyRecord {
    /// Returns what this record shares with those that differ only in the settings of the horizon;
    /// nothing if there is no horizon.
    pub fn trajectory(&self, horizon: &[&str]) -> Option<TrajectoryKey> {
        if horizon.is_empty() {
            return None;
        }
        let mut rest = self.clone();
        for path in horizon {
            let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
            if let Some(Value::Object(map)) = rest.settings.pointer_mut(&pointer(parent)) {
                map.remove(name);
            }
        }
        Some(TrajectoryKey::of_hash(rest.hash(TRAJECTORY_CONTEXT)))
    }

    /// Returns whether this record goes less far than another one of its trajectory. Horizons that
    /// can't be compared, such as steps and epochs, are never less.
    pub fn is_shorter(&self, other: &Self, horizon: &[&str]) -> bool {
        let reach = |record: &Self| {
            let mut found = BTreeMap::new();
            for path in horizon {
                flatten(path, record.settings.pointer(&pointer(path))?, &mut found);
            }
            let numbers: Option<Vec<f64>> = found.values().map(|text| text.parse().ok()).collect();
            Some((found.into_keys().collect::<Vec<_>>(), numbers?))
        };
        match (reach(self), reach(other)) {
            (Some((places, numbers)), Some((others, other))) => places == others && numbers < other,
            _ => false,
        }
    }

    /// Returns whether two records differ in nothing but device and environment.
    pub fn without_environment(&self) -> StageKey {
        Self { backend: None, variables: BTreeMap::new(), ..self.clone() }.key()
    }
}

/// Returns a dotted path as JSON's own.
fn pointer(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("/{}", path.replace('.', "/")) }
}

pub(super) fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let below = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, item) in map {
                flatten(&below(name), item, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{at}]"), item, found);
            }
        }
        // A reference, whose content stands under its role, or an option that is not set.
        Value::Null => {}
        leaf => {
            found.insert(path.to_owned(), leaf.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::key::difference::Difference;

    fn record(settings: Value) -> KeyRecord {
        KeyRecord::new(Kind { name: "Train", version: 1 }, settings)
    }

    #[test]
    fn differences_name_what_changed_and_only_that() {
        let mut old = record(json!({"epochs": 20, "model": {"Pcae": {"latent": 16}}, "list": [1]}));
        let mut new =
            record(json!({"epochs": 40, "model": {"Pcae": {"latent": 16}}, "list": [1, 2]}));
        old.inputs.insert("data".into(), InputRecord::One(ContentDigest::of_bytes(b"a")));
        new.inputs.insert("data".into(), InputRecord::One(ContentDigest::of_bytes(b"a")));
        let lines: Vec<_> = new.differences(&old).iter().map(Difference::line).collect();
        assert_eq!(lines, ["epochs 20 -> 40", "list[1] (none) -> 2"]);
        assert!(new.differences(&new.clone()).is_empty());
    }

    #[test]
    fn absent_and_empty_variables_differ() {
        let mut absent = record(json!({}));
        absent.variables.insert("X".into(), None);
        let mut empty = absent.clone();
        empty.variables.insert("X".into(), Some(String::new()));
        assert_ne!(absent.key(), empty.key());
        assert_ne!(absent.key(), record(json!({})).key());
        assert_eq!(empty.differences(&absent)[0].line(), "variable X (absent) -> \"\"");
    }

    #[test]
    fn a_trajectory_is_a_record_without_its_horizon() {
        const HORIZON: &[&str] = &["length", "model.Deep.latent"];
        let settings = |length: Value, latent: u32, rate: f64| json!({"length": length, "rate": rate, "model": {"Deep": {"latent": latent, "width": 8}}});
        let short = record(settings(json!({"Epochs": 50}), 2, 0.1));
        let shared = short.trajectory(HORIZON).unwrap();
        let same = [
            record(settings(json!({"Epochs": 100}), 2, 0.1)),
            record(settings(json!({"Steps": 7}), 3, 0.1)),
            record(json!({"rate": 0.1, "model": {"Deep": {"width": 8}}})),
        ];
        for other in same {
            assert_eq!(other.trajectory(HORIZON), Some(shared), "{other:?}");
            assert_ne!(other.key(), short.key());
        }
        let mut input = short.clone();
        input.inputs.insert("data".into(), InputRecord::One(ContentDigest::of_bytes(b"a")));
        let mut variable = short.clone();
        variable.variables.insert("X".into(), None);
        let mut file = short.clone();
        file.files.insert("x".into(), ContentDigest::of_bytes(b"a"));
        let others = [
            record(settings(json!({"Epochs": 50}), 2, 0.2)),
            record(json!({"rate": 0.1, "model": {"Wide": {"width": 8}}})),
            KeyRecord { version: 2, ..short.clone() },
            KeyRecord { kind: "Other".into(), ..short.clone() },
            KeyRecord { backend: Some("cuda".into()), ..short.clone() },
            input,
            variable,
            file,
        ];
        for other in others {
            assert_ne!(other.trajectory(HORIZON), Some(shared), "{other:?}");
        }
        assert_eq!(short.trajectory(&[]), None);
        // Nothing left out: the same record, but never the same name as its key.
        let whole = short.trajectory(&["absent"]).unwrap();
        assert_ne!(whole.to_string(), short.key().to_string());
        assert_ne!(whole, shared);
    }

    #[test]
    fn a_shorter_horizon_is_one_of_the_same_sort_with_a_smaller_number() {
        let is_shorter = |one: Value, other: Value| {
            let at = |length| record(json!({"length": length, "rate": 1}));
            at(one).is_shorter(&at(other), &["length"])
        };
        assert!(is_shorter(json!(9), json!(10)));
        assert!(is_shorter(json!({"Epochs": 50}), json!({"Epochs": 100})));
        assert!(!is_shorter(json!({"Epochs": 100}), json!({"Epochs": 50})));
        assert!(!is_shorter(json!({"Epochs": 50}), json!({"Epochs": 50})));
        assert!(!is_shorter(json!({"Epochs": 50}), json!({"Steps": 100})));
        assert!(!is_shorter(json!("soon"), json!("zz")));
        assert!(!is_shorter(json!(null), json!(1)));
        assert!(!record(json!({})).is_shorter(&record(json!({"length": 1})), &["length"]));
    }

    #[test]
    fn keys_are_pinned() {
        // A change here invalidates every cache in the world: raise CONTEXT and say why.
        let plain = record(json!({"epochs": 20, "rate": 0.003}));
        let mut full = plain.clone();
        full.backend = Some("burn-0.22.1/flex".into());
        full.inputs.insert("data".into(), InputRecord::One(ContentDigest::of_bytes(b"images")));
        let labels = Labels::from([("seed".to_owned(), "s0".to_owned())]);
        let members = vec![(labels, ContentDigest::of_bytes(b"record"))];
        full.inputs.insert("records".into(), InputRecord::Each(members));
        full.files.insert("step.py".into(), ContentDigest::of_bytes(b"print()"));
        full.variables.insert("HOME".into(), None);
        assert_eq!([plain.key().short(), full.key().short()], ["9fe36cfc", "58d0dc5a"]);
        assert_eq!(full.trajectory(&["epochs"]).unwrap().short(), "f6fde529");
    }
}
