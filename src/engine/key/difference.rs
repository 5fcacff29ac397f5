//! How two key records differ, component by component.

use std::collections::BTreeMap;

use serde::Serialize;

use super::record::{InputRecord, KeyRecord, flatten};
use crate::engine::stage::Labels;

/// Two records differ here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// A dotted path, such as `epochs` or `input data`.
    pub component: String,
    /// The earlier value, if there was one.
    pub old: Option<String>,
    /// The present value, if there is one.
    pub new: Option<String>,
}

impl KeyRecord {
    /// Returns every component with its value as text.
    pub fn components(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        found.insert("stage kind".to_owned(), self.kind.clone());
        found.insert("kind version".to_owned(), self.version.to_string());
        flatten("", &self.settings, &mut found);
        for (role, input) in &self.inputs {
            match input {
                InputRecord::One(digest) => {
                    found.insert(format!("input {role}"), digest.to_string());
                }
                InputRecord::Each(members) => {
                    for (labels, digest) in members {
                        found.insert(
                            format!("input {role}[axis {}]", place(labels)),
                            digest.to_string(),
                        );
                    }
                }
            }
        }
        for (name, digest) in &self.files {
            found.insert(format!("file {name}"), digest.to_string());
        }
        for (name, value) in &self.variables {
            let value = value.as_ref().map_or("(absent)".to_owned(), |value| format!("{value:?}"));
            found.insert(format!("variable {name}"), value);
        }
        if let Some(backend) = &self.backend {
            found.insert("compute backend".to_owned(), backend.clone());
        }
        found
    }

    /// Returns every component in which this record differs from an earlier one.
    pub fn differences(&self, earlier: &Self) -> Vec<Difference> {
        let (old, new) = (earlier.components(), self.components());
        let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
        names.sort();
        names.dedup();
        // An empty list or map that gained elements is not a change of its own.
        let filled = |name: &String, other: &BTreeMap<String, String>| {
            other.keys().any(|key| {
                key.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(['[', '.']))
            })
        };
        let mut found: Vec<_> = names
            .into_iter()
            .filter(|name| old.get(*name) != new.get(*name))
            .filter(|name| !filled(name, if old.contains_key(*name) { &new } else { &old }))
            .map(|name| Difference {
                component: name.clone(),
                old: old.get(name).cloned(),
                new: new.get(name).cloned(),
            })
            .collect();
        found.extend(self.inputs.iter().filter_map(|(role, input)| {
            let (old, new) = (member_order(earlier.inputs.get(role)?), member_order(input));
            let reordered = old != new && sorted(&old) == sorted(&new);
            reordered.then(|| Difference {
                component: format!("order of input {role}"),
                old: Some(old.join(" ")),
                new: Some(new.join(" ")),
            })
        }));
        found
    }
}

impl Difference {
    /// Returns whether it is about an input's content or order.
    pub fn is_input(&self) -> bool {
        self.component.starts_with("input ") || self.component.starts_with("order of input ")
    }

    /// Returns the change in one line, such as `epochs 20 -> 40`.
    pub fn line(&self) -> String {
        const DIGEST: usize = 64;
        let value = |side: &Option<String>| match side {
            None => "(none)".to_owned(),
            Some(text) if text.len() == DIGEST && text.bytes().all(|b| b.is_ascii_hexdigit()) => {
                text[..8].to_owned()
            }
            Some(text) => text.clone(),
        };
        format!("{} {} -> {}", self.component, value(&self.old), value(&self.new))
    }
}

fn place(labels: &Labels) -> String {
    let pairs: Vec<_> = labels.iter().map(|(axis, label)| format!("{axis}={label}")).collect();
    pairs.join(",")
}

fn member_order(input: &InputRecord) -> Vec<String> {
    match input {
        InputRecord::One(_) => Vec::new(),
        InputRecord::Each(members) => members.iter().map(|(labels, _)| place(labels)).collect(),
    }
}

fn sorted(names: &[String]) -> Vec<&String> {
    let mut names: Vec<_> = names.iter().collect();
    names.sort();
    names
}
