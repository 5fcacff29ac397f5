//! Exact tests for few runs, which assume nothing of how runs are distributed.
//!
//! A handful of seeds can't show whether runs are normal, skewed or have two peaks, so no test here
//! relies on it: [`BoundedMean`] bounds a mean by the range of the values alone, [`PublishedRuns`]
//! compares with runs of which only mean and spread are printed, and [`rank_sum_p`] compares runs
//! that are all known. `error_rates.rs` computes how often each is wrong.

mod bounded_mean;
#[cfg(test)]
mod error_rates;
mod moments;
mod multiplicity;
mod permutation;
mod published_runs;
#[cfg(test)]
mod reference;
mod runs_needed;
mod whole_numbers;

pub use bounded_mean::BoundedMean;
pub use moments::{mean, standard_deviation};
pub use multiplicity::{holm, next_holm_level, spent_alpha};
pub use permutation::rank_sum_p;
pub use published_runs::PublishedRuns;
pub use runs_needed::{MOST_RUNS, runs_needed};
pub use whole_numbers::{PrintedSpread, printed_spread};
