//! What a panel or block of a figure is called.

use std::collections::BTreeMap;

use crate::report::Labels;

/// Returns the labels of what a panel shows, by their display names.
pub(super) fn panel_title(titles: &BTreeMap<String, String>, labels: &Labels) -> String {
    let shown = |label: &String| titles.get(label).unwrap_or(label).clone();
    labels.values().map(shown).collect::<Vec<_>>().join(", ")
}
