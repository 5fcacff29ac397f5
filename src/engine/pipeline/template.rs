//! Puts axis values, axis labels and shared values into a stage's text.
//!
//! `Axis(x)` stands for the value of axis `x`, `Axis(x, y)` for the field `y` of such a value,
//! `Shared(x)` for a value written once, `{x}` inside a string for the axis label. Replacement happens on the text, before the typed parse; every byte
//! put out remembers where in the file it came from, so that errors point at what the user wrote.

use std::collections::BTreeSet;

use super::diagnostic::Diagnostic;
use super::lexer::{self, TokenKind};
use super::placeholders::{Call, fields, labels};
use super::source::{Source, Span};
use super::spec::{Axis, Spec};

/// How deep values may stand inside values.
const DEEPEST: usize = 8;

/// A stage's text may grow to this many bytes.
const LARGEST: usize = 1 << 20;

/// Which label each axis of a stage has.
pub type Bindings = Vec<(usize, usize)>;

#[derive(Clone, Debug)]
enum Piece {
    /// Text taken as it is.
    Copy(Span),
    /// `Axis(x)`, or `Axis(x, y)` with the place of `y`.
    Value { axis: usize, field: Option<Span>, at: Span },
    /// `Shared(x)`.
    Shared { index: usize, at: Span },
    /// `{x}` in a string.
    Label { axis: usize, at: Span },
    /// `{x}` in the string of an `Each`: kept where the stage doesn't bind the axis.
    OpenLabel { axis: usize, at: Span },
}

/// Text with its placeholders found, ready to be filled many times.
#[derive(Clone, Debug, Default)]
pub struct Template {
    pieces: Vec<Piece>,
    /// Axes that must be bound, with the place of their first use.
    uses: Vec<(usize, Span)>,
}

/// A value of an axis, as a whole and by its fields.
struct AxisValue {
    whole: Template,
    fields: Vec<(Span, Template)>,
}

/// All templates of a pipeline file.
pub struct Templates<'a> {
    source: &'a Source,
    spec: &'a Spec,
    axes: Vec<Vec<AxisValue>>,
    shared: Vec<Template>,
}

/// A stage's text with everything put in.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// Plain RON.
    pub text: String,
    origins: Vec<Origin>,
}

#[derive(Clone, Copy, Debug)]
struct Origin {
    start: usize,
    from: Span,
    linear: bool,
}

impl Expanded {
    /// Returns where a stretch of the text was written.
    pub fn locate(&self, span: Span) -> Span {
        let after = self.origins.partition_point(|origin| origin.start <= span.start);
        let Some(origin) = after.checked_sub(1).map(|at| self.origins[at]) else {
            return span;
        };
        if !origin.linear {
            return origin.from;
        }
        let start = (origin.from.start + span.start - origin.start).min(origin.from.end);
        let end = (start + (span.end - span.start)).min(origin.from.end);
        Span::new(start, end.max(start))
    }
}

impl<'a> Templates<'a> {
    /// Finds the placeholders of all axis values and shared values.
    pub fn compile(source: &'a Source, spec: &'a Spec, mistakes: &mut Vec<Diagnostic>) -> Self {
        let mut compile = |span| Template::compile(source, spec, span, mistakes);
        let mut value = |span| AxisValue {
            whole: compile(span),
            // Mistakes inside a field are those of the whole.
            fields: fields(source, span)
                .map(|field| {
                    let inner = Template::compile(source, spec, field.value, &mut Vec::new());
                    (field.name, inner)
                })
                .collect(),
        };
        let values = spec.axes.iter().map(|axis| axis.values.iter());
        let axes = values.map(|values| values.map(|(_, span)| value(*span)).collect()).collect();
        let shared = spec.shared.iter().map(|value| compile(value.value)).collect();
        Self { source, spec, axes, shared }
    }

    /// Finds the placeholders of one stage's text.
    pub fn stage(&self, span: Span, mistakes: &mut Vec<Diagnostic>) -> Template {
        Template::compile(self.source, self.spec, span, mistakes)
    }

    /// Returns the axes that a template needs, directly or through values inside it.
    pub fn needs(&self, template: &Template) -> Vec<(usize, Span)> {
        let mut needed = Vec::new();
        self.collect_axes(template, None, 0, &mut needed);
        let mut seen = BTreeSet::new();
        needed.retain(|(axis, _)| seen.insert(*axis));
        needed
    }

    /// Collects needed axes; those of an inner value are placed where the stage mentions it.
    fn collect_axes(
        &self,
        template: &Template,
        mentioned: Option<Span>,
        depth: usize,
        needed: &mut Vec<(usize, Span)>,
    ) {
        needed.extend(template.uses.iter().map(|(axis, at)| (*axis, mentioned.unwrap_or(*at))));
        if depth > DEEPEST {
            return;
        }
        for piece in &template.pieces {
            match *piece {
                Piece::Shared { index, at } => {
                    let place = Some(mentioned.unwrap_or(at));
                    self.collect_axes(&self.shared[index], place, depth + 1, needed);
                }
                Piece::Value { axis, field, at } => {
                    let place = Some(mentioned.unwrap_or(at));
                    for value in self.axes[axis].iter().filter_map(|value| self.part(value, field))
                    {
                        self.collect_axes(value, place, depth + 1, needed);
                    }
                }
                Piece::Copy(_) | Piece::Label { .. } | Piece::OpenLabel { .. } => {}
            }
        }
    }

    /// Returns a value's field of the same name as the one at a place, or the whole value.
    fn part<'t>(&self, value: &'t AxisValue, field: Option<Span>) -> Option<&'t Template> {
        let Some(wanted) = field.map(|field| self.source.slice(field)) else {
            return Some(&value.whole);
        };
        let mut fields = value.fields.iter();
        fields.find(|(name, _)| self.source.slice(*name) == wanted).map(|(_, inner)| inner)
    }

    /// Fills a template; fails where values stand inside each other without end.
    pub fn fill(&self, template: &Template, bindings: &Bindings) -> Result<Expanded, Diagnostic> {
        let mut expanded = Expanded { text: String::new(), origins: Vec::new() };
        self.fill_into(template, bindings, 0, &mut expanded)?;
        Ok(expanded)
    }

    fn fill_into(
        &self,
        template: &Template,
        bindings: &Bindings,
        depth: usize,
        out: &mut Expanded,
    ) -> Result<(), Diagnostic> {
        let bound = |axis| bindings.iter().find(|(a, _)| *a == axis).map(|(_, label)| *label);
        for piece in &template.pieces {
            let start = out.text.len();
            match *piece {
                Piece::Copy(span) => {
                    out.origins.push(Origin { start, from: span, linear: true });
                    out.text.push_str(self.source.slice(span));
                }
                Piece::Value { at, .. } | Piece::Shared { at, .. } if depth >= DEEPEST => {
                    return Err(Diagnostic::new(at, "these values refer to each other")
                        .help("a value can't refer to itself, directly or through others"));
                }
                Piece::Value { at, .. } | Piece::Shared { at, .. } if start > LARGEST => {
                    return Err(Diagnostic::new(at, "this stage becomes too large")
                        .help("nest fewer values inside others"));
                }
                Piece::Value { axis, field, .. } => {
                    // An unbound axis was reported when the stage's name was checked, a field that
                    // a value lacks when the stage's text was.
                    let value = bound(axis).map(|label| &self.axes[axis][label]);
                    if let Some(inner) = value.and_then(|value| self.part(value, field)) {
                        self.fill_into(inner, bindings, depth + 1, out)?;
                    }
                }
                Piece::Shared { index, .. } => {
                    self.fill_into(&self.shared[index], bindings, depth + 1, out)?;
                }
                Piece::Label { axis, at } | Piece::OpenLabel { axis, at } => {
                    out.origins.push(Origin { start, from: at, linear: false });
                    match bound(axis) {
                        Some(label) => out.text.push_str(&self.spec.axes[axis].values[label].0),
                        None => out.text.push_str(self.source.slice(at)),
                    }
                }
            }
        }
        Ok(())
    }
}

impl Template {
    fn compile(source: &Source, spec: &Spec, span: Span, mistakes: &mut Vec<Diagnostic>) -> Self {
        let text = source.slice(span);
        let tokens = lexer::tokens(text);
        let absolute = |inner: Span| Span::new(span.start + inner.start, span.start + inner.end);
        let mut template = Self::default();
        let mut copied = 0;
        let mut at = 0;
        while at < tokens.len() {
            let token = tokens[at];
            if let Some(call) = Call::at(text, &tokens[at..]) {
                let whole = Span::new(token.span.start, tokens[at + call.tokens - 1].span.end);
                template.copy(span.start, copied, whole.start);
                copied = whole.end;
                let name = absolute(call.name.span);
                let field = call.field.map(|field| absolute(field.span));
                let names = (name, field);
                let added = template.placeholder(source, spec, call.word, names, absolute(whole));
                if let Err(mistake) = added {
                    mistakes.push(Diagnostic { at: field.unwrap_or(name), ..mistake });
                }
                at += call.tokens;
                continue;
            }
            if token.kind == TokenKind::Text {
                let open =
                    at >= 2 && tokens[at - 1].is(b'(') && tokens[at - 2].text(text) == "Each";
                for (axis, inner) in labels(spec, text, token.span) {
                    template.copy(span.start, copied, inner.start);
                    copied = inner.end;
                    let at = absolute(inner);
                    if open {
                        template.pieces.push(Piece::OpenLabel { axis, at });
                    } else {
                        template.pieces.push(Piece::Label { axis, at });
                        template.uses.push((axis, at));
                    }
                }
            }
            at += 1;
        }
        template.copy(span.start, copied, text.len());
        template
    }

    fn copy(&mut self, base: usize, from: usize, to: usize) {
        if from < to {
            self.pieces.push(Piece::Copy(Span::new(base + from, base + to)));
        }
    }

    fn placeholder(
        &mut self,
        source: &Source,
        spec: &Spec,
        word: &str,
        (name, field): (Span, Option<Span>),
        at: Span,
    ) -> Result<(), Diagnostic> {
        let name = source.slice(name);
        if word == "Axis" {
            let axis = spec.axes.iter().position(|axis| axis.name == name);
            let axis = axis.ok_or_else(|| unknown_axis(spec, name, at))?;
            if let Some(field) = field {
                check_field(source, &spec.axes[axis], field, at)?;
            }
            self.pieces.push(Piece::Value { axis, field, at });
            self.uses.push((axis, at));
        } else {
            let Some(index) = spec.shared.iter().position(|value| value.name == name) else {
                let valid: Vec<_> = spec.shared.iter().map(|v| v.name.as_str()).collect();
                return Err(Diagnostic::new(at, format!("no shared value is named `{name}`"))
                    .suggest(name, &valid));
            };
            self.pieces.push(Piece::Shared { index, at });
        }
        Ok(())
    }
}

/// Makes sure that every value of an axis has a field.
fn check_field(source: &Source, axis: &Axis, field: Span, at: Span) -> Result<(), Diagnostic> {
    let wanted = source.slice(field);
    for (label, span) in &axis.values {
        let names: Vec<&str> =
            fields(source, *span).map(|field| source.slice(field.name)).collect();
        if !names.contains(&wanted) {
            let message = format!("`{label}` of the axis `{}` has no field `{wanted}`", axis.name);
            let mistake = Diagnostic::new(at, message).context(*span, "this value");
            return Err(if names.is_empty() {
                mistake.help("give its values fields: `(a: 1, b: 2)`")
            } else {
                mistake.suggest(wanted, &names)
            });
        }
    }
    Ok(())
}

/// Reports an axis that the file doesn't declare.
pub fn unknown_axis(spec: &Spec, name: &str, at: Span) -> Diagnostic {
    let valid: Vec<_> = spec.axes.iter().map(|axis| axis.name.as_str()).collect();
    let diagnostic = Diagnostic::new(at, format!("no axis is named `{name}`"));
    if valid.is_empty() {
        diagnostic.help("declare it: `axes: { .. }` comes before `stages`")
    } else {
        diagnostic.suggest(name, &valid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pipeline::search_paths::FileProbe;

    fn fill(text: &str, label: usize) -> (Source, Expanded) {
        let source = Source::new("p.ron", text);
        let (spec, _) = Spec::parse(&source, &FileProbe::Search).unwrap();
        let mut mistakes = Vec::new();
        let templates = Templates::compile(&source, &spec, &mut mistakes);
        let template = templates.stage(spec.stages[0].value, &mut mistakes);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let bindings = vec![(0, label)];
        let expanded = templates.fill(&template, &bindings).unwrap();
        (source.clone(), expanded)
    }

    const TEXT: &str = r#"Pipeline(name: "p", axes: {"s": {"a": X(v: Shared(w)), "b": 2}, "t": [0]},
        shared: {"w": 9},
        stages: {"n-{s}": K(x: Axis(s), y: "in-{s}", z: Each("q-{s}-{t}"), k: "{print}")})"#;

    #[test]
    fn values_labels_and_shared_values_are_put_in() {
        assert_eq!(
            fill(TEXT, 0).1.text,
            r#"K(x: X(v: 9), y: "in-a", z: Each("q-a-{t}"), k: "{print}")"#
        );
        assert_eq!(fill(TEXT, 1).1.text, r#"K(x: 2, y: "in-b", z: Each("q-b-{t}"), k: "{print}")"#);
    }

    #[test]
    fn a_place_in_the_result_leads_back_to_the_file() {
        let (source, expanded) = fill(TEXT, 0);
        let at = expanded.text.find('9').unwrap();
        let place = expanded.locate(Span::new(at, at + 1));
        assert_eq!(source.slice(place), "9");
        assert!(place.start < source.text().find("stages").unwrap());
    }

    #[test]
    fn a_field_of_an_axis_value_is_put_in_and_needs_only_its_own_axes() {
        let text = r#"Pipeline(name: "p", axes: {
                "s": {"a": (n: 3, m: [1, 2]), "b": (m: [Axis(t)], n: 4)}, "t": [0],
            }, stages: {"n-{s}": K(x: Axis(s, n))})"#;
        assert_eq!(fill(text, 0).1.text, "K(x: 3)");
        assert_eq!(fill(text, 1).1.text, "K(x: 4)");
        let source = Source::new("p.ron", text);
        let (spec, _) = Spec::parse(&source, &FileProbe::Search).unwrap();
        let templates = Templates::compile(&source, &spec, &mut Vec::new());
        let template = templates.stage(spec.stages[0].value, &mut Vec::new());
        let needed: Vec<usize> = templates.needs(&template).iter().map(|(axis, _)| *axis).collect();
        assert_eq!(needed, [0], "`t` belongs to the other field");
    }

    #[test]
    fn a_field_that_one_value_lacks_is_refused_at_its_place() {
        let text = r#"Pipeline(name: "p", axes: {"s": {"a": (size: 3), "b": (sice: 4)}},
            stages: {"n-{s}": K(x: Axis(s, size))})"#;
        let source = Source::new("p.ron", text);
        let (spec, _) = Spec::parse(&source, &FileProbe::Search).unwrap();
        let mut mistakes = Vec::new();
        let templates = Templates::compile(&source, &spec, &mut mistakes);
        templates.stage(spec.stages[0].value, &mut mistakes);
        assert_eq!(mistakes[0].message, "`b` of the axis `s` has no field `size`");
        assert_eq!(source.slice(mistakes[0].at), "size");
    }
}
