//! The one integration-test binary; each module says what belongs there.

#![expect(clippy::unwrap_used, reason = "a test that can't go on stops where it is")]

mod sandbox;

/// The shape of the code itself.
mod architecture;
/// Bundles: packed, replayed elsewhere, refused.
mod bundle;
/// Sites, and what is said before anything is submitted; tests/slurm has the rest.
mod cluster;
/// What a user types and reads: commands, exit codes, output.
mod commands;
/// Published and earlier numbers beside present ones.
mod comparison;
/// What estimates and counts amount to, on data of known dimension.
mod conclusion;
/// Two runners on one cache.
mod concurrency;
/// Kills, aborts, interrupts and full disks.
mod crash;
/// Files and manifests of a cache that are not what they were, and whoever is kept from writing.
mod damage;
/// Data from outside: files, folders and downloads.
mod datasets;
/// Mistakes in pipeline files, drawn.
mod diagnostics;
/// Distances along graphs of images and vectors.
mod distances;
/// READMEs: what they say is so.
mod documentation;
/// What the program says of stage kinds and settings.
mod explain;
/// Data to pipelines: what `init` sees, says and writes.
mod init;
/// What trained models are good for: classes, images between images, how long they took.
mod latent_use;
/// The LaTeX report, compiled.
mod latex;
/// Ten data files as people have them, from `init` to an answer.
mod own_data;
/// The paper as a pipeline, and the report that is kept.
mod paper;
/// What is checked, printed and asked before a run starts.
mod preflight;
/// Where a project has its cache, what is told of runs, and what tools read.
mod project;
/// Trained models as modules of PyTorch.
mod pytorch;
/// Measures of a code, on a model for which they are known.
mod quality;
/// The report page, its manifest and their check.
mod report;
/// What reruns and what doesn't, through the real program.
mod reruns;
/// Measured values and training curves for other programs.
mod results;
/// Scores of samples by their features.
mod scores;
/// Results that hosts share by a folder, and the keys by which they trust each other; tests/remote has the rest.
mod sharing;
/// Runs added until published numbers have verdicts.
mod until_decided;
