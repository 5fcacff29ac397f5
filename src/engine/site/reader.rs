//! From the text of a site file to its sites, or to every mistake in it with its place.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ron::value::RawValue;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use super::provenance::Provenance;
use super::{Partition, ResourceRule, Site, quantity, sbatch_options, variables};
use crate::engine::pipeline::diagnostic::Diagnostic;
use crate::engine::pipeline::placeholders;
use crate::engine::pipeline::source::{Source, Span};
use crate::engine::pipeline::spec::NamePattern;
use crate::engine::pipeline::values::{self, Entries, Named, place};
use crate::engine::pipeline::{lexer, syntax};

/// A value that is read only after the shape around it.
type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
#[serde(rename = "Sites", deny_unknown_fields)]
struct FileOutline<'a> {
    #[serde(borrow)]
    sites: Entries<'a>,
}

#[derive(Deserialize)]
#[serde(rename = "Site", deny_unknown_fields, default, bound(deserialize = "'de: 'a"))]
#[derive(Default)]
struct SiteOutline<'a> {
    hosts: Raw<'a>,
    executor: Raw<'a>,
    cache: Raw<'a>,
    data: Raw<'a>,
    scratch: Raw<'a>,
    program: Raw<'a>,
    account: Raw<'a>,
    partitions: Raw<'a>,
    gpu_option: Raw<'a>,
    memory: Raw<'a>,
    options: Raw<'a>,
    setup: Raw<'a>,
    queue: Raw<'a>,
    submissions_per_minute: Raw<'a>,
    poll: Raw<'a>,
    grace: Raw<'a>,
    lease: Raw<'a>,
    #[serde(borrow, default)]
    warn_before: Raw<'a>,
    pack: Raw<'a>,
    attempts: Raw<'a>,
    resources: Raw<'a>,
    remote: Raw<'a>,
    trusted_keys: Raw<'a>,
    allow_unsigned: Raw<'a>,
    signing_key: Raw<'a>,
    upload: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename = "Partition", deny_unknown_fields)]
struct PartitionOutline<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow, default)]
    time: Raw<'a>,
    #[serde(borrow, default)]
    cpus: Raw<'a>,
    #[serde(borrow, default)]
    memory: Raw<'a>,
    #[serde(borrow, default)]
    gpus: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(rename = "Resources", deny_unknown_fields)]
struct RuleOutline<'a> {
    #[serde(borrow, default)]
    stages: Raw<'a>,
    #[serde(borrow, default)]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    cpus: Raw<'a>,
    #[serde(borrow, default)]
    memory: Raw<'a>,
    #[serde(borrow, default)]
    most_memory: Raw<'a>,
    #[serde(borrow, default)]
    gpus: Raw<'a>,
    #[serde(borrow, default)]
    time: Raw<'a>,
}

/// Reads all sites of a file.
pub(super) fn read(source: &Arc<Source>) -> Result<Vec<Site>, Vec<Diagnostic>> {
    if lexer::tokens(source.text()).is_empty() {
        let start = Span::new(0, source.text().len().min(1));
        let help = "`pcae-run site --example` prints a file to start from";
        return Err(vec![Diagnostic::new(start, "this site file is empty").help(help)]);
    }
    let malformed = syntax::mistakes(source);
    if !malformed.is_empty() {
        return Err(malformed);
    }
    let outline: FileOutline<'_> =
        values::parse(source, source.text(), "site file").map_err(|mistake| vec![mistake])?;
    let mut reader = Reader { source, mistakes: Vec::new() };
    let named = values::named(source, &outline.sites, "site", &mut reader.mistakes);
    let sites: Vec<_> = named.iter().filter_map(|named| reader.site(named)).collect();
    if named.is_empty() && reader.mistakes.is_empty() {
        let start = Span::new(0, source.text().len().min(1));
        let mistake = Diagnostic::new(start, "this file has no sites");
        reader.mistakes.push(mistake.help("add one: `sites: { \"lab\": (hosts: [\"login*\"]) }`"));
    }
    if reader.mistakes.is_empty() { Ok(sites) } else { Err(reader.mistakes) }
}

/// Puts environment variables into the folders of the site that applies; those of other sites may not
/// be set here.
pub(super) fn expand_folders(site: &mut Site) -> Result<(), Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let Site { cache, data, program, signing_key, provenance, .. } = site;
    let paths =
        [("cache", cache), ("data", data), ("program", program), ("signing_key", signing_key)];
    for (field, path) in paths {
        let (Some(written), Some(place)) = (path.as_ref(), provenance.place(field)) else {
            continue;
        };
        let text = written.to_string_lossy().into_owned();
        match variables::expand(&text) {
            Err(error) => {
                let help = "set it, or write the folder without it";
                mistakes.push(Diagnostic::new(place, error.to_string()).help(help));
            }
            Ok(found) if found.is_absolute() => *path = Some(found),
            // A program without a folder is looked for by the shell.
            Ok(found) if field == "program" && !text.contains('/') => *path = Some(found),
            Ok(found) => {
                let message = format!("`{}` is not an absolute path", found.display());
                let help = "start with `/`, `~/` or an environment variable such as `$HOME`";
                mistakes.push(Diagnostic::new(place, message).help(help));
            }
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    mistakes: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn site(&mut self, named: &Named) -> Option<Site> {
        let text = self.source.slice(named.value);
        let outline = self.parse::<SiteOutline<'_>>(text, "site")?;
        let mut provenance = Provenance::new(Arc::clone(self.source), named.at);
        self.note_fields(&mut provenance, "", named.value);
        if named.name.trim().is_empty() {
            let mistake = Diagnostic::new(named.at, "a site needs a name");
            self.mistakes.push(mistake.help("name it, such as \"lab\""));
        }
        let mut site = Site { name: named.name.clone(), ..Site::default() };
        set(&mut site.hosts, self.patterns(outline.hosts));
        set(&mut site.executor, self.choice(outline.executor, "write `Local` or `Slurm`"));
        site.cache = self.text(outline.cache, variables_check).map(PathBuf::from);
        site.data = self.text(outline.data, variables_check).map(PathBuf::from);
        site.scratch = self.text(outline.scratch, variables_check);
        site.program = self.text(outline.program, variables_check).map(PathBuf::from);
        site.account = self.text(outline.account, word);
        set(&mut site.partitions, self.partitions(outline.partitions, &mut provenance));
        set(&mut site.gpu_option, self.text(outline.gpu_option, gpu_option));
        let memory = self.choice(outline.memory, "write `PerJob`, `PerCpu` or `Omitted`");
        set(&mut site.memory, memory);
        set(&mut site.options, self.texts(outline.options, sbatch_options::check));
        set(&mut site.setup, self.texts(outline.setup, setup_line));
        set(&mut site.queue, self.count(outline.queue, 1));
        set(&mut site.submissions_per_minute, self.count(outline.submissions_per_minute, 1));
        set(&mut site.poll, self.time(outline.poll, SHORTEST_POLL));
        set(&mut site.grace, self.time(outline.grace, Duration::ZERO));
        set(&mut site.lease, self.time(outline.lease, SHORTEST_LEASE));
        set(&mut site.warn_before, self.time(outline.warn_before, Duration::ZERO));
        set(&mut site.pack, self.time(outline.pack, Duration::ZERO));
        set(&mut site.attempts, self.count(outline.attempts, 0));
        set(&mut site.resources, self.rules(outline.resources, &mut provenance));
        site.remote = self.text(outline.remote, word);
        set(&mut site.trusted_keys, self.texts(outline.trusted_keys, public_key));
        set(&mut site.allow_unsigned, self.flag(outline.allow_unsigned));
        site.signing_key = self.text(outline.signing_key, variables_check).map(PathBuf::from);
        set(&mut site.upload, self.flag(outline.upload));
        site.provenance = provenance;
        Some(site)
    }

    fn partitions(&mut self, raw: Raw<'_>, provenance: &mut Provenance) -> Option<Vec<Partition>> {
        let mut found = Vec::new();
        for (at, item) in self.typed::<Vec<&RawValue>>(raw?)?.into_iter().enumerate() {
            self.note_item(provenance, &format!("partitions[{at}]"), item);
            let Some(outline) = self.parse::<PartitionOutline<'_>>(item.get_ron(), "partition")
            else {
                continue;
            };
            found.push(Partition {
                name: self.text(Some(outline.name), word).unwrap_or_default(),
                time: self.time(outline.time, SHORTEST_JOB),
                cpus: self.count(outline.cpus, 1),
                memory: self.size(outline.memory),
                gpus: self.count(outline.gpus, 0),
            });
        }
        Some(found)
    }

    fn rules(&mut self, raw: Raw<'_>, provenance: &mut Provenance) -> Option<Vec<ResourceRule>> {
        let mut found = Vec::new();
        for (at, item) in self.typed::<Vec<&RawValue>>(raw?)?.into_iter().enumerate() {
            self.note_item(provenance, &format!("resources[{at}]"), item);
            let Some(outline) = self.parse::<RuleOutline<'_>>(item.get_ron(), "rule") else {
                continue;
            };
            let rule = ResourceRule {
                stages: self.text(outline.stages, glob).map(|text| NamePattern::new(&text)),
                kind: self.text(outline.kind, word),
                cpus: self.count(outline.cpus, 1),
                memory: self.size(outline.memory),
                most_memory: self.size(outline.most_memory),
                gpus: self.count(outline.gpus, 0),
                time: self.time(outline.time, SHORTEST_JOB),
            };
            if let (Some(memory), Some(most), Some(raw)) =
                (rule.memory, rule.most_memory, outline.most_memory)
                && most < memory
            {
                let mistake = Diagnostic::new(
                    place(self.source, raw),
                    "`most_memory` is less than `memory`, which a stage gets from the start",
                );
                self.mistakes.push(mistake.help("raise it, or leave it out: 8 times `memory`"));
            }
            found.push(rule);
        }
        Some(found)
    }

    fn note_item(&self, provenance: &mut Provenance, path: &str, item: &RawValue) {
        let place = place(self.source, item);
        provenance.note(path.to_owned(), place);
        self.note_fields(provenance, &format!("{path}."), place);
    }

    fn note_fields(&self, provenance: &mut Provenance, prefix: &str, span: Span) {
        for field in placeholders::fields(self.source, span) {
            provenance.note(format!("{prefix}{}", self.source.slice(field.name)), field.value);
        }
    }

    fn parse<'de, T: Deserialize<'de>>(&mut self, text: &'de str, what: &str) -> Option<T> {
        let parsed = values::parse(self.source, text, what);
        parsed.map_err(|mistake| self.mistakes.push(mistake)).ok()
    }

    fn typed<'de, T: Deserialize<'de>>(&mut self, raw: &'de RawValue) -> Option<T> {
        self.parse(raw.get_ron(), "value")
    }

    /// Reads a value; `help` is for mistakes that say no more than that it is wrong.
    fn value<T: DeserializeOwned>(&mut self, raw: Raw<'_>, help: &str) -> Option<T> {
        match values::typed(self.source, raw?) {
            Ok(value) => Some(value),
            Err(mistake) if mistake.help.is_some() => {
                self.mistakes.push(mistake);
                None
            }
            Err(mistake) => {
                self.mistakes.push(mistake.help(help));
                None
            }
        }
    }

    /// Reads one of a few names.
    fn choice<T: DeserializeOwned>(&mut self, raw: Raw<'_>, help: &str) -> Option<T> {
        let is_quoted = raw?.get_ron().trim().starts_with('"');
        let before = self.mistakes.len();
        let value = self.value(raw, help);
        if is_quoted && let Some(mistake) = self.mistakes.get_mut(before) {
            "a name is written without quotes here".clone_into(&mut mistake.message);
        }
        value
    }

    fn flag(&mut self, raw: Raw<'_>) -> Option<bool> {
        self.value(raw, "write `true` or `false`")
    }

    fn count(&mut self, raw: Raw<'_>, least: usize) -> Option<usize> {
        let count = self.value::<usize>(raw, "write a whole number")?;
        if count >= least {
            return Some(count);
        }
        self.push(raw, Problem::new("this must be at least 1", "write a whole number above 0"));
        None
    }

    fn time(&mut self, raw: Raw<'_>, least: Duration) -> Option<Duration> {
        let text = self.value::<String>(raw, "a duration is a text with a unit: `\"90s\"`")?;
        let long_enough = |time: Duration| {
            let least_text = quantity::duration_text(least);
            let problem = || Problem::new("this is too short", format!("at least `{least_text}`"));
            if time < least { Err(problem()) } else { Ok(time) }
        };
        let time = quantity::duration(&text).and_then(long_enough);
        time.map_err(|problem| self.push(raw, problem)).ok()
    }

    fn size(&mut self, raw: Raw<'_>) -> Option<u64> {
        let text = self.value::<String>(raw, "a size is a text with a unit: `\"4GB\"`")?;
        let large_enough = |bytes: u64| {
            let problem = || Problem::new("this is too little", "at least `1MB`");
            if bytes < SMALLEST_MEMORY { Err(problem()) } else { Ok(bytes) }
        };
        let size = quantity::size(&text).and_then(large_enough);
        size.map_err(|problem| self.push(raw, problem)).ok()
    }

    fn text(
        &mut self,
        raw: Raw<'_>,
        check: impl Fn(&str) -> Result<(), Problem>,
    ) -> Option<String> {
        let text = self.value::<String>(raw, "write it in quotes")?;
        check(&text).map_err(|problem| self.push(raw, problem)).ok()?;
        Some(text)
    }

    fn texts(
        &mut self,
        raw: Raw<'_>,
        check: impl Fn(&str) -> Result<(), Problem>,
    ) -> Option<Vec<String>> {
        let items = self.typed::<Vec<&RawValue>>(raw?)?;
        Some(items.into_iter().filter_map(|item| self.text(Some(item), &check)).collect())
    }

    fn patterns(&mut self, raw: Raw<'_>) -> Option<Vec<NamePattern>> {
        let texts = self.texts(raw, glob)?;
        Some(texts.iter().map(|text| NamePattern::new(text)).collect())
    }

    fn push(&mut self, raw: Raw<'_>, problem: Problem) {
        let at = raw.map_or(Span::new(0, 0), |raw| place(self.source, raw));
        self.mistakes.push(problem.at(at));
    }
}

/// The least time between two calls of `squeue`.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

/// Owners tell that they live five times in this time; file servers need a moment for each.
const SHORTEST_LEASE: Duration = Duration::from_secs(2);

/// The least time of a job; Slurm counts in minutes, and rounds up.
const SHORTEST_JOB: Duration = Duration::from_secs(1);

/// Bytes of memory that a job gets at least; Slurm counts in megabytes.
const SMALLEST_MEMORY: u64 = 1_000_000;

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn variables_check(path: &str) -> Result<(), Problem> {
    if path.trim().is_empty() {
        return Err(Problem::new("this is empty", "name a folder, or leave the field out"));
    }
    let explain = |error: variables::VariableError| {
        Problem::new(error.to_string(), "write `$NAME` or `${NAME}`")
    };
    variables::check(path).map_err(explain)
}

fn word(text: &str) -> Result<(), Problem> {
    let is_word = !text.is_empty()
        && !text.starts_with('-')
        && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if is_word {
        return Ok(());
    }
    Err(Problem::new(format!("`{text}` is not a name"), "write one word, without blanks"))
}

fn public_key(text: &str) -> Result<(), Problem> {
    if text.split_once(':').is_some_and(|(name, bytes)| !name.is_empty() && !bytes.is_empty()) {
        return Ok(());
    }
    let help = "write it as `pcae-run cache key` prints it: `\"name:base64\"`";
    Err(Problem::new(format!("`{text}` is not a public key"), help))
}

fn glob(text: &str) -> Result<(), Problem> {
    let help = "write a name, with `*` for any characters: `\"train-*\"`";
    if text.is_empty() {
        return Err(Problem::new("this is empty", help));
    }
    let explain = |error: glob::PatternError| {
        Problem::new(format!("`{text}` is not a pattern: {}", error.msg), help)
    };
    glob::Pattern::new(text).map(drop).map_err(explain)
}

fn gpu_option(text: &str) -> Result<(), Problem> {
    if !text.contains("{gpus}") {
        let message = "this does not say where the number of GPUs is put";
        return Err(Problem::new(message, "write `{gpus}` there: `\"--gres=gpu:{gpus}\"`"));
    }
    sbatch_options::check(text)
}

fn setup_line(text: &str) -> Result<(), Problem> {
    if text.lines().any(|line| line.trim_start().starts_with("#SBATCH")) {
        let help = "write options of `sbatch` in `options`: `\"--constraint=avx2\"`";
        return Err(Problem::new("`#SBATCH` lines are not for `setup`", help));
    }
    Ok(())
}
