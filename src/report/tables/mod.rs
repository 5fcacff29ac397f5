//! Tables: what a pipeline file declares, the plain data it becomes, and the formats it is
//! written in.

pub(in crate::report) mod best;
pub(in crate::report) mod cell;
pub mod csv;
pub(in crate::report) mod csv_reader;
pub(in crate::report) mod grid;
pub mod latex;
pub mod latex_macros;
#[cfg(test)]
mod layout_tests;
pub mod markdown;
pub(in crate::report) mod marks;
pub(in crate::report) mod notes;
pub(in crate::report) mod selection;
pub(in crate::report) mod table;
pub(in crate::report) mod tabulate;
pub mod terminal;
