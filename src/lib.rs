//! pcae-run: a declarative, cached experiment-pipeline runner that reproduces autoencoder papers.
//!
//! Two halves that meet in one folder. [`engine`] turns a pipeline file into a checked plan, keys
//! every stage by its content, and runs what the cache lacks; it knows no machine learning. The
//! science half knows no pipeline. Only `stages` knows both, and `cli` is what a person types.
//!
//! ```text
//! cli -> stages -> { report, data, models, training, geometry, dimension, evaluation } -> numerics
//! evaluation -> { data, models, training, geometry }
//! models, training -> kernels -> data
//! cli -> data, to look at a file before there is a pipeline
//! report -> { data, geometry }, to show images and distances
//! cli, report -> statistics -> nothing
//! cli, stages -> engine -> nothing
//! ```
//!
//! Without the feature `science` only the engine is built: no tensors, no frames, no pictures.

pub mod engine;

#[cfg(feature = "science")]
pub mod cli;
#[cfg(feature = "science")]
pub mod data;
#[cfg(feature = "science")]
pub mod device;
#[cfg(feature = "science")]
pub mod dimension;
#[cfg(feature = "science")]
pub mod evaluation;
#[cfg(feature = "science")]
pub mod geometry;
#[cfg(feature = "science")]
pub mod kernels;
#[cfg(feature = "science")]
pub mod models;
#[cfg(feature = "science")]
pub mod numerics;
#[cfg(feature = "science")]
pub mod report;
#[cfg(feature = "science")]
pub mod stages;
#[cfg(feature = "science")]
pub mod statistics;
#[cfg(feature = "science")]
pub mod training;
