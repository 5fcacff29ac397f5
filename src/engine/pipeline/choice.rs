//! Values that the chosen scale or outside files decide on: `AtScale(field)` and `IfPresent(..)`.
//!
//! They may stand in the place of a whole shared value, axis, axis value or stage, and in each other.
//! What they come to is the text of the file that is read on.

use std::collections::BTreeMap;

use super::diagnostic::Diagnostic;
use super::if_present;
use super::scale::{self, Scale};
use super::search_paths::SearchPaths;
use super::source::Source;
use super::values::Named;

/// How deep choices may stand in each other.
const DEEPEST: usize = 16;

/// What decides.
pub(super) struct Chooser<'a> {
    pub(super) source: &'a Source,
    pub(super) scale: Option<&'a Scale>,
    pub(super) search_paths: &'a SearchPaths,
    /// The outside files that were asked for, and whether they were there.
    pub(super) choices: BTreeMap<String, bool>,
}

impl Chooser<'_> {
    /// Puts what was chosen in the place of a value that is a choice.
    pub(super) fn choose(&mut self, mut value: Named, mistakes: &mut Vec<Diagnostic>) -> Named {
        for _ in 0..DEEPEST {
            let before = value.value;
            value = scale::put_in(self.source, value, self.scale);
            value = if_present::choose(
                self.source,
                value,
                self.search_paths,
                &mut self.choices,
                mistakes,
            );
            if value.value == before {
                break;
            }
        }
        value
    }
}
