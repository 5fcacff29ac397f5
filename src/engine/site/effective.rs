//! Every value of a site, with where it comes from.

use serde_json::{Value, json};

use super::provenance::Origin;
use super::quantity::{duration_text, size_text};
use super::{MemoryPer, Partition, ResourceRule, Site};

/// One effective value of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteValue {
    /// The path of the field: `queue`, `partitions[0].time`.
    pub name: String,
    /// The value for people.
    pub text: String,
    /// The value for tools: durations in seconds, sizes in bytes.
    pub json: Value,
    /// Where it comes from.
    pub origin: Origin,
}

impl Site {
    /// Returns every effective value in the order of the example.
    pub fn values(&self) -> Vec<SiteValue> {
        let mut list = List { site: self, values: Vec::new() };
        let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        list.add("hosts", texts(&hosts, "none"), json!(hosts));
        list.add("executor", self.executor.to_string(), json!(self.executor.name()));
        let path = |path: &Option<std::path::PathBuf>| {
            path.as_ref().map(|path| path.display().to_string())
        };
        list.text("cache", path(&self.cache), "that of the project");
        list.text("data", path(&self.data), "none");
        list.text("scratch", self.scratch.clone(), "that of the system");
        list.text("program", path(&self.program), "this one");
        list.text("account", self.account.clone(), "none");
        list.partitions();
        list.text("gpu_option", Some(self.gpu_option.clone()), "");
        let memory = match self.memory {
            MemoryPer::PerJob => ("per job (--mem)", "per-job"),
            MemoryPer::PerCpu => ("per processor (--mem-per-cpu)", "per-cpu"),
            MemoryPer::Omitted => ("not sent", "omitted"),
        };
        list.add("memory", memory.0.to_owned(), json!(memory.1));
        list.add("options", texts(&self.options, "none"), json!(self.options));
        list.add("setup", texts(&self.setup, "none"), json!(self.setup));
        list.count("queue", Some(self.queue), "");
        list.count("submissions_per_minute", Some(self.submissions_per_minute), "");
        list.time("poll", Some(self.poll), "");
        list.time("grace", Some(self.grace), "");
        list.time("lease", Some(self.lease), "");
        list.time("warn_before", Some(self.warn_before), "");
        list.time("pack", Some(self.pack), "");
        list.count("attempts", Some(self.attempts), "");
        list.resources();
        list.text("remote", self.remote.clone(), "none");
        list.add("trusted_keys", texts(&self.trusted_keys, "none"), json!(self.trusted_keys));
        list.flag("allow_unsigned", self.allow_unsigned);
        list.text("signing_key", path(&self.signing_key), "the user's own, if there is one");
        list.flag("upload", self.upload);
        list.values
    }
}

struct List<'a> {
    site: &'a Site,
    values: Vec<SiteValue>,
}

impl List<'_> {
    fn add(&mut self, name: &str, text: String, json: Value) {
        let origin = self.site.provenance.origin(name);
        self.values.push(SiteValue { name: name.to_owned(), text, json, origin });
    }

    fn text(&mut self, name: &str, value: Option<String>, none: &str) {
        let json = json!(value);
        self.add(name, value.unwrap_or_else(|| none.to_owned()), json);
    }

    fn count(&mut self, name: &str, value: Option<usize>, none: &str) {
        let text = value.map_or_else(|| none.to_owned(), |value| value.to_string());
        self.add(name, text, json!(value));
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.add(name, if value { "yes" } else { "no" }.to_owned(), json!(value));
    }

    fn time(&mut self, name: &str, value: Option<std::time::Duration>, none: &str) {
        let text = value.map_or_else(|| none.to_owned(), duration_text);
        self.add(name, text, json!(value.map(|value| value.as_secs_f64())));
    }

    fn size(&mut self, name: &str, value: Option<u64>, none: &str) {
        let text = value.map_or_else(|| none.to_owned(), size_text);
        self.add(name, text, json!(value));
    }

    fn partitions(&mut self) {
        if self.site.partitions.is_empty() {
            self.add("partitions", "none: the default one of the site".to_owned(), json!([]));
        }
        for (at, partition) in self.site.partitions.iter().enumerate() {
            let Partition { name, time, cpus, memory, gpus } = partition;
            let path = |field: &str| format!("partitions[{at}].{field}");
            self.text(&path("name"), Some(name.clone()), "");
            self.time(&path("time"), *time, "no limit");
            self.count(&path("cpus"), *cpus, "no limit");
            self.size(&path("memory"), *memory, "no limit");
            self.count(&path("gpus"), *gpus, "none");
        }
    }

    /// Adds what the rules say; what they leave open, another rule or the default says.
    fn resources(&mut self) {
        if self.site.resources.is_empty() {
            self.add("resources", "none: every stage has the defaults".to_owned(), json!([]));
        }
        for (at, rule) in self.site.resources.iter().enumerate() {
            let ResourceRule { stages, kind, cpus, memory, most_memory, gpus, time } = rule;
            let path = |field: &str| format!("resources[{at}].{field}");
            let stages = stages.as_ref().map(ToString::to_string);
            if stages.is_some() || kind.is_none() {
                self.text(&path("stages"), stages, "all");
            }
            if kind.is_some() {
                self.text(&path("kind"), kind.clone(), "");
            }
            if cpus.is_some() {
                self.count(&path("cpus"), *cpus, "");
            }
            if memory.is_some() {
                self.size(&path("memory"), *memory, "");
            }
            if most_memory.is_some() {
                self.size(&path("most_memory"), *most_memory, "");
            }
            if gpus.is_some() {
                self.count(&path("gpus"), *gpus, "");
            }
            if time.is_some() {
                self.time(&path("time"), *time, "");
            }
        }
    }
}

fn texts(texts: &[String], none: &str) -> String {
    if texts.is_empty() { none.to_owned() } else { texts.join(", ") }
}
