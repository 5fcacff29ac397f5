//! The outer shape of a pipeline file: name, axes, shared values, limits, stage texts.
//!
//! Stage texts stay raw here: they are parsed only after axes have been put in (`template`), so a
//! stage's own type knows nothing of axes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

use ron::value::RawValue;
use serde::Deserialize;

use super::bounds::{LARGEST_NOTES, LONGEST_NAME, MOST_AXES, MOST_LIMITS};
use super::choice::Chooser;
use super::diagnostic::Diagnostic;
use super::lexer;
use super::scale::{self, Scale};
use super::search_paths::{FileProbe, SearchPaths};
use super::source::{Source, Span};
use super::syntax;
use super::values::{self, Entries, Named, dialect, place};
use crate::engine::system::regular_file;

/// An ordered set of labeled values that stages can be expanded over.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The axis name, as in `{name}`.
    pub name: String,
    /// Where the name is written.
    pub at: Span,
    /// The axis that it has some values of, if so.
    pub part_of: Option<String>,
    /// Labels with the place of their value.
    pub values: Vec<(String, Span)>,
    /// Labels whose value is `Absent`: reports may mention them, but nothing has them.
    pub absent: Vec<String>,
    /// Whether it is written as a list, each value its own label.
    pub is_list: bool,
}

impl Axis {
    fn empty(axis: &Named) -> Self {
        Self {
            name: axis.name.clone(),
            at: axis.at,
            part_of: None,
            values: Vec::new(),
            absent: Vec::new(),
            is_list: false,
        }
    }
}

/// Some values of another axis.
#[derive(Deserialize)]
enum Subset {
    /// Those with these labels, in this order.
    Of(String, Vec<String>),
    /// So many of them.
    First(String, usize),
}

/// Bounds on how a stage runs; never part of a key.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds after which a stage is stopped.
    pub timeout: Option<u64>,
    /// How often a failed stage is started again.
    pub retries: Option<u32>,
}

/// A pipeline file, split but not yet expanded.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The pipeline's name; its reports go into a folder of this name.
    pub name: String,
    /// Axes in file order.
    pub axes: Vec<Axis>,
    /// Values written once and used by many stages.
    pub shared: Vec<Named>,
    /// The scale that was chosen, if the file has any.
    pub scale: Option<Scale>,
    /// Stage templates that do not exist at that scale.
    pub absent: Vec<Named>,
    /// Limits by stage name or glob, first match wins, with their place.
    pub limits: Vec<(NamePattern, Limits, Span)>,
    /// Where outside files are looked for.
    pub search_paths: SearchPaths,
    /// The outside files that values were chosen by (`IfPresent`), and whether they were there.
    pub choices: BTreeMap<String, bool>,
    /// Titles of notes for the report, each with its lines.
    pub notes: Vec<(String, Vec<String>)>,
    /// The files that notes were read from, as the pipeline file names them.
    pub note_files: Vec<String>,
    /// Stage templates in file order.
    pub stages: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(rename = "Pipeline", deny_unknown_fields)]
struct Outline<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow, default)]
    scales: Entries<'a>,
    #[serde(borrow, default)]
    scale: Option<&'a RawValue>,
    #[serde(borrow, default)]
    axes: Entries<'a>,
    #[serde(borrow, default)]
    shared: Entries<'a>,
    #[serde(borrow, default)]
    limits: Entries<'a>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    notes: Entries<'a>,
    #[serde(borrow)]
    stages: Entries<'a>,
}

impl Spec {
    /// Splits a pipeline file. Mistakes that leave the rest readable come with the result, so that
    /// the rest can be checked too; the others are an error.
    pub fn parse(
        source: &Source,
        probe: &FileProbe,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let malformed = syntax::mistakes(source);
        if !malformed.is_empty() {
            return Err(malformed);
        }
        let outline: Outline<'_> =
            values::parse(source, source.text(), "pipeline").map_err(|mistake| vec![mistake])?;
        Reader { source, mistakes: Vec::new() }.read(&outline, probe)
    }

    /// Returns the fields of the chosen scale.
    pub fn scale_fields(&self) -> impl Iterator<Item = &Named> {
        self.scale.iter().flat_map(|scale| &scale.fields)
    }

    /// Returns the axes that are named neither by a stage nor by a family in one, and that no other axis
    /// is a part of.
    pub fn unused_axes(&self, source: &Source) -> impl Iterator<Item = &Axis> {
        let names_it = |axis: &Axis| {
            let placeholder = format!("{{{}}}", axis.name);
            let mut stages = self.stages.iter().chain(&self.absent);
            let mut values = self.stages.iter().chain(&self.shared);
            stages.any(|stage| stage.name.contains(&placeholder))
                || values.any(|value| source.slice(value.value).contains(&placeholder))
        };
        let has_part =
            |axis: &Axis| self.axes.iter().any(|other| other.part_of.as_ref() == Some(&axis.name));
        self.axes.iter().filter(move |axis| !names_it(axis) && !has_part(axis))
    }

    /// Returns the limits of a stage.
    pub fn limits_of(&self, stage: &str) -> Limits {
        self.limits
            .iter()
            .find(|(pattern, _, _)| pattern.fits(stage))
            .map(|(_, limits, _)| limits.clone())
            .unwrap_or_default()
    }
}

/// The name of a stage, or a glob for the names of several.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    glob: Option<glob::Pattern>,
}

impl NamePattern {
    /// Reads a name or glob; what is not a valid glob is a name.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), glob: glob::Pattern::new(text).ok() }
    }

    /// Returns whether a stage is meant.
    pub fn fits(&self, stage: &str) -> bool {
        self.text == stage || self.glob.as_ref().is_some_and(|glob| glob.matches(stage))
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

struct Reader<'a> {
    source: &'a Source,
    mistakes: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn read(
        mut self,
        outline: &Outline<'_>,
        probe: &FileProbe,
    ) -> Result<(Spec, Vec<Diagnostic>), Vec<Diagnostic>> {
        let name = self.typed::<String>(outline.name).unwrap_or_default();
        if !is_folder_name(&name) && self.mistakes.is_empty() {
            let at = place(self.source, outline.name);
            self.mistakes.push(
                Diagnostic::new(at, format!("`{name}` can't name a report folder"))
                    .help("use letters, digits, `-`, `_` and `.`"),
            );
        }
        let before = self.mistakes.len();
        let scales = self.named(&outline.scales, "scale");
        self.check_scale_names(&scales);
        let default = outline.scale.map(|raw| place(self.source, raw));
        let scale = scale::choose(self.source, &scales, default, &mut self.mistakes);
        if self.mistakes.len() > before {
            return Err(self.mistakes);
        }
        let name = match &scale {
            Some(scale) => format!("{name}-{}", scale.name),
            None => name,
        };
        let data = outline.data.and_then(|raw| self.typed::<String>(raw));
        let search_paths = SearchPaths::new(self.source.folder(), data.as_deref(), probe);
        let (source, search_paths) = (self.source, &search_paths);
        let mut chooser = Chooser { source, scale: None, search_paths, choices: BTreeMap::new() };
        let scale = scale.map(|mut scale| {
            let fields = scale.fields.into_iter();
            scale.fields = fields.map(|one| chooser.choose(one, &mut self.mistakes)).collect();
            scale
        });
        chooser.scale = scale.as_ref();
        let axes = self.named(&outline.axes, "axis");
        self.check_axis_names(&axes);
        let axes = self.axes(axes, &mut chooser);
        let axes_are_sound = self.mistakes.len() == before;
        let shared = self.named(&outline.shared, "shared value").into_iter();
        let shared = shared.map(|value| chooser.choose(value, &mut self.mistakes)).collect();
        let limits = self.limits(&outline.limits);
        let (notes, note_files) = self.notes(&outline.notes, search_paths);
        let stages = self.named(&outline.stages, "stage").into_iter();
        let stages = stages.map(|stage| chooser.choose(stage, &mut self.mistakes));
        let stages: Vec<_> = stages.collect();
        let choices = chooser.choices;
        let (absent, stages): (Vec<_>, Vec<_>) =
            stages.into_iter().partition(|stage| scale::is_absent(self.source, stage));
        if stages.is_empty() && self.mistakes.is_empty() {
            let at = Span::new(0, self.source.text().len().min(1));
            self.mistakes.push(
                Diagnostic::new(at, "this pipeline has no stages")
                    .help("add one, such as `\"hello\": Command(args: [\"date\"], ..)`"),
            );
        }
        if !axes_are_sound {
            return Err(self.mistakes);
        }
        let spec = Spec {
            name,
            axes,
            shared,
            scale,
            absent,
            limits,
            search_paths: search_paths.clone(),
            choices,
            notes,
            note_files,
            stages,
        };
        Ok((spec, self.mistakes))
    }

    fn typed<'de, T: Deserialize<'de>>(&mut self, raw: &'de RawValue) -> Option<T> {
        values::typed(self.source, raw).map_err(|mistake| self.mistakes.push(mistake)).ok()
    }

    fn named(&mut self, entries: &Entries<'_>, what: &str) -> Vec<Named> {
        values::named(self.source, entries, what, &mut self.mistakes)
    }

    /// Reads the files of notes, one note per line.
    fn notes(
        &mut self,
        entries: &Entries<'_>,
        search_paths: &SearchPaths,
    ) -> (Vec<(String, Vec<String>)>, Vec<String>) {
        let (mut found, mut files) = (Vec::new(), Vec::new());
        for note in self.named(entries, "note") {
            let text = &self.source.text()[note.value.range()];
            let name = dialect().from_str::<String>(text).unwrap_or_default();
            let outside = || io::Error::other("they are outside the pipeline's folder");
            let path = search_paths.beside(&name).ok_or_else(outside);
            match path.and_then(|path| regular_file::read_text(&path, LARGEST_NOTES)) {
                Ok(text) => {
                    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                    found.push((note.name, lines.map(str::to_owned).collect()));
                    files.push(name);
                }
                Err(error) => self.mistakes.push(
                    Diagnostic::new(note.value, format!("these notes can't be read: {error}"))
                        .help(
                            "name a text file, from the pipeline file's folder, one note per line",
                        ),
                ),
            }
        }
        (found, files)
    }

    fn limits(&mut self, entries: &Entries<'_>) -> Vec<(NamePattern, Limits, Span)> {
        if let Some((key, _)) = entries.0.get(MOST_LIMITS) {
            let message = format!("there are more than {MOST_LIMITS} limits");
            self.mistakes.push(
                Diagnostic::new(place(self.source, key), message)
                    .help("write one limit for several stages, with a glob such as `train-*`"),
            );
        }
        let mut found = Vec::new();
        for (key, value) in entries.0.iter().take(MOST_LIMITS) {
            if let (Some(name), Some(limits)) = (self.typed::<String>(key), self.typed(value)) {
                found.push((NamePattern::new(&name), limits, place(self.source, key)));
            }
        }
        found
    }

    fn check_axis_names(&mut self, axes: &[Named]) {
        if let Some(axis) = axes.get(MOST_AXES) {
            let message = format!("there are more than {MOST_AXES} axes");
            self.mistakes.push(Diagnostic::new(axis.at, message).help("use fewer axes"));
        }
        for axis in axes.iter().filter(|axis| !is_axis_name(&axis.name)) {
            self.mistakes.push(
                Diagnostic::new(axis.at, format!("`{}` can't be the name of an axis", axis.name))
                    .help("use a word such as `seed`"),
            );
        }
    }

    fn check_scale_names(&mut self, scales: &[Named]) {
        for scale in scales.iter().filter(|scale| !is_folder_name(&scale.name)) {
            self.mistakes.push(
                Diagnostic::new(scale.at, format!("`{}` can't be the name of a scale", scale.name))
                    .help("use letters, digits, `-`, `_` and `.`: reports are named by it"),
            );
        }
    }

    /// Reads all axes; one may be a part of an axis before it.
    fn axes(&mut self, named: Vec<Named>, chooser: &mut Chooser<'_>) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::with_capacity(named.len());
        for axis in named {
            let axis = chooser.choose(axis, &mut self.mistakes);
            let text = self.source.slice(axis.value);
            if text.starts_with("AtScale") {
                let names = chooser.scale.iter().flat_map(|scale| &scale.fields);
                let names: Vec<&str> = names.map(|field| field.name.as_str()).collect();
                let message = "this is no field of the scales with labels in it";
                let help = format!("their fields are {}", names.join(", "));
                self.mistakes.push(Diagnostic::new(axis.value, message).help(help));
                axes.push(Axis::empty(&axis));
                continue;
            }
            let first = lexer::tokens(text).first().map(|token| token.text(text));
            let axis = if first.is_some_and(|word| word == "Of" || word == "First") {
                self.subset(axis, &axes)
            } else {
                self.axis(axis, chooser)
            };
            axes.push(axis);
        }
        axes
    }

    /// Reads an axis that has some of the values of another.
    fn subset(&mut self, axis: Named, axes: &[Axis]) -> Axis {
        let mut part = Axis::empty(&axis);
        let text = self.source.slice(axis.value);
        let subset = match values::parse::<Subset>(self.source, text, "part of an axis") {
            Ok(subset) => subset,
            Err(mistake) => {
                self.mistakes.push(mistake);
                return part;
            }
        };
        let (Subset::Of(whole, _) | Subset::First(whole, _)) = &subset;
        let Some(of) = axes.iter().find(|axis| axis.name == *whole) else {
            let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
            let message = format!("no axis before this one is named `{whole}`");
            self.mistakes.push(Diagnostic::new(axis.value, message).suggest(whole, &names));
            return part;
        };
        part.part_of = Some(whole.clone());
        match &subset {
            Subset::First(_, count) => {
                part.values = of.values.iter().take(*count).cloned().collect();
                if *count == 0 || *count > of.values.len() {
                    let all = of.values.len();
                    let message = format!("this asks for {count} of {all} labels of `{whole}`");
                    let help = "take at least one, and no more than there are";
                    self.mistakes.push(Diagnostic::new(axis.value, message).help(help));
                }
            }
            Subset::Of(_, labels) => {
                let known: Vec<&str> = of.values.iter().map(|(label, _)| label.as_str()).collect();
                for (at, label) in labels.iter().enumerate() {
                    let mistake =
                        Diagnostic::new(axis.value, format!("`{label}` is no label of `{whole}`"));
                    match of.values.iter().find(|(name, _)| name == label) {
                        Some(_) if labels[..at].contains(label) => self.mistakes.push(Diagnostic {
                            message: format!("`{label}` is written twice"),
                            ..mistake
                        }),
                        Some(value) => part.values.push(value.clone()),
                        None if of.absent.contains(label) => part.absent.push(label.clone()),
                        None => self.mistakes.push(mistake.suggest(label, &known)),
                    }
                }
                if labels.is_empty() {
                    let message = format!("the axis `{}` has no values", part.name);
                    self.mistakes.push(Diagnostic::new(axis.value, message));
                }
            }
        }
        part
    }

    /// Reads the values of an axis: `{ "label": value }`, or `[1, 2, 3]` where the text of each
    /// plain value is its label.
    fn axis(&mut self, axis: Named, chooser: &mut Chooser<'_>) -> Axis {
        let text = &self.source.text()[axis.value.range()];
        let is_list = text.starts_with('[');
        let mut absent = Vec::new();
        let values = if is_list {
            self.listed(axis.value, text)
        } else {
            match values::parse::<Entries<'_>>(self.source, text, "axis") {
                Ok(entries) => self.labeled(&entries, chooser, &mut absent),
                Err(mistake) => {
                    self.mistakes.push(mistake);
                    return Axis::empty(&axis);
                }
            }
        };
        if values.is_empty() && absent.is_empty() {
            self.mistakes.push(
                Diagnostic::new(axis.value, format!("the axis `{}` has no values", axis.name))
                    .help("give it at least one, such as `{ \"s0\": 0 }` or `[0]`"),
            );
        }
        Axis { values, absent, is_list, ..Axis::empty(&axis) }
    }

    fn labeled(
        &mut self,
        entries: &Entries<'_>,
        chooser: &mut Chooser<'_>,
        absent: &mut Vec<String>,
    ) -> Vec<(String, Span)> {
        let values = self.named(entries, "label");
        for value in values.iter().filter(|value| !is_label(&value.name)) {
            self.mistakes.push(
                Diagnostic::new(value.at, format!("`{}` can't be a label", value.name))
                    .help(label_help(&value.name)),
            );
        }
        let values = values.into_iter().map(|value| chooser.choose(value, &mut self.mistakes));
        let (missing, values): (Vec<_>, Vec<_>) =
            values.partition(|value| scale::is_absent(self.source, value));
        absent.extend(missing.into_iter().map(|value| value.name));
        values.into_iter().map(|value| (value.name, value.value)).collect()
    }

    fn listed(&mut self, at: Span, text: &str) -> Vec<(String, Span)> {
        let Ok(items) = dialect().from_str::<Vec<&RawValue>>(text) else {
            self.mistakes.push(Diagnostic::new(at, "this list of axis values can't be read"));
            return Vec::new();
        };
        let mut found = Vec::<(String, Span)>::new();
        let mut seen = BTreeSet::new();
        for item in items {
            let place = place(self.source, item);
            let label = self.source.slice(place).trim_matches('"');
            let problem = if !is_label(label) {
                "only plain words and numbers can be their own labels"
            } else if !seen.insert(label) {
                "this value is written twice"
            } else {
                found.push((label.to_owned(), place));
                continue;
            };
            self.mistakes.push(
                Diagnostic::new(place, problem).help("write `{ \"label\": value, .. }` instead"),
            );
        }
        found
    }
}

/// Returns whether a text can be part of a stage's name and the name of a folder: `.` and `..` are
/// folders already, and what else starts with a dot is hidden, except for a number such as `.5`.
fn is_label(text: &str) -> bool {
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "-_.+".contains(c));
    let hidden = text.strip_prefix('.');
    let is_shown = hidden.is_none_or(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    !text.is_empty() && text.len() <= LONGEST_NAME && is_plain && is_shown
}

fn label_help(label: &str) -> String {
    match label {
        "" => "give it a name: labels become part of stage names".to_owned(),
        _ if label.len() > LONGEST_NAME => format!("use at most {LONGEST_NAME} bytes"),
        _ if label.starts_with('.') => {
            "labels become names of folders: start with a letter or a digit".to_owned()
        }
        _ => "labels become part of stage names: use letters, digits, `-`, `_`, `.`".to_owned(),
    }
}

/// Returns whether `{name}` can stand in the name of a stage.
fn is_axis_name(text: &str) -> bool {
    let fits = |c: char| !c.is_control() && !"{}\"".contains(c);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(fits)
}

fn is_folder_name(text: &str) -> bool {
    is_label(text) && !text.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_its_own_labels() {
        let source = Source::new(
            "p.ron",
            r#"Pipeline(name: "p", axes: {"seed": [0, 7]}, stages: {"a-{seed}": X()})"#,
        );
        let (spec, _) = Spec::parse(&source, &FileProbe::Search).unwrap();
        let labels: Vec<_> = spec.axes[0].values.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["0", "7"]);
        assert_eq!(source.slice(spec.stages[0].value), "X()");
    }

    #[test]
    fn labels_and_stages_may_depend_on_what_is_there() {
        let text = r#"Pipeline(name: "p",
            scales: {"small": (faces: IfPresent(path: "faces", then: (k: 1), otherwise: Absent))},
            scale: "small",
            axes: {
                "set": {"digits": (k: 2), "faces": AtScale(faces), "cats": Absent},
                "real": Of("set", ["faces", "digits"]),
            },
            stages: {
                "a-{set}": X(k: Axis(set, k)),
                "b": IfPresent(path: "faces", then: Y(), otherwise: IfPresent(
                    path: "digits", then: Z(), otherwise: Absent)),
            })"#;
        let source = Source::new("p.ron", text);
        let read = |there: &[&str]| {
            let there = there.iter().map(|name| (*name).to_owned()).collect();
            let (spec, mistakes) = Spec::parse(&source, &FileProbe::Recorded(there)).unwrap();
            assert!(mistakes.is_empty(), "{mistakes:?}");
            let labels = |axis: &Axis| -> Vec<String> {
                axis.values.iter().map(|(label, _)| label.clone()).collect()
            };
            let mut stages = spec.stages.iter().map(|stage| source.slice(stage.value).to_owned());
            (
                labels(&spec.axes[0]),
                spec.axes[0].absent.clone(),
                labels(&spec.axes[1]),
                stages.next_back(),
            )
        };
        let (set, absent, real, stage) = read(&["faces"]);
        assert_eq!((set, absent), (vec!["digits".into(), "faces".into()], vec!["cats".to_owned()]));
        assert_eq!((real, stage), (vec!["faces".into(), "digits".into()], Some("Y()".to_owned())));
        let (set, absent, real, stage) = read(&["digits"]);
        assert_eq!(set, ["digits"]);
        assert_eq!(absent, ["faces", "cats"]);
        assert_eq!((real, stage), (vec!["digits".to_owned()], Some("Z()".to_owned())));
        assert_eq!(read(&[]).3, Some("X(k: Axis(set, k))".to_owned()), "no stage `b`");
    }

    /// Returns the message of each mistake, with what it points at.
    fn mistakes(text: &str) -> Vec<(String, String)> {
        let source = Source::new("p.ron", text);
        let mistakes = match Spec::parse(&source, &FileProbe::Search) {
            Ok((_, mistakes)) | Err(mistakes) => mistakes,
        };
        let place = |mistake: &Diagnostic| source.slice(mistake.at).to_owned();
        mistakes.iter().map(|mistake| (mistake.message.clone(), place(mistake))).collect()
    }

    #[test]
    fn a_label_can_not_leave_its_folder() {
        for label in ["..", ".", "...", "", "../x", "a/b", ".git", "a\u{7}", "a b", "\\"] {
            let axes = format!("{{\"m\": {{{label:?}: 1}}}}");
            let text = format!("Pipeline(name: \"p\", axes: {axes}, stages: {{\"a-{{m}}\": X()}})");
            let found = mistakes(&text);
            assert_eq!(found.len(), 1, "{label:?}: {found:?}");
            assert!(found[0].0.ends_with("can't be a label"), "{found:?}");
            assert_eq!(found[0].1, format!("{label:?}"));
        }
        for listed in ["\"..\"", "\".\"", "\"\"", "\"a/b\""] {
            let text = format!(
                "Pipeline(name: \"p\", axes: {{\"m\": [{listed}, 1]}}, stages: {{\"a-{{m}}\": X()}})"
            );
            assert_eq!(mistakes(&text).len(), 1, "{listed}");
            assert_eq!(mistakes(&text)[0].1, listed);
        }
    }

    #[test]
    fn numbers_and_names_are_labels() {
        for label in ["0", "-1", "1e-3", "0.5", ".5", "pcae", "a.b", "s_0", "c++", "größe", "x.."]
        {
            assert!(is_label(label), "{label}");
        }
    }

    #[test]
    fn a_hundred_thousand_labels_can_be_read() {
        let labels: Vec<String> = (0..100_000).map(|label| label.to_string()).collect();
        let text = format!(
            "Pipeline(name: \"p\", axes: {{\"n\": [{}]}}, stages: {{\"a-{{n}}\": X()}})",
            labels.join(",")
        );
        assert!(mistakes(&text).is_empty());
    }

    #[test]
    fn axes_and_limits_are_counted_and_axes_have_usable_names() {
        let axes: Vec<String> = (0..=MOST_AXES).map(|axis| format!("\"x{axis}\": [0]")).collect();
        let text =
            format!("Pipeline(name: \"p\", axes: {{{}}}, stages: {{\"a\": X()}})", axes.join(", "));
        let found = mistakes(&text);
        assert_eq!(found, [("there are more than 64 axes".to_owned(), "\"x64\"".to_owned())]);
        let limits: Vec<String> =
            (0..=MOST_LIMITS).map(|at| format!("\"a{at}\": Limits()")).collect();
        let text = format!(
            "Pipeline(name: \"p\", limits: {{{}}}, stages: {{\"a\": X()}})",
            limits.join(", ")
        );
        assert_eq!(mistakes(&text)[0].1, "\"a1000\"");
        let text = "Pipeline(name: \"p\", axes: {\"a}{b\": [0]}, stages: {\"a\": X()})";
        assert_eq!(mistakes(text)[0].0, "`a}{b` can't be the name of an axis");
    }

    #[test]
    fn an_axis_can_be_a_part_of_another() {
        let text = r#"Pipeline(name: "p", axes: {
            "set": {"a": 1, "b": 2, "c": 3}, "seed": [4, 5, 6],
            "known": Of("set", ["c", "a"]), "few": First("seed", 2),
        }, stages: {"x-{known}-{few}": X()})"#;
        let source = Source::new("p.ron", text);
        let (spec, mistakes) = Spec::parse(&source, &FileProbe::Search).unwrap();
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let labels = |axis: usize| {
            let values = spec.axes[axis].values.iter();
            values.map(|(label, at)| (label.as_str(), source.slice(*at))).collect::<Vec<_>>()
        };
        assert_eq!(labels(2), [("c", "3"), ("a", "1")]);
        assert_eq!(labels(3), [("4", "4"), ("5", "5")]);
    }

    #[test]
    fn a_part_of_an_axis_has_labels_of_that_axis() {
        for (part, message) in [
            (r#"Of("set", ["d"])"#, "`d` is no label of `set`"),
            (r#"Of("set", ["a", "a"])"#, "`a` is written twice"),
            (r#"Of("set", [])"#, "the axis `part` has no values"),
            (r#"Of("sets", ["a"])"#, "no axis before this one is named `sets`"),
            (r#"First("set", 3)"#, "this asks for 3 of 2 labels of `set`"),
            (r#"First("set", 0)"#, "this asks for 0 of 2 labels of `set`"),
        ] {
            let text = format!(
                r#"Pipeline(name: "p", axes: {{"set": ["a", "b"], "part": {part}}}, stages: {{"x-{{part}}": X()}})"#
            );
            assert_eq!(mistakes(&text), [(message.to_owned(), part.to_owned())]);
        }
    }

    #[test]
    fn the_first_matching_limit_counts() {
        let source = Source::new(
            "p.ron",
            r#"Pipeline(name: "p", limits: {"train-*": Limits(retries: 2), "*": Limits(timeout: 5)}, stages: {"a": X()})"#,
        );
        let (spec, _) = Spec::parse(&source, &FileProbe::Search).unwrap();
        assert_eq!(spec.limits_of("train-s0").retries, Some(2));
        assert_eq!(spec.limits_of("other").timeout, Some(5));
    }
}
