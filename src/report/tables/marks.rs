//! The marks of a table's cells, and what each means in a line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::tables::table::{Best, Table};

/// How a cell compares with those it competes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rank {
    /// It is the best; ties, as shown, are all best.
    Best,
    /// A test does not find it worse than the best.
    NotToldApart,
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

/// A mark that a table uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Mark {
    Rank(Rank),
    Unjudged(Unjudged),
}

/// Lists the marks of a table with what they mean.
pub(in crate::report) fn legend(table: &Table) -> Vec<(Mark, String)> {
    let cells = || table.rows.iter().flat_map(|row| &row.cells);
    let mut legend = Vec::new();
    if cells().any(|cell| cell.rank == Some(Rank::Best)) {
        let nearest = |best: &Best| matches!(best, Best::Closest(_) | Best::ClosestTo(_));
        let best = if table.columns.iter().any(|column| nearest(&column.best)) {
            "best: its runs are nearest to the truth, on average"
        } else {
            "best"
        };
        legend.push((Mark::Rank(Rank::Best), best.to_owned()));
    }
    if table.tested {
        let told = "not told apart from the best (one-sided exact rank-sum test of the runs, 5 %)";
        legend.push((Mark::Rank(Rank::NotToldApart), told.to_owned()));
    }
    for reason in Unjudged::ALL {
        if cells().any(|cell| cell.unjudged == Some(reason)) {
            let told = format!("{}: {}", reason.word(), reason.meaning());
            legend.push((Mark::Unjudged(reason), told));
        }
    }
    legend
}
