//! Comparison of tables: with published numbers, and with an earlier version of themselves.

pub(in crate::report) mod cell_changes;
#[cfg(test)]
mod repeated_tests;
pub(in crate::report) mod verdict;
