//! Scales: one pipeline file for several sizes of the same experiment.
//!
//! ```ron
//! scales: {
//!     "laptop": (epochs: 20, faces: Absent),
//!     "paper": (epochs: 1000, faces: Dataset(source: CelebA(), split: Train)),
//! },
//! scale: ByDevice(processor: "laptop", gpu: "paper"),   // without `--scale`; or just "laptop"
//! ```
//!
//! One scale is chosen. Nothing is merged: all have the same fields, and `AtScale(epochs)` stands for the
//! field of the chosen one. A stage whose whole value is `Absent` there does not exist at that scale.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::diagnostic::Diagnostic;
use super::lexer;
use super::placeholders::{Call, fields};
use super::source::{Source, Span};
use super::values::{Named, dialect};

/// What a pipeline does if no scale is asked for.
#[derive(Clone, Debug, Deserialize)]
enum Default {
    ByDevice { processor: String, gpu: String },
}

/// The scale that was chosen.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Named>,
    /// The names of all scales.
    pub all: Vec<String>,
}

/// Chooses a scale; `default` is what the file says about it.
pub(super) fn choose(
    source: &Source,
    scales: &[Named],
    default: Option<Span>,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<Scale> {
    let choice = source.scale();
    let all: Vec<String> = scales.iter().map(|scale| scale.name.clone()).collect();
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    if scales.is_empty() {
        if let Some(name) = &choice.name {
            let start = Span::new(0, source.text().len().min(1));
            let message = format!("this pipeline has no scales, so not `{name}` either");
            mistakes.push(Diagnostic::new(start, message).help("leave `--scale` out"));
        }
        return None;
    }
    for scale in scales.iter().filter(|scale| !source.slice(scale.value).starts_with('(')) {
        mistakes.push(
            Diagnostic::new(scale.value, "a scale is made of fields")
                .help("write `(size: 16, seeds: [0])`"),
        );
    }
    check_fields(source, scales, mistakes);
    let (name, at) = match (&choice.name, default) {
        (Some(name), _) => (name.clone(), scales[0].at),
        (None, Some(at)) => (default_name(source, at, choice.on_gpu, mistakes)?, at),
        (None, None) => {
            mistakes.push(
                Diagnostic::new(scales[0].at, "this pipeline has several scales")
                    .help(format!("choose one with `--scale`: {}", names.join(", "))),
            );
            return None;
        }
    };
    let Some(chosen) = scales.iter().find(|scale| scale.name == name) else {
        let message = format!("no scale is named `{name}`");
        mistakes.push(Diagnostic::new(at, message).suggest(&name, &names));
        return None;
    };
    let fields = fields(source, chosen.value).map(|field| Named {
        name: source.slice(field.name).to_owned(),
        at: field.name,
        value: field.value,
    });
    Some(Scale { name, fields: fields.collect(), all })
}

fn default_name(
    source: &Source,
    at: Span,
    on_gpu: bool,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<String> {
    let text = source.slice(at);
    if let Ok(name) = dialect().from_str::<String>(text) {
        return Some(name);
    }
    match dialect().from_str::<Default>(text) {
        Ok(Default::ByDevice { processor, gpu }) => Some(if on_gpu { gpu } else { processor }),
        Err(_) => {
            let help = "write the name of a scale, or `ByDevice(processor: \"..\", gpu: \"..\")`";
            mistakes.push(Diagnostic::new(at, "this does not choose a scale").help(help));
            None
        }
    }
}

/// Makes sure that every scale has the fields of every other one.
fn check_fields(source: &Source, scales: &[Named], mistakes: &mut Vec<Diagnostic>) {
    let mut first_use = BTreeMap::new();
    for scale in scales {
        for field in fields(source, scale.value) {
            first_use.entry(source.slice(field.name)).or_insert((field.name, &scale.name));
        }
    }
    for scale in scales {
        let mut own: Vec<&str> =
            fields(source, scale.value).map(|field| source.slice(field.name)).collect();
        own.sort_unstable();
        if let Some([twice, _]) = own.array_windows().find(|[a, b]| a == b) {
            let message = format!("the scale `{}` has the field `{}` twice", scale.name, twice);
            mistakes.push(Diagnostic::new(scale.at, message).help("delete one of them"));
        }
        for (name, (at, other)) in &first_use {
            if own.binary_search(name).is_err() {
                let message = format!("the scale `{}` has no field `{name}`", scale.name);
                mistakes.push(
                    Diagnostic::new(scale.at, message)
                        .context(*at, format!("`{other}` has it"))
                        .help("all scales have the same fields: add it, `Absent` for no stage"),
                );
            }
        }
    }
}

/// Puts the field of the chosen scale in the place of a value that is `AtScale(field)` and nothing else.
pub(super) fn put_in(source: &Source, value: Named, scale: Option<&Scale>) -> Named {
    let text = source.slice(value.value);
    let tokens = lexer::tokens(text);
    let field = Call::at(text, &tokens)
        .filter(|call| call.word == "AtScale" && call.tokens == tokens.len());
    let field = field.and_then(|call| {
        let name = call.name.text(text);
        scale?.fields.iter().find(|field| field.name == name)
    });
    match field {
        Some(field) => Named { value: field.value, ..value },
        None => value,
    }
}

/// Returns whether a value says that there is no stage.
pub(super) fn is_absent(source: &Source, value: &Named) -> bool {
    source.slice(value.value).trim() == "Absent"
}

#[cfg(test)]
mod tests {
    use super::super::search_paths::FileProbe;
    use super::super::source::ScaleChoice;
    use super::super::spec::Spec;
    use super::*;

    const PIPELINE: &str = r#"Pipeline(
        name: "p",
        scales: {
            "small": (seeds: [0], size: 8, extra: Absent, words: ["a"]),
            "large": (seeds: [0, 1, 2], size: 64, extra: X(size: AtScale(size)), words: ["b"]),
        },
        scale: ByDevice(processor: "small", gpu: "large"),
        axes: {"seed": AtScale(seeds)},
        shared: {"words": AtScale(words)},
        stages: {"a-{seed}": X(size: AtScale(size)), "extra": AtScale(extra)},
    )"#;

    fn spec(text: &str, name: Option<&str>, on_gpu: bool) -> (Source, Spec) {
        let choice = ScaleChoice { name: name.map(str::to_owned), on_gpu };
        let source = Source::new("p.ron", text).at_scale(choice);
        let (spec, mistakes) = Spec::parse(&source, &FileProbe::Search).unwrap();
        assert!(mistakes.is_empty(), "{mistakes:?}");
        (source, spec)
    }

    fn mistakes(text: &str, name: Option<&str>) -> Vec<(String, String)> {
        let choice = ScaleChoice { name: name.map(str::to_owned), on_gpu: false };
        let source = Source::new("p.ron", text).at_scale(choice);
        let mistakes = match Spec::parse(&source, &FileProbe::Search) {
            Ok((_, mistakes)) | Err(mistakes) => mistakes,
        };
        let place = |mistake: &Diagnostic| source.slice(mistake.at).to_owned();
        mistakes.iter().map(|mistake| (mistake.message.clone(), place(mistake))).collect()
    }

    #[test]
    fn the_device_decides_unless_the_user_does() {
        for (name, on_gpu, chosen, seeds) in [
            (None, false, "small", 1),
            (None, true, "large", 3),
            (Some("large"), false, "large", 3),
            (Some("small"), true, "small", 1),
        ] {
            let (source, spec) = spec(PIPELINE, name, on_gpu);
            assert_eq!(spec.scale.as_ref().unwrap().name, chosen);
            assert_eq!(spec.name, format!("p-{chosen}"));
            assert_eq!(spec.axes[0].values.len(), seeds);
            assert_eq!(spec.stages.len(), if chosen == "small" { 1 } else { 2 });
            assert_eq!(spec.absent.len(), 2 - spec.stages.len());
            let words = source.slice(spec.shared[0].value);
            assert_eq!(words, if chosen == "small" { r#"["a"]"# } else { r#"["b"]"# });
        }
    }

    #[test]
    fn scales_differ_in_values_and_never_in_fields() {
        let text = PIPELINE.replace("size: 64, ", "");
        assert_eq!(
            mistakes(&text, None),
            [("the scale `large` has no field `size`".to_owned(), "\"large\"".to_owned())]
        );
        let text = PIPELINE.replace("size: 64", "size: 64, size: 65");
        assert_eq!(mistakes(&text, None)[0].0, "the scale `large` has the field `size` twice");
    }

    #[test]
    fn a_scale_that_is_not_there_is_named() {
        assert_eq!(mistakes(PIPELINE, Some("huge"))[0].0, "no scale is named `huge`");
        let text = PIPELINE.replace("ByDevice(processor: \"small\", gpu: \"large\")", "\"tiny\"");
        assert_eq!(mistakes(&text, None)[0].1, "\"tiny\"");
        let text = PIPELINE.replace("scale: ByDevice(processor: \"small\", gpu: \"large\"),", "");
        assert_eq!(mistakes(&text, None)[0].0, "this pipeline has several scales");
        let text = PIPELINE.replace("ByDevice(processor: \"small\", gpu: \"large\")", "3");
        assert_eq!(mistakes(&text, None)[0].0, "this does not choose a scale");
        let text = PIPELINE.replace("AtScale(seeds)", "AtScale(seed)");
        assert_eq!(mistakes(&text, None)[0].1, "AtScale(seed)");
        let text = PIPELINE.replace("seeds: [0],", "seeds: AtScale(seeds),");
        assert_eq!(mistakes(&text, None)[0].1, "AtScale(seeds)");
        let plain = r#"Pipeline(name: "p", stages: {"a": X()})"#;
        let message = "this pipeline has no scales, so not `small` either";
        assert_eq!(mistakes(plain, Some("small"))[0].0, message);
    }
}
