//! Puts axis values, axis labels and shared values into a stage's text.
//!
//! `Axis(x)` stands for the value of axis `x`, `Axis(x, y)` for the field `y` of such a value,
//! `Shared(x)` for a value written once, `AtScale(x)` for a field of the chosen scale, `{x}` inside a
//! string for the axis label, `{x.y}` for a plain field of its value. Replacement happens on the text, before the typed parse; every byte put out remembers where in the file it came from,
//! so that errors point at what the user wrote.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::{DEEPEST_VALUES, MOST_MISTAKES};
use super::diagnostic::Diagnostic;
use super::lexer::{self, TokenKind};
use super::placeholders::{Call, Label, fields, labels, quoted_call};
use super::source::{Source, Span};
use super::spec::Spec;

/// Which label each axis of a stage has.
pub type Bindings = Vec<(usize, usize)>;

/// A stretch of a template.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Text taken as it is.
    Copy(Span),
    /// `Axis(x)`, or `Axis(x, y)` with the place of `y`.
    Value { axis: usize, field: Option<Span>, at: Span },
    /// `Shared(x)`, or `AtScale(x)`, whose fields follow the shared values.
    Shared { index: usize, at: Span },
    /// `{x}` in a string.
    Label { axis: usize, at: Span },
    /// `{x.y}` in a string, with the place of `y`.
    FieldLabel { axis: usize, field: Span, at: Span },
    /// `{x}` in the string of an `Each`: kept where the stage doesn't bind the axis.
    OpenLabel { axis: usize, at: Span },
}

/// Text with its placeholders found, ready to be filled many times.
#[derive(Clone, Debug, Default)]
pub struct Template {
    pub(super) pieces: Vec<Piece>,
    /// Axes that must be bound, with the places of their use.
    pub(super) uses: Vec<(usize, Span)>,
}

/// A value of an axis, as a whole and by its fields.
pub(super) struct AxisValue<'a> {
    whole: Template,
    fields: BTreeMap<&'a str, Template>,
}

impl AxisValue<'_> {
    /// Returns a field, or the whole value.
    pub(super) fn part(&self, field: Option<&str>) -> Option<&Template> {
        match field {
            Some(name) => self.fields.get(name),
            None => Some(&self.whole),
        }
    }
}

/// All templates of a pipeline file.
pub struct Templates<'a> {
    pub(super) source: &'a Source,
    pub(super) spec: &'a Spec,
    pub(super) axes: Vec<Vec<AxisValue<'a>>>,
    pub(super) shared: Vec<Template>,
    compiler: Compiler<'a>,
}

/// Finds placeholders, and what each of them names.
struct Compiler<'a> {
    source: &'a Source,
    spec: &'a Spec,
    /// Shared values by name.
    shared: BTreeMap<&'a str, usize>,
    /// Fields of the scale by name; they come after the shared values.
    scale: BTreeMap<&'a str, usize>,
    /// The fields of every value of every axis.
    fields: Vec<Vec<BTreeMap<&'a str, Span>>>,
    /// The fields that all values of an axis have.
    common: Vec<BTreeSet<&'a str>>,
}

/// A stage's text with everything put in.
#[derive(Clone, Debug)]
pub struct Expanded {
    /// Plain RON.
    pub text: String,
    origins: Vec<Origin>,
}

/// Where the text from some byte on came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
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
        let compiler = Compiler::new(source, spec);
        let mut axes = Vec::with_capacity(spec.axes.len());
        for (axis, fields) in spec.axes.iter().zip(&compiler.fields) {
            let mut values = Vec::with_capacity(axis.values.len());
            for ((_, span), fields) in axis.values.iter().zip(fields) {
                let before = mistakes.len();
                let whole = compiler.compile(*span, mistakes);
                // Mistakes inside a field are those of the whole.
                let is_sound = mistakes.len() == before && before < MOST_MISTAKES;
                let mut inner = |span: Span| {
                    if is_sound { compiler.compile(span, mistakes) } else { Template::default() }
                };
                let fields = fields.iter().map(|(name, span)| (*name, inner(*span))).collect();
                values.push(AxisValue { whole, fields });
            }
            axes.push(values);
        }
        let shared = spec.shared.iter().chain(spec.scale_fields());
        let shared = shared.map(|value| compiler.compile(value.value, mistakes)).collect();
        Self { source, spec, axes, shared, compiler }
    }

    /// Finds the placeholders of one stage's text.
    pub fn stage(&self, span: Span, mistakes: &mut Vec<Diagnostic>) -> Template {
        self.compiler.compile(span, mistakes)
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
                Piece::Value { at, .. } | Piece::Shared { at, .. } if depth >= DEEPEST_VALUES => {
                    return Err(Diagnostic::new(at, "these values refer to each other")
                        .help("a value can't refer to itself, directly or through others"));
                }
                Piece::Value { axis, field, .. } => {
                    // An unbound axis was reported when the stage's name was checked, a field that
                    // a value lacks when the stage's text was.
                    let value = bound(axis).map(|label| &self.axes[axis][label]);
                    let field = field.map(|field| self.source.slice(field));
                    if let Some(inner) = value.and_then(|value| value.part(field)) {
                        self.fill_into(inner, bindings, depth + 1, out)?;
                    }
                }
                Piece::Shared { index, .. } => {
                    self.fill_into(&self.shared[index], bindings, depth + 1, out)?;
                }
                Piece::FieldLabel { axis, field, at } => {
                    out.origins.push(Origin { start, from: at, linear: false });
                    let value = bound(axis).and_then(|label| {
                        self.compiler.fields[axis][label].get(self.source.slice(field))
                    });
                    let plain = value.map(|value| self.source.slice(*value).trim_matches('"'));
                    out.text.push_str(plain.unwrap_or_default());
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

impl<'a> Compiler<'a> {
    fn new(source: &'a Source, spec: &'a Spec) -> Self {
        let shared = spec.shared.iter().enumerate();
        let shared = shared.map(|(index, value)| (value.name.as_str(), index)).collect();
        let scale = spec.scale_fields().enumerate();
        let scale =
            scale.map(|(at, value)| (value.name.as_str(), spec.shared.len() + at)).collect();
        let fields_of = |span: Span| {
            let mut found = BTreeMap::new();
            for field in fields(source, span) {
                found.entry(source.slice(field.name)).or_insert(field.value);
            }
            found
        };
        let values = spec.axes.iter().map(|axis| axis.values.iter());
        let fields = values.map(|values| values.map(|(_, span)| fields_of(*span)).collect());
        let fields: Vec<Vec<BTreeMap<_, _>>> = fields.collect();
        let common = fields.iter().map(|values| {
            let mut common: BTreeSet<_> =
                values.first().map(|first| first.keys().copied().collect()).unwrap_or_default();
            for value in values {
                common.retain(|name| value.contains_key(name));
            }
            common
        });
        let common = common.collect();
        Self { source, spec, shared, scale, fields, common }
    }

    fn compile(&self, span: Span, mistakes: &mut Vec<Diagnostic>) -> Template {
        let text = self.source.slice(span);
        let tokens = lexer::tokens(text);
        let absolute = |inner: Span| Span::new(span.start + inner.start, span.start + inner.end);
        let axis_of = |name: &str| self.spec.axes.iter().position(|axis| axis.name == name);
        let mut template = Template::default();
        let mut copied = 0;
        let mut at = 0;
        while at < tokens.len() {
            let token = tokens[at];
            if let Some((word, name)) = quoted_call(text, &tokens[at..]) {
                let plain = name.text(text).trim_matches('"');
                let message = format!("`{word}` takes a name without quotes");
                mistakes.push(
                    Diagnostic::new(absolute(name.span), message)
                        .help(format!("write `{word}({plain})`")),
                );
                at += 3;
                continue;
            }
            if let Some(call) = Call::at(text, &tokens[at..]) {
                let whole = Span::new(token.span.start, tokens[at + call.tokens - 1].span.end);
                template.copy(span.start, copied, whole.start);
                copied = whole.end;
                let name = absolute(call.name.span);
                let field = call.field.map(|field| absolute(field.span));
                at += call.tokens;
                if mistakes.len() >= MOST_MISTAKES {
                    continue;
                }
                match self.placeholder(call.word, (name, field), absolute(whole)) {
                    Ok(piece) => {
                        if let Piece::Value { axis, at, .. } = piece {
                            template.uses.push((axis, at));
                        }
                        template.pieces.push(piece);
                    }
                    Err(mistake) => {
                        mistakes.push(Diagnostic { at: field.unwrap_or(name), ..mistake });
                    }
                }
                continue;
            }
            if token.kind == TokenKind::Text {
                let open =
                    at >= 2 && tokens[at - 1].is(b'(') && tokens[at - 2].text(text) == "Each";
                for Label { axis, field, at: inner } in labels(axis_of, text, token.span) {
                    template.copy(span.start, copied, inner.start);
                    copied = inner.end;
                    let at = absolute(inner);
                    if let Some(field) = field.map(absolute) {
                        match self.check_plain_field(axis, field, at) {
                            Ok(()) => template.pieces.push(Piece::FieldLabel { axis, field, at }),
                            Err(mistake) if mistakes.len() < MOST_MISTAKES => {
                                mistakes.push(mistake);
                            }
                            Err(_) => {}
                        }
                        template.uses.push((axis, at));
                    } else if open {
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

    /// Returns what a call stands for.
    fn placeholder(
        &self,
        word: &str,
        (name, field): (Span, Option<Span>),
        at: Span,
    ) -> Result<Piece, Diagnostic> {
        let name = self.source.slice(name);
        if word == "Axis" {
            let axis = self.spec.axes.iter().position(|axis| axis.name == name);
            let axis = axis.ok_or_else(|| unknown_axis(self.spec, name, at))?;
            if let Some(field) = field {
                self.check_field(axis, field, at)?;
            }
            return Ok(Piece::Value { axis, field, at });
        }
        if word == "AtScale" {
            if let Some(&index) = self.scale.get(name) {
                return Ok(Piece::Shared { index, at });
            }
            let valid: Vec<_> = self.scale.keys().copied().collect();
            let mistake = Diagnostic::new(at, format!("no field of the scales is named `{name}`"));
            return Err(if valid.is_empty() {
                mistake.help("declare it: `scales: { .. }` comes before `stages`")
            } else {
                mistake.suggest(name, &valid)
            });
        }
        if let Some(&index) = self.shared.get(name) {
            return Ok(Piece::Shared { index, at });
        }
        let valid: Vec<_> = self.spec.shared.iter().map(|value| value.name.as_str()).collect();
        let message = format!("no shared value is named `{name}`");
        Err(Diagnostic::new(at, message).suggest(name, &valid))
    }

    /// Makes sure that every value of an axis has a field that is a plain word, number or text.
    fn check_plain_field(&self, axis: usize, field: Span, at: Span) -> Result<(), Diagnostic> {
        self.check_field(axis, field, at)?;
        let wanted = self.source.slice(field);
        for value in self.fields[axis].iter().filter_map(|value| value.get(wanted)) {
            let text = self.source.slice(*value);
            let is_plain = lexer::tokens(text).len() == 1 && !text.contains(['{', '\\']);
            if !is_plain {
                return Err(Diagnostic::new(at, format!("`{wanted}` can't be put into a text"))
                    .context(*value, "this is not a plain value")
                    .help("use a word, a number or a text without placeholders"));
            }
        }
        Ok(())
    }

    /// Makes sure that every value of an axis has a field.
    fn check_field(&self, axis: usize, field: Span, at: Span) -> Result<(), Diagnostic> {
        let wanted = self.source.slice(field);
        if self.common[axis].contains(wanted) {
            return Ok(());
        }
        let lacking = self.fields[axis].iter().position(|value| !value.contains_key(wanted));
        let Some(value) = lacking else {
            return Ok(());
        };
        let axis = &self.spec.axes[axis];
        let (label, span) = &axis.values[value];
        let message = format!("`{label}` of the axis `{}` has no field `{wanted}`", axis.name);
        let mistake = Diagnostic::new(at, message).context(*span, "this value");
        let names: Vec<&str> =
            fields(self.source, *span).map(|field| self.source.slice(field.name)).collect();
        Err(if names.is_empty() {
            mistake.help("give its values fields: `(a: 1, b: 2)`")
        } else {
            mistake.suggest(wanted, &names)
        })
    }
}

impl Template {
    fn copy(&mut self, base: usize, from: usize, to: usize) {
        if from < to {
            self.pieces.push(Piece::Copy(Span::new(base + from, base + to)));
        }
    }
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
    use crate::engine::pipeline::extent::Extents;
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
        let needs = Extents::new(&templates).needs(&template);
        let needed: Vec<usize> = needs.iter().map(|(axis, _)| *axis).collect();
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
