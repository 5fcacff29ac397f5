//! How large a pipeline may be: every limit on what a file can ask for.
//!
//! A short file can ask for more stages, text or references than any machine holds. Each limit is
//! compared with a count that costs no more than reading the file, before anything is expanded.

/// Bytes of a pipeline file.
pub(super) const LARGEST_FILE: u64 = 16 << 20;

/// Bytes of a file of notes.
pub(super) const LARGEST_NOTES: u64 = 1 << 20;

/// Brackets inside brackets; RON's own limit is of the same order.
pub(super) const DEEPEST_BRACKETS: usize = 64;

/// Values inside values (`Axis`, `Shared`).
pub(super) const DEEPEST_VALUES: usize = 8;

/// Bytes of a name of a stage, an axis or a label: file names have at most 255.
pub(super) const LONGEST_NAME: usize = 200;

/// Axes of a pipeline.
pub(super) const MOST_AXES: usize = 64;

/// Entries of `limits`: each may be compared with every stage.
pub(super) const MOST_LIMITS: usize = 1000;

/// Stages of a pipeline.
pub(super) const MOST_STAGES: usize = 100_000;

/// Bytes of one stage with all values put in.
pub(super) const LARGEST_STAGE: usize = 1 << 20;

/// Bytes of all stages with all values put in.
pub(super) const LARGEST_PIPELINE: usize = 128 << 20;

/// References between stages, each member of a family counted.
pub(crate) const MOST_REFERENCES: usize = 5_000_000;

/// Mistakes that are looked for; with so many, the rest of the file says nothing new.
pub(super) const MOST_MISTAKES: usize = 200;

/// Stages of one template whose mistakes are looked for: most have the same.
pub(super) const MOST_EXPLAINED: usize = 100;

/// Mistakes that are drawn.
pub(super) const MOST_DRAWN: usize = 20;

/// Places that are drawn of one mistake: a cycle of thousands of stages is clear from its first
/// edges.
pub(super) const MOST_PLACES: usize = 12;

/// Names that are compared to find the one that was meant.
pub(super) const MOST_COMPARED: usize = 10_000;
