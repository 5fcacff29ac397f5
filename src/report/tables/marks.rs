//! The marks that cells of a table can have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a cell compares with those it competes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rank {
    /// It is the best; ties, as shown, are all best.
    Best,
    /// A test does not find it worse than the best.
    NotToldApart,
}

impl Rank {
    /// Returns the type in which such cells are set.
    pub(in crate::report) const fn typeface(self) -> &'static str {
        match self {
            Self::Best => "bold",
            Self::NotToldApart => "italic",
        }
    }
}

/// Why a number gets no verdict, whatever it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Unjudged {
    /// A setting was chosen by this very number.
    Tuned,
    /// Other data stand in for the published ones.
    StandIn,
    /// Another measure, unit or machine.
    NotComparable,
    /// A run counts all the coordinates there are: their number decided, not the data. This is
    /// found from the records.
    AtItsLimit,
    /// A run has a code that collapsed. This is found from the records, by `collapsed`.
    Collapsed,
}

impl Unjudged {
    /// All reasons.
    pub const ALL: [Self; 5] =
        [Self::Tuned, Self::StandIn, Self::NotComparable, Self::AtItsLimit, Self::Collapsed];

    /// Returns the reason in a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::StandIn => "stand-in",
            Self::NotComparable => "not comparable",
            Self::AtItsLimit => "at its limit",
            Self::Collapsed => "collapsed",
        }
    }

    /// Returns the reason in a sentence without its end.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Tuned => "a setting was chosen by this very number, so there is no verdict",
            Self::StandIn => "other data stand in for the published ones, so there is no verdict",
            Self::NotComparable => "another measure, unit or machine, so there is no verdict",
            Self::AtItsLimit => "a run counts all coordinates there are, so there is no verdict",
            Self::Collapsed => "the code of a run collapsed, so there is no verdict",
        }
    }

    /// Returns the symbol after a number.
    pub(in crate::report) const fn symbol(self) -> char {
        match self {
            Self::Tuned => '†',
            Self::StandIn => '‡',
            Self::NotComparable => '§',
            Self::AtItsLimit => '¶',
            Self::Collapsed => '‖',
        }
    }
}
