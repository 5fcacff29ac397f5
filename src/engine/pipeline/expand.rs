//! Expands stage templates over the axes that their names name, and parses each result.
//!
//! `"train-{model}-{seed}"` becomes one stage per model and seed. A mistake in a template is
//! reported once, however many stages it spoils.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bounds::{
    LARGEST_PIPELINE, LARGEST_STAGE, LONGEST_NAME, MOST_AXES, MOST_DRAWN, MOST_EXPLAINED,
    MOST_STAGES,
};
use super::diagnostic::{Diagnostic, MistakeKey, Mistakes, nearest};
use super::extent::{Extent, Extents};
use super::lexer::{self, Field};
use super::parse_error;
use super::source::{Source, Span};
use super::spec::{Axis, Spec};
use super::template::{Bindings, Expanded, Template, Templates, unknown_axis};
use super::values::{Named, dialect};
use crate::engine::stage::{Labels, StageSet};
use crate::engine::system::parallel;

/// A stage with its axes put in.
#[derive(Clone, Debug)]
pub struct ConcreteStage<S> {
    /// Its name, with labels in place of axes.
    pub name: String,
    /// Its name as written.
    pub template: String,
    /// Where the name's template is written.
    pub at: Span,
    /// The axis labels it stands for.
    pub labels: Labels,
    /// Label positions by axis, last axis first: the order in which stages run.
    pub rank: Vec<usize>,
    /// The typed stage, which is much larger than all else.
    pub stage: Box<S>,
    /// Its text and where that came from.
    pub text: Expanded,
}

/// Expands every stage of a pipeline.
pub fn expand<S: StageSet>(
    source: &Source,
    spec: &Spec,
    mistakes: &mut Mistakes,
) -> Vec<ConcreteStage<S>> {
    let mut found = Vec::new();
    let templates = Templates::compile(source, spec, &mut found);
    mistakes.extend(found);
    let mut extents = Extents::new(&templates);
    let mut size = Size::default();
    let mut pairs = Vec::new();
    for named in &spec.stages {
        if mistakes.is_full() {
            return Vec::new();
        }
        let mut found = Vec::new();
        let axes = name_axes(spec, named, &mut found);
        let template = templates.stage(named.value, &mut found);
        if found.is_empty() {
            let missing =
                extents.needs(&template).into_iter().find(|(axis, _)| !axes.contains(axis));
            found.extend(missing.map(|(axis, at)| missing_axis(source, spec, named, axis, at)));
        }
        if found.is_empty() {
            found.extend(size.add(spec, named, &axes, &extents.of(&template)).err());
        }
        if !found.is_empty() {
            mistakes.extend(found);
            continue;
        }
        let template = Arc::new(template);
        let stages = combinations(spec, &axes).into_iter();
        pairs.extend(stages.map(|bindings| (named, Arc::clone(&template), bindings)));
    }
    let expand = |(named, template, bindings): &(&Named, Arc<Template>, Bindings)| {
        let text = templates.fill(template, bindings).map_err(Failed::ToFill)?;
        match dialect().from_str::<S>(&text.text) {
            Ok(stage) => Ok(concrete(spec, named, bindings, text, Box::new(stage))),
            Err(_) => Err(Failed::ToParse(text)),
        }
    };
    let expanded = parallel::map(&pairs, expand);
    let mut found = Vec::with_capacity(expanded.len());
    let mut explained = Explained::default();
    for (index, ((named, _, bindings), stage)) in pairs.iter().zip(expanded).enumerate() {
        match stage {
            Ok(stage) => found.push(stage),
            Err(Failed::ToFill(mistake)) => mistakes.push(mistake),
            Err(Failed::ToParse(text)) => {
                if explained.at != Some(named.at) {
                    explained = Explained { at: Some(named.at), ..Explained::default() };
                }
                let stage = index.to_string();
                if explained.stages < MOST_EXPLAINED && !mistakes.is_full() {
                    let labels = labels(spec, bindings);
                    explained.keys = explain_all::<S>(named, &stage, &labels, &text, mistakes);
                } else {
                    // Most have the same as the last that was explained.
                    explained.keys.iter().for_each(|key| mistakes.count(key, &stage));
                }
                explained.stages += 1;
            }
        }
    }
    found
}

/// What has been explained of a template.
#[derive(Default)]
struct Explained {
    at: Option<Span>,
    stages: usize,
    /// The mistakes of the last stage.
    keys: Vec<MistakeKey>,
}

/// How large a pipeline has become.
#[derive(Default)]
struct Size {
    stages: usize,
    bytes: f64,
}

impl Size {
    /// Adds the stages of a template, unless they make the pipeline larger than it may be.
    fn add(
        &mut self,
        spec: &Spec,
        named: &Named,
        axes: &[usize],
        extent: &Extent,
    ) -> Result<(), Diagnostic> {
        const MEGABYTE: usize = 1 << 20;
        let refused =
            |message: String, help: &str| Err(Diagnostic::new(named.at, message).help(help));
        let counts = axes.iter().map(|&axis| spec.axes[axis].values.len());
        let count = counts.fold(1, usize::saturating_mul);
        let stages = self.stages.saturating_add(count);
        if stages > MOST_STAGES {
            let message = format!("this makes more than {MOST_STAGES} stages");
            return refused(message, "use fewer axes or labels");
        }
        let longest = |axis: &usize| {
            let Axis { name, values, .. } = &spec.axes[*axis];
            let longest = values.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
            (format!("{{{name}}}"), "x".repeat(longest))
        };
        let put_in = |name: String, (hole, label): (String, String)| name.replace(&hole, &label);
        if axes.iter().map(longest).fold(named.name.clone(), put_in).len() > LONGEST_NAME {
            return Err(long_name(named));
        }
        if extent.largest > LARGEST_STAGE {
            let limit = LARGEST_STAGE / MEGABYTE;
            let message = format!("with all values put in, this stage is larger than {limit} MB");
            return refused(message, "put in fewer or shorter values");
        }
        let bytes = extent.mean.mul_add(count as f64, self.bytes);
        if bytes > LARGEST_PIPELINE as f64 {
            let limit = LARGEST_PIPELINE / MEGABYTE;
            let message = format!("with this, all stages together are larger than {limit} MB");
            return refused(message, "use fewer labels, or put in fewer or shorter values");
        }
        (self.stages, self.bytes) = (stages, bytes);
        Ok(())
    }
}

/// Why a template did not become a stage.
enum Failed {
    ToFill(Diagnostic),
    ToParse(Expanded),
}

/// Returns the axes in a stage's name, in the order they stand there.
fn name_axes(spec: &Spec, named: &Named, mistakes: &mut Vec<Diagnostic>) -> Vec<usize> {
    let mut axes = Vec::<usize>::new();
    if named.name.len() > MOST_AXES * LONGEST_NAME {
        mistakes.push(long_name(named));
        return axes;
    }
    let mut plain = String::new();
    let mut rest = named.name.as_str();
    while let Some(open) = rest.find('{') {
        plain.push_str(&rest[..open]);
        let Some(close) = rest[open..].find('}').map(|n| open + n) else {
            break;
        };
        let name = &rest[open + 1..close];
        match spec.axes.iter().position(|axis| axis.name == name) {
            Some(axis) if axes.contains(&axis) => {}
            Some(axis) => axes.push(axis),
            None => mistakes.push(unknown_axis(spec, name, named.at)),
        }
        rest = &rest[close + 1..];
    }
    plain.push_str(rest);
    let fits = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
    let first = spec.axes.iter().find(|axis| starts_with_axis(&named.name, &axis.name));
    let is_hidden = named.name.starts_with('.')
        || first.is_some_and(|axis| axis.values.iter().any(|(label, _)| label.starts_with('.')));
    if !plain.chars().all(fits) || named.name.is_empty() || is_hidden {
        mistakes.push(
            Diagnostic::new(named.at, format!("`{}` can't be a stage name", named.name))
                .help("use letters, digits, `-`, `_`, `.`, `+` and `{axis}`"),
        );
    }
    axes
}

fn starts_with_axis(name: &str, axis: &str) -> bool {
    name.strip_prefix('{')
        .and_then(|rest| rest.strip_prefix(axis))
        .is_some_and(|rest| rest.starts_with('}'))
}

fn long_name(named: &Named) -> Diagnostic {
    let message = format!("the name of this stage is longer than {LONGEST_NAME} bytes");
    Diagnostic::new(named.at, message).help("shorten it or the labels in it")
}

fn missing_axis(source: &Source, spec: &Spec, named: &Named, axis: usize, at: Span) -> Diagnostic {
    let axis = &spec.axes[axis].name;
    let name = &named.name;
    let rename = format!("rename it to `{name}-{{{axis}}}`");
    let help = if source.slice(at).starts_with('{') {
        format!("{rename}, or use the whole family with `Each(\"..\")`")
    } else {
        rename
    };
    Diagnostic::new(at, format!("stage `{name}` uses the axis `{axis}`, but its name doesn't"))
        .label("used here")
        .context(named.at, "a stage is expanded over the axes in its name")
        .help(help)
}

fn combinations(spec: &Spec, axes: &[usize]) -> Vec<Bindings> {
    let mut all = vec![Bindings::new()];
    for &axis in axes {
        all = all
            .into_iter()
            .flat_map(|bindings| {
                (0..spec.axes[axis].values.len()).map(move |label| {
                    let mut bindings = bindings.clone();
                    bindings.push((axis, label));
                    bindings
                })
            })
            .collect();
    }
    all
}

fn concrete<S>(
    spec: &Spec,
    named: &Named,
    bindings: &Bindings,
    text: Expanded,
    stage: Box<S>,
) -> ConcreteStage<S> {
    let mut name = named.name.clone();
    let labels = labels(spec, bindings);
    for (axis, label) in &labels {
        name = name.replace(&format!("{{{axis}}}"), label);
    }
    let mut rank = vec![0; spec.axes.len()];
    for &(axis, label) in bindings {
        rank[spec.axes.len() - 1 - axis] = label;
    }
    let template = named.name.clone();
    ConcreteStage { name, template, at: named.at, labels, rank, stage, text }
}

fn labels(spec: &Spec, bindings: &Bindings) -> Labels {
    let axes = bindings.iter().map(|&(axis, label)| (&spec.axes[axis], label));
    axes.map(|(axis, label)| (axis.name.clone(), axis.values[label].0.clone())).collect()
}

/// Reports every mistake of one stage: after each, the field it stands in is blanked and the rest
/// is parsed again.
fn explain_all<S: StageSet>(
    named: &Named,
    stage: &str,
    labels: &Labels,
    text: &Expanded,
    mistakes: &mut Mistakes,
) -> Vec<MistakeKey> {
    let mut keys = Vec::new();
    let mut remaining = text.text.clone();
    let mut excused = BTreeSet::<String>::new();
    for _ in 0..MOST_DRAWN {
        let Err(error) = dialect().from_str::<S>(&remaining) else {
            break;
        };
        match &error.code {
            ron::Error::MissingStructField { field, .. } if excused.contains(*field) => break,
            // The field that was meant is not missing as well.
            ron::Error::NoSuchStructField { expected, found, .. } => {
                excused.extend(nearest(found, expected).map(str::to_owned));
            }
            _ => {}
        }
        let place = parse_error::place(&remaining, &error);
        let explained = parse_error::explain(&remaining, &error, "stage", |span| text.locate(span));
        let explained = explained.context(named.at, "in this stage");
        keys.push(mistakes.push_of_stage(stage, labels, explained));
        let tokens = lexer::tokens(&remaining);
        let Some(field) = innermost(&lexer::fields(&tokens), place) else {
            break;
        };
        excused.insert(remaining[field.name.range()].to_owned());
        blank(&mut remaining, field);
    }
    keys
}

fn innermost(fields: &[Field], place: Span) -> Option<Field> {
    let holds = |field: &&Field| field.name.start <= place.start && place.start < field.value.end;
    fields.iter().filter(holds).max_by_key(|field| field.depth).copied()
}

/// Overwrites a field and the comma behind it with spaces, keeping every other place as it is.
fn blank(text: &mut String, field: Field) {
    let rest = &text[field.value.end..];
    let comma = rest.find(|c: char| !c.is_whitespace()).filter(|&n| rest.as_bytes()[n] == b',');
    let end = comma.map_or(field.value.end, |n| field.value.end + n + 1);
    let spaces: String = text[field.name.start..end]
        .bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
        .collect();
    text.replace_range(field.name.start..end, &spaces);
}
