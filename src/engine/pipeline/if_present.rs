//! `IfPresent`: shared values that depend on whether an outside file is there.
//!
//! ```ron
//! shared: {
//!     "digits": IfPresent(path: "mnist", then: Mnist(), otherwise: Dsprites(Render(size: 16))),
//! }
//! ```

use std::collections::BTreeMap;

use ron::value::RawValue;
use serde::Deserialize;

use super::diagnostic::Diagnostic;
use super::lexer;
use super::parse_error;
use super::search_paths::SearchPaths;
use super::source::{Source, Span};
use super::values::{Named, dialect, place};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IfPresent<'a> {
    path: String,
    #[serde(borrow)]
    then: &'a RawValue,
    #[serde(borrow)]
    otherwise: &'a RawValue,
}

/// Puts the value that fits in the place of an `IfPresent`, and remembers what was asked for.
pub(super) fn choose(
    source: &Source,
    value: Named,
    search_paths: &SearchPaths,
    choices: &mut BTreeMap<String, bool>,
    mistakes: &mut Vec<Diagnostic>,
) -> Named {
    let text = &source.text()[value.value.range()];
    let is_choice = lexer::tokens(text).first().is_some_and(|word| word.text(text) == "IfPresent");
    if !is_choice {
        return value;
    }
    match dialect().from_str::<IfPresent<'_>>(text) {
        Ok(choice) => {
            let is_there = search_paths.has(&choice.path);
            let taken = if is_there { choice.then } else { choice.otherwise };
            choices.insert(choice.path, is_there);
            Named { value: place(source, taken), ..value }
        }
        Err(error) => {
            let base = value.value.start;
            let shift = |span: Span| Span::new(base + span.start, base + span.end);
            mistakes.push(parse_error::explain(text, &error, "choice", shift));
            value
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::pipeline::search_paths::FileProbe;
    use crate::engine::pipeline::source::Source;
    use crate::engine::pipeline::spec::Spec;

    #[test]
    fn a_shared_value_can_depend_on_a_file_that_is_there_or_was() {
        let text = r#"Pipeline(name: "p", shared: {
            "digits": IfPresent(path: "mnist", then: Real(), otherwise: Drawn()),
        }, stages: {"a": Shared(digits)})"#;
        let source = Source::new("p.ron", text);
        let value = |probe: &FileProbe| {
            let (spec, mistakes) = Spec::parse(&source, probe).unwrap();
            assert!(mistakes.is_empty(), "{mistakes:?}");
            (source.slice(spec.shared[0].value).to_owned(), spec.choices["mnist"])
        };
        let folder = tempfile::tempdir().unwrap();
        let seen = FileProbe::SearchIn(folder.path().to_owned());
        assert_eq!(value(&seen), ("Drawn()".to_owned(), false));
        std::fs::create_dir(folder.path().join("mnist")).unwrap();
        assert_eq!(value(&seen), ("Real()".to_owned(), true));
        assert_eq!(value(&FileProbe::Recorded([].into())).0, "Drawn()");
        assert_eq!(value(&FileProbe::Recorded(["mnist".to_owned()].into())).0, "Real()");
    }

    #[test]
    fn a_choice_without_its_other_half_is_refused() {
        let text = r#"Pipeline(name: "p", shared: {"d": IfPresent(path: "x", then: 1)},
            stages: {"a": Shared(d)})"#;
        let (_, mistakes) = Spec::parse(&Source::new("p.ron", text), &FileProbe::Search).unwrap();
        assert!(mistakes[0].message.contains("otherwise"), "{mistakes:?}");
    }
}
