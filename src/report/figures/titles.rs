//! Display names of axes and labels, as a figure's `titles` declare them.

use std::collections::BTreeMap;

use crate::report::Labels;

/// Returns how a name of the records is shown.
pub(crate) fn display_name(titles: &BTreeMap<String, String>, name: &str) -> String {
    titles.get(name).map_or(name, String::as_str).to_owned()
}

/// Returns the title of a panel or block: the labels of what it shows, by their display names.
pub(crate) fn panel_title(titles: &BTreeMap<String, String>, labels: &Labels) -> String {
    let shown = |label: &String| display_name(titles, label);
    labels.values().map(shown).collect::<Vec<_>>().join(", ")
}
