//! Expands stage templates over the axes that their names name, and parses each result.
//!
//! `"train-{model}-{seed}"` becomes one stage per model and seed. A mistake in a template is
//! reported once, however many stages it spoils.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::diagnostic::{Diagnostic, nearest};
use super::lexer::{self, Field};
use super::parse_error;
use super::source::{Source, Span};
use super::spec::Spec;
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

/// A pipeline beyond this is a mistake: more stages than could ever run.
const MOST_STAGES: usize = 100_000;

/// Expands every stage of a pipeline.
pub fn expand<S: StageSet>(
    source: &Source,
    spec: &Spec,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<ConcreteStage<S>> {
    let templates = Templates::compile(source, spec, mistakes);
    let mut pairs = Vec::new();
    for named in &spec.stages {
        let before = mistakes.len();
        let axes = name_axes(spec, named, mistakes);
        let template = templates.stage(named.value, mistakes);
        for (axis, at) in templates.needs(&template) {
            if !axes.contains(&axis) && mistakes.len() == before {
                mistakes.push(missing_axis(source, spec, named, axis, at));
            }
        }
        if mistakes.len() > before {
            continue;
        }
        let count = axes.iter().map(|&axis| spec.axes[axis].values.len()).product::<usize>();
        if pairs.len().saturating_add(count) > MOST_STAGES {
            let message = format!("this makes more than {MOST_STAGES} stages");
            mistakes.push(Diagnostic::new(named.at, message).help("use fewer axes or labels"));
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
    for ((named, ..), stage) in pairs.iter().zip(expanded) {
        match stage {
            Ok(stage) => found.push(stage),
            Err(Failed::ToParse(text)) => explain_all::<S>(named, &text, mistakes),
            Err(Failed::ToFill(mistake)) => mistakes.push(mistake),
        }
    }
    found
}

/// Why a template did not become a stage.
enum Failed {
    ToFill(Diagnostic),
    ToParse(Expanded),
}

/// Returns the axes in a stage's name, in the order they stand there.
fn name_axes(spec: &Spec, named: &Named, mistakes: &mut Vec<Diagnostic>) -> Vec<usize> {
    let mut axes = Vec::new();
    let mut plain = String::new();
    let mut rest = named.name.as_str();
    while let Some(open) = rest.find('{') {
        plain.push_str(&rest[..open]);
        let Some(close) = rest[open..].find('}').map(|n| open + n) else {
            break;
        };
        let name = &rest[open + 1..close];
        match spec.axes.iter().position(|axis| axis.name == name) {
            Some(axis) => axes.push(axis),
            None => mistakes.push(unknown_axis(spec, name, named.at)),
        }
        rest = &rest[close + 1..];
    }
    plain.push_str(rest);
    let fits = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
    if !plain.chars().all(fits) || named.name.is_empty() || named.name.starts_with('.') {
        mistakes.push(
            Diagnostic::new(named.at, format!("`{}` can't be a stage name", named.name))
                .help("use letters, digits, `-`, `_`, `.`, `+` and `{axis}`"),
        );
    }
    axes
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
    let mut labels = Labels::new();
    let mut rank = vec![0; spec.axes.len()];
    for &(axis, label) in bindings {
        let (axis_name, text) = (&spec.axes[axis].name, &spec.axes[axis].values[label].0);
        name = name.replace(&format!("{{{axis_name}}}"), text);
        labels.insert(axis_name.clone(), text.clone());
        rank[spec.axes.len() - 1 - axis] = label;
    }
    let template = named.name.clone();
    ConcreteStage { name, template, at: named.at, labels, rank, stage, text }
}

/// Reports every mistake of one stage: after each, the field it stands in is blanked and the rest
/// is parsed again.
fn explain_all<S: StageSet>(named: &Named, text: &Expanded, mistakes: &mut Vec<Diagnostic>) {
    let mut remaining = text.text.clone();
    let mut excused = BTreeSet::<String>::new();
    while let Err(error) = dialect().from_str::<S>(&remaining) {
        match &error.code {
            ron::Error::MissingStructField { field, .. } if excused.contains(*field) => return,
            // The field that was meant is not missing as well.
            ron::Error::NoSuchStructField { expected, found, .. } => {
                excused.extend(nearest(found, expected).map(str::to_owned));
            }
            _ => {}
        }
        let place = parse_error::place(&remaining, &error);
        let explained = parse_error::explain(&remaining, &error, "stage", |span| text.locate(span));
        mistakes.push(explained.context(named.at, "in this stage"));
        let tokens = lexer::tokens(&remaining);
        let Some(field) = innermost(&lexer::fields(&tokens), place) else {
            return;
        };
        excused.insert(remaining[field.name.range()].to_owned());
        blank(&mut remaining, field);
    }
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
