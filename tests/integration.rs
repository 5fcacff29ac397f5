//! The one integration-test binary; each module says what belongs there.

mod sandbox;

/// What a user types and reads: commands, exit codes, output.
mod commands;
/// Two runners on one cache.
mod concurrency;
/// Kills, aborts, interrupts and full disks.
mod crash;
/// Mistakes in pipeline files, drawn.
mod diagnostics;
/// What reruns and what doesn't, through the real program.
mod reruns;
