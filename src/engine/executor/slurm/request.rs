//! One call of sbatch: its options, and the script that a node runs.

use std::path::Path;
use std::time::Duration;

use crate::engine::site::{MemoryPer, Partition, Resources, Site, SiteError};

/// A job to be submitted.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its name, which no other job has.
    pub name: String,
    /// Options of sbatch.
    pub options: Vec<String>,
    /// What a node runs.
    pub script: String,
    /// How many tasks it has; an array if there are several.
    pub tasks: usize,
}

/// What a job is to have.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    /// The site that it goes to.
    pub site: &'a Site,
    /// What it asks for.
    pub resources: &'a Resources,
    /// Where it goes, if the site names partitions.
    pub partition: Option<&'a Partition>,
    /// Nodes that it must not run on.
    pub excluded: &'a [String],
}

impl Demand<'_> {
    /// Returns the request for a number of tasks, each of which runs `command`; what it prints goes to
    /// `log`, in which `%t` stands for the number of the task.
    pub fn request(&self, name: &str, tasks: usize, command: &[String], log: &Path) -> Request {
        let mut script = self.set_up();
        script.push(format!("exec {} --task \"${{SLURM_ARRAY_TASK_ID:-0}}\"", words(command)));
        let log = log.display().to_string().replace("%t", if tasks > 1 { "%a" } else { "0" });
        self.with_script(name, tasks, &script, &log)
    }

    /// Returns the request for a runner, which submits other jobs; it works in `folder`.
    pub fn runner(&self, name: &str, folder: &Path, command: &[String], log: &Path) -> Request {
        let mut script = self.set_up();
        script.push(format!("cd {} || exit 96", quoted(&folder.display().to_string())));
        script.push(format!("exec {}", words(command)));
        let mut request = self.with_script(name, 1, &script, &log.display().to_string());
        // A second one would only wait for the first.
        request.options.push("--dependency=singleton".to_owned());
        request
    }

    fn with_script(&self, name: &str, tasks: usize, script: &[String], log: &str) -> Request {
        let mut options = vec![
            format!("--job-name={name}"),
            "--ntasks=1".to_owned(),
            format!("--cpus-per-task={}", self.resources.cpus),
            format!("--time={}", time(self.resources.time)),
            // The runner submits again: a job that came back by itself could run twice.
            "--no-requeue".to_owned(),
            "--open-mode=append".to_owned(),
            // A folder of the submitting machine may not be there: the job would go on elsewhere.
            "--chdir=/".to_owned(),
            "--export=ALL".to_owned(),
            format!("--signal=B:USR1@{}", self.site.warn_before.as_secs()),
            format!("--output={log}"),
        ];
        if tasks > 1 {
            options.push(format!("--array=0-{}", tasks - 1));
        }
        options.extend(self.memory());
        if self.resources.gpus > 0 {
            let gpus = self.resources.gpus.to_string();
            options.push(self.site.gpu_option.replace("{gpus}", &gpus));
        }
        options.extend(self.site.account.iter().map(|account| format!("--account={account}")));
        options.extend(self.partition.map(|partition| format!("--partition={}", partition.name)));
        if !self.excluded.is_empty() {
            options.push(format!("--exclude={}", self.excluded.join(",")));
        }
        options.extend(self.site.options.iter().cloned());
        Request { name: name.to_owned(), options, script: script.join("\n") + "\n", tasks }
    }

    /// Returns the one option for memory that this site takes: both are an error, and some sites refuse
    /// one of them.
    fn memory(&self) -> Option<String> {
        const MEGABYTE: u64 = 1 << 20;
        let megabytes = self.resources.memory.div_ceil(MEGABYTE);
        match self.site.memory {
            MemoryPer::PerJob => Some(format!("--mem={megabytes}M")),
            MemoryPer::PerCpu => {
                let each = megabytes.div_ceil(self.resources.cpus.max(1) as u64);
                Some(format!("--mem-per-cpu={each}M"))
            }
            MemoryPer::Omitted => None,
        }
    }

    /// Returns the lines before the program, which runs in place of the shell, so that signals reach it.
    fn set_up(&self) -> Vec<String> {
        let mut lines = vec!["#!/bin/bash -l".to_owned()];
        lines.extend(self.site.setup.iter().map(|line| {
            format!("{line} || {{ echo 'the setup line failed: '{} >&2; exit 97; }}", quoted(line))
        }));
        lines
    }
}

/// Returns where a job goes and what it asks for there. One that would be too long for every partition
/// asks for as much time as there is: its stage goes on in another job.
pub fn placed<'a>(
    site: &'a Site,
    resources: &Resources,
) -> Result<(Resources, Option<&'a Partition>), SiteError> {
    let fits = |resources: Resources| Ok((resources, site.partition(&resources)?));
    let limits = site.partitions.iter().filter_map(|partition| partition.time);
    let longest_first = || {
        let mut limits: Vec<_> = limits.filter(|limit| *limit < resources.time).collect();
        limits.sort();
        limits.into_iter().rev()
    };
    fits(*resources).or_else(|error| {
        let shorter = longest_first().map(|time| Resources { time, ..*resources });
        shorter.map(fits).find(Result::is_ok).unwrap_or(Err(error))
    })
}

/// Returns a time as sbatch takes it, in whole minutes: it knows no shorter ones.
fn time(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60).max(1);
    format!("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60)
}

fn words(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Returns a word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
