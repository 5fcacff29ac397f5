//! Follows references and checks that everything fits: the way from parsed stages to a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::select::globs;
use super::{Plan, PlannedStage, ResolvedInput, StageIndex};
use crate::engine::pipeline::bounds::MOST_REFERENCES;
use crate::engine::pipeline::diagnostic::{Diagnostic, Mistakes, nearest};
use crate::engine::pipeline::expand::ConcreteStage;
use crate::engine::pipeline::location::{field_value, reference_place, text_place};
use crate::engine::pipeline::source::{Source, Span};
use crate::engine::pipeline::spec::Spec;
use crate::engine::pipeline::template::unknown_axis;
use crate::engine::stage::estimate::ArtifactEstimate;
use crate::engine::stage::{Input, Inputs, Problem, Producer, Reference, StageSet};
use crate::engine::system::parallel;

/// An input with the stages that its reference leads to.
struct Followed {
    input: Input,
    members: Vec<StageIndex>,
}

impl Followed {
    /// Returns the role, with what is known of each stage behind it.
    fn behind<'a, T: ?Sized>(&'a self, of: impl Fn(StageIndex) -> &'a T) -> (&'a str, Vec<&'a T>) {
        (&self.input.role, self.members.iter().map(|&member| of(member)).collect())
    }
}

/// Stages by name.
type Names<'a> = BTreeMap<&'a str, StageIndex>;

/// The stages of a family, and the first name in it that no stage has.
struct Family {
    members: Vec<StageIndex>,
    unknown: Option<String>,
}

/// Names of the stages that the file declares, expanded or not.
struct Declared<'a> {
    whole: BTreeSet<&'a str>,
    /// What stands in front of the axes.
    stems: BTreeSet<&'a str>,
    longest_stem: usize,
}

impl<'a> Declared<'a> {
    fn of(spec: &'a Spec) -> Self {
        let (mut whole, mut stems) = (BTreeSet::new(), BTreeSet::new());
        for stage in &spec.stages {
            match stage.name.split_once('{') {
                None => whole.insert(stage.name.as_str()),
                Some((stem, _)) => stems.insert(stem.trim_end_matches(['-', '_', '.'])),
            };
        }
        let longest_stem = stems.iter().map(|stem| stem.len()).max().unwrap_or_default();
        Self { whole, stems, longest_stem }
    }

    /// Returns whether a stage that could not be expanded may have been meant.
    fn may_mean(&self, name: &str) -> bool {
        let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
        let mut stems = ends.take_while(|&end| end <= self.longest_stem).map(|end| &name[..end]);
        self.whole.contains(name) || stems.any(|stem| self.stems.contains(stem))
    }
}

/// Returns the names that a pattern such as `estimate-{seed}` stands for.
fn family_names(spec: &Spec, pattern: &str) -> Vec<String> {
    let mut names = vec![pattern.to_owned()];
    for axis in &spec.axes {
        let placeholder = format!("{{{}}}", axis.name);
        if pattern.contains(&placeholder) {
            names = names
                .iter()
                .flat_map(|name| {
                    axis.values.iter().map(|(label, _)| name.replace(&placeholder, label))
                })
                .collect();
        }
    }
    names
}

/// The outside files of a plan by name, each looked for once.
type FoundFiles = BTreeMap<String, Option<PathBuf>>;

pub(super) struct Resolver<'a> {
    source: &'a Source,
    spec: &'a Spec,
    mistakes: Mistakes,
    declared: Declared<'a>,
    /// Names of the stages that do not exist at the chosen scale.
    absent: BTreeSet<String>,
    /// Families by their pattern, which many stages may read.
    families: BTreeMap<String, Rc<Family>>,
    /// How many references have been followed.
    references: usize,
}

impl<'a> Resolver<'a> {
    /// Starts with the mistakes found so far.
    pub(super) fn new(source: &'a Source, spec: &'a Spec, mistakes: Mistakes) -> Self {
        let declared = Declared::of(spec);
        let absent = spec.absent.iter().flat_map(|stage| family_names(spec, &stage.name)).collect();
        let families = BTreeMap::new();
        Self { source, spec, mistakes, declared, absent, families, references: 0 }
    }

    /// Checks all stages; returns a plan or every mistake.
    pub(super) fn resolve<S: StageSet>(
        mut self,
        stages: Vec<ConcreteStage<S>>,
    ) -> Result<Plan<S>, Vec<Diagnostic>> {
        let names = self.names(&stages);
        let complete = self.mistakes.is_empty();
        self.report_names(&stages);
        let inputs: Vec<Vec<_>> = stages
            .iter()
            .map(|stage| {
                let declared = stage.stage.as_stage().inputs().into_iter();
                let follow = |input: Input| {
                    let members = self.follow(stage, &input, &names, complete);
                    Followed { input, members }
                };
                declared.map(follow).collect()
            })
            .collect();
        self.families.clear();
        let order = self.order(&stages, &inputs);
        let files = self.files(&stages);
        self.kinds(&stages, &inputs, &order, &files);
        self.unused_limits(&stages);
        if self.mistakes.is_empty() {
            let (estimates, mut warnings) = Self::estimates(&stages, &inputs, &order);
            warnings.extend(self.spec.unused_axes(self.source).map(|axis| {
                let name = &axis.name;
                Diagnostic::new(axis.at, format!("no stage uses the axis `{name}`"))
                    .help(format!("delete it, or name it in a stage: `\"train-{{{name}}}\"`"))
            }));
            let warnings = warnings.sorted();
            Ok(self.plan(stages, inputs, &order, &files, estimates, warnings))
        } else {
            Err(self.mistakes.sorted())
        }
    }

    /// Lets every stage estimate its artifact from those of its inputs, and say what looks wrong.
    fn estimates<S: StageSet>(
        stages: &[ConcreteStage<S>],
        inputs: &[Vec<Followed>],
        order: &[StageIndex],
    ) -> (Vec<ArtifactEstimate>, Mistakes) {
        let mut estimates = vec![ArtifactEstimate::default(); stages.len()];
        let mut warnings = Mistakes::default();
        for &index in order {
            let stage = stages[index].stage.as_stage();
            let behind = inputs[index].iter().map(|followed| followed.behind(|at| &estimates[at]));
            let behind: Inputs<'_, _> = behind.collect();
            for problem in stage.warnings(&behind) {
                let ConcreteStage { name, labels, .. } = &stages[index];
                warnings.push_of_stage(name, labels, located(&stages[index], problem));
            }
            let estimate = stage.estimate(&behind);
            estimates[index] = estimate;
        }
        (estimates, warnings)
    }

    fn files<S: StageSet>(&self, stages: &[ConcreteStage<S>]) -> FoundFiles {
        let mut found = FoundFiles::new();
        for file in stages.iter().flat_map(|stage| stage.stage.as_stage().externals().files) {
            found.entry(file).or_insert_with_key(|file| self.spec.search_paths.find(file));
        }
        found
    }

    fn names<'s, S>(&mut self, stages: &'s [ConcreteStage<S>]) -> Names<'s> {
        let mut names = Names::new();
        for (index, stage) in stages.iter().enumerate() {
            if let Some(first) = names.insert(&stage.name, index) {
                let message = format!("two stages are named `{}`", stage.name);
                let diagnostic = Diagnostic::new(stage.at, message);
                self.mistakes.push(if stages[first].at == stage.at {
                    diagnostic
                        .label("two combinations of labels give this name")
                        .help("separate the axes with a character that no label contains")
                } else {
                    diagnostic
                        .label("this one")
                        .context(stages[first].at, "and this one")
                        .help("rename one of them")
                });
            }
        }
        names
    }

    /// The files of report stages lie in one folder, beside those of the report itself; not all file
    /// systems tell upper from lower case.
    fn report_names<S: StageSet>(&mut self, stages: &[ConcreteStage<S>]) {
        let mut seen = BTreeMap::<String, &ConcreteStage<S>>::new();
        for stage in stages.iter().filter(|stage| stage.stage.as_stage().is_report()) {
            let name = &stage.name;
            if let Some(file) = S::reserved_report_file(name) {
                let message = format!("the report itself has a file `{file}`");
                self.mistakes.push(
                    Diagnostic::new(stage.at, message)
                        .label(format!("the file of `{name}` would be replaced"))
                        .help("rename this stage"),
                );
            }
            match seen.get(&name.to_lowercase()) {
                Some(other) if other.name != *name => {
                    let message = format!("`{name}` and `{}` differ only in case", other.name);
                    self.mistakes.push(
                        Diagnostic::new(stage.at, message)
                            .label("their files in the report could replace each other")
                            .context(other.at, "the other one")
                            .help("rename one of them"),
                    );
                }
                Some(_) => {}
                None => drop(seen.insert(name.to_lowercase(), stage)),
            }
        }
    }

    /// A limit that fits no stage is a typo, and the stage it was meant for runs without it.
    fn unused_limits<S>(&mut self, stages: &[ConcreteStage<S>]) {
        for (pattern, _, at) in &self.spec.limits {
            if self.mistakes.is_empty() && !stages.iter().any(|stage| pattern.fits(&stage.name)) {
                let mistake = Diagnostic::new(*at, format!("no stage matches `{pattern}`"));
                let globs = globs(self.spec.stages.iter().map(|stage| stage.name.as_str()));
                let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
                self.mistakes.push(match nearest(&pattern.to_string(), &globs) {
                    Some(near) => mistake.help(format!("did you mean `{near}`?")),
                    None => mistake.help("a limit is for a stage name or a glob such as `train-*`"),
                });
            }
        }
    }

    fn problems<S: StageSet>(
        spec: &Spec,
        stage: &ConcreteStage<S>,
        inputs: &Inputs<'_, Producer>,
        files: &FoundFiles,
    ) -> Vec<Diagnostic> {
        let problems = stage.stage.as_stage().problems(inputs).into_iter();
        let mut mistakes: Vec<_> = problems.map(|problem| located(stage, problem)).collect();
        for file in stage.stage.as_stage().externals().files {
            let is_found = files.get(&file).is_some_and(Option::is_some);
            if is_found || spec.search_paths.is_recorded() {
                continue;
            }
            let at = text_place(stage, "files", &file);
            let mistake = match spec.search_paths.other_kind(&file) {
                Some(kind) => {
                    Diagnostic::new(at, format!("`{file}` is {kind}, not a regular file"))
                        .help("name a file or a folder")
                }
                None => Diagnostic::new(at, format!("there is no file or folder `{file}`"))
                    .help("paths are relative to the pipeline file's folder, or to `--data`"),
            };
            mistakes.push(mistake.label(format!("file of stage `{}`", stage.name)));
        }
        mistakes
    }

    /// Follows a reference to stage indices; empty after a mistake.
    fn follow<S>(
        &mut self,
        stage: &ConcreteStage<S>,
        input: &Input,
        names: &Names<'_>,
        complete: bool,
    ) -> Vec<StageIndex> {
        let count = match &input.reference {
            Reference::One(_) => 1,
            Reference::Each(pattern) => self.family_size(pattern),
        };
        let before = self.references;
        self.references = before.saturating_add(count);
        if self.references > MOST_REFERENCES {
            if before <= MOST_REFERENCES {
                let message =
                    format!("stages refer to each other more than {MOST_REFERENCES} times");
                self.mistakes.push(
                    Diagnostic::new(reference_place(stage, input), message)
                        .label(format!("here `{}` refers to {count} more", stage.name))
                        .help("collect a large family in one stage, and let others read that one"),
                );
            }
            return Vec::new();
        }
        let unknown = match &input.reference {
            Reference::One(name) => match names.get(name.as_str()) {
                Some(&index) => return vec![index],
                None => Some(name.clone()).filter(|name| complete || !self.declared.may_mean(name)),
            },
            Reference::Each(pattern) => {
                let family = self.family(pattern, names, complete);
                match &family.unknown {
                    None => return family.members.clone(),
                    Some(name) => Some(name.clone()),
                }
            }
        };
        if let Some(name) = unknown.filter(|_| !self.mistakes.is_full()) {
            let at = reference_place(stage, input);
            // One stage of a template stands for all: what it lacks, the others lack too.
            if !self.mistakes.count_at(at, &stage.name) {
                let label = format!("input `{}` of stage `{}`", input.role, stage.name);
                let mistake = self.unknown(&name, at, names).label(label);
                self.mistakes.push_of_stage(&stage.name, &stage.labels, mistake);
            }
        }
        Vec::new()
    }

    fn unknown(&self, name: &str, at: Span, names: &Names<'_>) -> Diagnostic {
        if let Some((_, rest)) = name.split_once('{')
            && let Some((axis, _)) = rest.split_once('}')
        {
            return unknown_axis(self.spec, axis, at);
        }
        if let Some(scale) = self.spec.scale.as_ref().filter(|_| self.absent.contains(name)) {
            let message = format!("`{name}` does not exist at the scale `{}`", scale.name);
            return Diagnostic::new(at, message)
                .help("leave this stage out as well, or let the scale decide what it reads");
        }
        let valid: Vec<_> = names.keys().copied().collect();
        Diagnostic::new(at, format!("no stage is named `{name}`")).suggest(name, &valid)
    }

    /// Returns how many names a pattern such as `estimate-{seed}` stands for.
    fn family_size(&self, pattern: &str) -> usize {
        let axes = self.spec.axes.iter();
        let named = axes.filter(|axis| pattern.contains(&format!("{{{}}}", axis.name)));
        named.map(|axis| axis.values.len()).fold(1, usize::saturating_mul)
    }

    /// Returns the stages that a pattern stands for.
    fn family(&mut self, pattern: &str, names: &Names<'_>, complete: bool) -> Rc<Family> {
        if let Some(known) = self.families.get(pattern) {
            return Rc::clone(known);
        }
        let mut family = Family { members: Vec::new(), unknown: None };
        for name in family_names(self.spec, pattern) {
            match names.get(name.as_str()) {
                Some(&index) => family.members.push(index),
                None if self.absent.contains(&name) => {}
                // A stage that could not be parsed is not missing: its own mistake is enough.
                None if complete || !self.declared.may_mean(&name) => {
                    family.unknown = Some(name);
                    break;
                }
                None => {}
            }
        }
        let family = Rc::new(family);
        self.families.insert(pattern.to_owned(), Rc::clone(&family));
        family
    }

    /// Works out what every stage makes, checks it against what its readers take, and asks each
    /// stage for its own complaints. A stage in a circle makes nothing that could be told.
    fn kinds<S: StageSet>(
        &mut self,
        stages: &[ConcreteStage<S>],
        inputs: &[Vec<Followed>],
        order: &[StageIndex],
        files: &FoundFiles,
    ) {
        let mut made: Vec<Arc<str>> = vec![Arc::default(); stages.len()];
        for &index in order {
            let stage = &stages[index];
            for followed in &inputs[index] {
                self.fitting(stage, followed, stages, &made);
            }
            let kinds = inputs[index].iter().map(|followed| followed.behind(|one| &*made[one]));
            let kind = stage.stage.as_stage().output(&kinds.collect()).into();
            made[index] = kind;
        }
        let producers = stages.iter().zip(made).map(|(stage, kind)| Producer {
            labels: Arc::new(stage.labels.clone()),
            kind,
            values: stage.stage.as_stage().values().map(Into::into),
            row_length: stage.stage.as_stage().row_length(),
        });
        let producers: Vec<_> = producers.collect();
        let spec = self.spec;
        let mistakes = parallel::map(order, |&index| {
            let behind =
                inputs[index].iter().map(|followed| followed.behind(|one| &producers[one]));
            Self::problems(spec, &stages[index], &behind.collect(), files)
        });
        for (&index, mistakes) in order.iter().zip(mistakes) {
            for mistake in mistakes {
                self.mistakes.push_of_stage(&stages[index].name, &stages[index].labels, mistake);
            }
        }
    }

    fn fitting<S>(
        &mut self,
        stage: &ConcreteStage<S>,
        Followed { input, members }: &Followed,
        stages: &[ConcreteStage<S>],
        made: &[Arc<str>],
    ) {
        for &member in members {
            let (producer, made) = (&stages[member], &made[member]);
            // What a stage with a mistake of its own would make is not known.
            let known = !made.is_empty() && !input.accepts.is_empty();
            if known && !input.accepts.contains(&&**made) {
                let at = reference_place(stage, input);
                if self.mistakes.is_full() || self.mistakes.count_at(at, &stage.name) {
                    return;
                }
                let wanted = input.accepts.join("` or `");
                let message = format!(
                    "`{}` produces `{made}`, but input `{}` needs `{wanted}`",
                    producer.name, input.role
                );
                let mistake = Diagnostic::new(at, message)
                    .label(format!("needs `{wanted}`"))
                    .context(producer.at, format!("produces `{made}`"))
                    .help(format!("use a stage that produces `{wanted}`"));
                self.mistakes.push_of_stage(&stage.name, &stage.labels, mistake);
                return;
            }
        }
    }

    /// Sorts stages so that each comes after its inputs; reports a cycle edge by edge.
    fn order<S: StageSet>(
        &mut self,
        stages: &[ConcreteStage<S>],
        inputs: &[Vec<Followed>],
    ) -> Vec<StageIndex> {
        let mut waiting: Vec<usize> =
            inputs.iter().map(|inputs| inputs.iter().map(|i| i.members.len()).sum()).collect();
        let mut readers = vec![Vec::new(); stages.len()];
        for (index, inputs) in inputs.iter().enumerate() {
            for member in inputs.iter().flat_map(|input| &input.members) {
                readers[*member].push(index);
            }
        }
        let rank = |index: StageIndex| (stages[index].rank.as_slice(), index);
        let mut ready: BTreeSet<_> =
            (0..stages.len()).filter(|&index| waiting[index] == 0).map(rank).collect();
        let mut order = Vec::with_capacity(stages.len());
        while let Some((_, index)) = ready.pop_first() {
            order.push(index);
            for &reader in &readers[index] {
                waiting[reader] -= 1;
                if waiting[reader] == 0 {
                    ready.insert(rank(reader));
                }
            }
        }
        if order.len() < stages.len() {
            let stuck: Vec<_> = (0..stages.len()).filter(|&index| waiting[index] > 0).collect();
            self.cycle(stages, inputs, &stuck);
        }
        order
    }

    fn cycle<S: StageSet>(
        &mut self,
        stages: &[ConcreteStage<S>],
        inputs: &[Vec<Followed>],
        stuck: &[StageIndex],
    ) {
        let mut is_stuck = vec![false; stages.len()];
        for &index in stuck {
            is_stuck[index] = true;
        }
        // Every stuck stage waits for another stuck one, so walking inputs must come round.
        let step = |from: StageIndex| {
            inputs[from].iter().find_map(|Followed { input, members }| {
                let to = members.iter().find(|&&member| is_stuck[member])?;
                Some((input, *to))
            })
        };
        let mut walk = vec![stuck[0]];
        let mut position = vec![None; stages.len()];
        position[stuck[0]] = Some(0);
        while let Some((_, to)) = walk.last().and_then(|&from| step(from)) {
            if let Some(start) = position[to] {
                walk.drain(..start);
                break;
            }
            position[to] = Some(walk.len());
            walk.push(to);
        }
        let edges: Vec<_> = walk
            .iter()
            .filter_map(|&from| {
                let (input, to) = step(from)?;
                let place = text_place(&stages[from], &input.role, input.reference.text());
                Some((place, format!("`{}` depends on `{}`", stages[from].name, stages[to].name)))
            })
            .collect();
        let Some(((first, label), rest)) = edges.split_first() else {
            return;
        };
        let mut diagnostic = Diagnostic::new(*first, "these stages depend on each other")
            .label(label.clone())
            .help("break the cycle: one of these inputs must come from another stage");
        diagnostic.context = rest.to_vec();
        self.mistakes.push(diagnostic);
    }

    fn plan<S: StageSet>(
        &self,
        stages: Vec<ConcreteStage<S>>,
        inputs: Vec<Vec<Followed>>,
        order: &[StageIndex],
        found: &FoundFiles,
        mut estimates: Vec<ArtifactEstimate>,
        warnings: Vec<Diagnostic>,
    ) -> Plan<S> {
        let mut position = vec![0; stages.len()];
        for (new, &old) in order.iter().enumerate() {
            position[old] = new;
        }
        let mut slots: Vec<_> = stages.into_iter().zip(inputs).map(Some).collect();
        let mut planned = Vec::with_capacity(order.len());
        for &old in order {
            let Some((stage, inputs)) = slots[old].take() else {
                continue;
            };
            let resolved = |Followed { input, mut members }: Followed| {
                for member in &mut members {
                    *member = position[*member];
                }
                ResolvedInput { role: input.role, reference: input.reference, members }
            };
            let inputs = inputs.into_iter().map(resolved).collect();
            let files = stage.stage.as_stage().externals().files.into_iter();
            let files =
                files.filter_map(|file| Some((file_name(&file), found.get(&file)?.clone()?)));
            planned.push(PlannedStage {
                files: files.collect(),
                limits: self.spec.limits_of(&stage.name),
                estimate: std::mem::take(&mut estimates[old]),
                line: self.source.line(stage.at.start),
                name: stage.name,
                template: stage.template,
                labels: stage.labels,
                stage: stage.stage,
                text: stage.text.text,
                inputs,
                readers: Vec::new(),
            });
        }
        for index in 0..planned.len() {
            let members: Vec<_> = planned[index].members().collect();
            for member in members {
                let readers = &mut planned[member].readers;
                // Whoever reads it twice does so in a row.
                if readers.last() != Some(&index) {
                    readers.push(index);
                }
            }
        }
        Plan::new(self.spec, planned, warnings)
    }
}

/// Returns what a stage says of its settings, with the place in the file.
fn located<S>(stage: &ConcreteStage<S>, problem: Problem) -> Diagnostic {
    let at = field_value(&stage.text, problem.field).unwrap_or(stage.at);
    let diagnostic = Diagnostic::new(at, problem.message)
        .label(format!("`{}` of stage `{}`", problem.field, stage.name));
    Diagnostic { help: problem.help, ..diagnostic }
}

/// Returns the last part of a path: the name under which a stage sees the file.
pub(crate) fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
