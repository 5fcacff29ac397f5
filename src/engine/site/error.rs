//! Why there is no site to work with.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::quantity::{duration_text, size_text};
use super::{CHOICE_VARIABLE, Partition, Resources};
use crate::engine::pipeline::diagnostic::Diagnostic;
use crate::engine::pipeline::source::{Source, SourceError};

/// Why there is no site to work with, or no partition in it.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The file is missing or unreadable.
    #[error("can't read the site file `{}`: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is far larger than a site file can be.
    #[error("the site file `{}` is too large: it has {bytes} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The file has mistakes.
    #[error("{} in {}", count(mistakes.len(), "mistake"), source_file.path().display())]
    Invalid {
        /// The file.
        source_file: Arc<Source>,
        /// What is wrong in it.
        mistakes: Vec<Diagnostic>,
    },
    /// A site is asked for, but there is no site file.
    #[error("`{CHOICE_VARIABLE}` is `{name}`, but there is no site file `{}`", path.display())]
    NoFile {
        /// The site.
        name: String,
        /// Where the file would be.
        path: PathBuf,
    },
    /// The site that is asked for is not in the file.
    #[error("`{CHOICE_VARIABLE}` is `{name}`, but `{}` has no site of that name", path.display())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The file.
        path: PathBuf,
        /// The sites that are there.
        known: Vec<String>,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// Several sites claim this host.
    #[error("the host `{host}` belongs to {} sites in `{}`: {}", sites.len(), path.display(), listed(sites))]
    Ambiguous {
        /// This host.
        host: String,
        /// The file.
        path: PathBuf,
        /// The sites with their lines.
        sites: Vec<(String, usize)>,
    },
    /// A file was given, but none of its sites claims this host.
    #[error("no site in `{}` is for this host, `{host}`", path.display())]
    Undecided {
        /// This host.
        host: String,
        /// The file.
        path: PathBuf,
        /// The sites that are there.
        known: Vec<String>,
    },
    /// A stage fits into no partition.
    #[error(
        "no partition of the site `{site}` has room for {}; the largest, `{}`, allows {}",
        demand(wanted),
        largest.name,
        room(largest)
    )]
    NoPartition {
        /// The site.
        site: String,
        /// What a stage asks for.
        wanted: Resources,
        /// The partition that comes nearest to that.
        largest: Box<Partition>,
    },
}

impl SiteError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } => Some(format!(
                "`--site` takes a file; choose a site in it with `{CHOICE_VARIABLE}=NAME`; \
                 `pcae-run site --example` prints a file to start from"
            )),
            Self::NoFile { .. } => {
                Some("`pcae-run site --example` prints a file to start from".to_owned())
            }
            Self::Unknown { nearest: Some(name), .. } => Some(format!("did you mean `{name}`?")),
            Self::Unknown { known, .. } => Some(format!("its sites: {}", quoted(known))),
            Self::Ambiguous { sites, .. } => {
                let (first, _) = sites.first()?;
                Some(format!(
                    "choose one, such as with `{CHOICE_VARIABLE}={first}`, or write `hosts` so that \
                     only one of them has this host"
                ))
            }
            Self::Undecided { known, .. } => Some(format!(
                "choose one of {} with `{CHOICE_VARIABLE}`, or add this host to its `hosts`",
                quoted(known)
            )),
            Self::NoPartition { .. } => {
                Some("lower `resources`, or correct the limits in `partitions`".to_owned())
            }
            Self::TooLarge { .. } | Self::Invalid { .. } => None,
        }
    }
}

impl From<SourceError> for SiteError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Unreadable { path, cause } => Self::Unreadable { path, cause },
            SourceError::TooLarge { path, bytes } => Self::TooLarge { path, bytes },
        }
    }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn listed(sites: &[(String, usize)]) -> String {
    let sites = sites.iter().map(|(name, line)| format!("`{name}` (line {line})"));
    sites.collect::<Vec<_>>().join(", ")
}

/// Puts what a stage asks for into words.
fn demand(wanted: &Resources) -> String {
    let mut words = vec![
        count(wanted.cpus, "processor"),
        format!("{} of memory", size_text(wanted.memory)),
        duration_text(wanted.time),
    ];
    if wanted.gpus > 0 {
        words.insert(2, count(wanted.gpus, "GPU"));
    }
    words.join(", ")
}

/// Puts the limits of a partition into words.
fn room(partition: &Partition) -> String {
    let gpus = match partition.gpus.unwrap_or_default() {
        0 => "no GPUs".to_owned(),
        gpus => count(gpus, "GPU"),
    };
    let limits = [
        partition.cpus.map(|cpus| count(cpus, "processor")),
        partition.memory.map(|memory| format!("{} of memory", size_text(memory))),
        Some(gpus),
        partition.time.map(duration_text),
    ];
    limits.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
