//! Tests that tell whether measured numbers agree with published ones.
//!
//! A [`Sample`] is what is known of some runs: how many, their mean, their variance. Two of them
//! make a [`Difference`], which answers with p-values (is there a difference? is it within a
//! margin?), a confidence interval, and how many more runs an answer would take. [`holm`] makes p-values of
//! many cells answer for all of them together; [`spent_alpha`] does so for repeated looks. Knows
//! nothing of tables.

mod difference;
mod distributions;
mod further_runs;
mod multiplicity;
mod sample;
mod special;
mod whole_numbers;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod simulation;

pub use difference::{Difference, is_significantly_larger};
pub use distributions::{StudentT, normal_quantile};
pub use further_runs::{Levels, further_runs};
pub use multiplicity::{holm, next_holm_level, spent_alpha};
pub use sample::Sample;
pub use whole_numbers::{PrintedSpread, printed_spread};
