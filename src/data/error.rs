//! Why a data set could not be loaded: one line with the file, the place in it, and what is wrong.

use std::io;

use thiserror::Error;

use crate::numerics::memory;

/// Says why a data set could not be loaded.
#[derive(Debug, Error)]
pub enum DataError {
    /// Values, annotations and shape do not describe the same number of samples.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// The list that is too short or too long.
        what: &'static str,
        /// Number of values the shape asks for.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
    /// The system could not read a file.
    #[error("{file}: {cause}")]
    File {
        /// The file's name.
        file: String,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A file that the data set needs is not among those given.
    #[error("no {wanted} found{}", only(present))]
    Missing {
        /// What was looked for, in words.
        wanted: String,
        /// The files that are there.
        present: Vec<String>,
    },
    /// A file holds something else than it should.
    #[error("{file}: {place}: {reason}")]
    Malformed {
        /// The file's name.
        file: String,
        /// Where in the file, such as `byte 4`, `image 17` or `row 3, column 2`.
        place: String,
        /// What is expected there and what was found.
        reason: String,
    },
    /// Something would not fit into memory.
    #[error("{what} {size}: {advice}")]
    TooLarge {
        /// What would be held, with its file.
        what: String,
        /// How much it would take, and how much there is.
        size: memory::TooLarge,
        /// What to do about it.
        advice: &'static str,
    },
    /// The samples lack something that the settings name.
    #[error("these samples have no {what} `{name}`{}", only(present))]
    Unknown {
        /// What kind of thing: `factor`, `class`, ...
        what: &'static str,
        /// The name in the settings.
        name: String,
        /// The names that would do.
        present: Vec<String>,
    },
    /// Settings that cannot be followed with these samples.
    #[error("{0}")]
    Unfit(String),
}

impl DataError {
    /// Names the file that a system error is about.
    pub fn file(file: &str) -> impl FnOnce(io::Error) -> Self + use<> {
        let file = file.to_owned();
        move |cause| Self::File { file, cause }
    }

    /// Says that part of a file does not fit into memory.
    pub(super) fn too_large(what: impl ToString) -> impl FnOnce(memory::TooLarge) -> Self {
        let what = what.to_string();
        let advice = "use a smaller file, or more memory";
        move |size| Self::TooLarge { what, size, advice }
    }

    /// Says what is wrong at a place of a file.
    pub fn malformed(file: &str, place: impl ToString, reason: impl ToString) -> Self {
        Self::Malformed {
            file: file.to_owned(),
            place: place.to_string(),
            reason: reason.to_string(),
        }
    }
}

/// Says what is there instead: names a few items and counts the rest.
fn only(items: &[String]) -> String {
    const SHOWN: usize = 12;
    match items {
        [] => " (there are none)".to_owned(),
        items if items.len() <= SHOWN => format!(", only {}", items.join(", ")),
        items => format!(", only {} and {} more", items[..SHOWN].join(", "), items.len() - SHOWN),
    }
}
