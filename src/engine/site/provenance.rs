//! Where each value of a site is written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::pipeline::source::{Source, Span};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No site file says anything about it.
    Default,
    /// A line of a site file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An option of the command line.
    Option(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Option(name) => f.write_str(name),
        }
    }
}

/// The places of the values of one site, by the path of the field: `partitions[0].time`.
#[derive(Clone, Debug, Default)]
pub(super) struct Provenance {
    /// The file, if there is one.
    pub(super) source: Option<Arc<Source>>,
    /// Where the name of the site is written.
    pub(super) name: Option<Span>,
    /// Why this site was chosen.
    pub(super) chosen: String,
    places: BTreeMap<String, Span>,
}

impl Provenance {
    /// Returns the places of a site that is written in a file.
    pub(super) fn new(source: Arc<Source>, name: Span) -> Self {
        Self { source: Some(source), name: Some(name), ..Self::default() }
    }

    /// Notes where a field is written.
    pub(super) fn note(&mut self, field: String, place: Span) {
        self.places.insert(field, place);
    }

    /// Returns the file.
    pub(super) fn file(&self) -> Option<&Path> {
        self.source.as_ref().map(|source| source.path())
    }

    /// Returns where a field is written.
    pub(super) fn place(&self, field: &str) -> Option<Span> {
        self.places.get(field).copied()
    }

    /// Returns where a field comes from.
    pub(super) fn origin(&self, field: &str) -> Origin {
        self.place(field).map_or(Origin::Default, |place| self.at(place))
    }

    /// Returns a place of the file as an origin.
    pub(super) fn at(&self, place: Span) -> Origin {
        self.source.as_ref().map_or(Origin::Default, |source| Origin::File {
            path: source.path().to_owned(),
            line: source.line(place.start),
        })
    }
}
