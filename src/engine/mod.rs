//! Runs a declared graph of stages and keeps every result. Knows no machine learning.
//!
//! Its modules in order; each knows only those above it in this list:
//!
//! ```text
//! system    clocks, threads, processes, the host
//! digest    content digests, and the encoding that is hashed
//! stage     what a stage is to the engine: its contract, its context, its artifacts
//! pipeline  a file becomes checked stages, or a list of located mistakes
//! site      what belongs to a machine: where stages run, and with which resources
//! plan      stages become a graph: references followed, kinds checked, an order
//! key       what decides a stage's bytes, and the one builder of keys
//! cache     results by key, files by digest
//! remote    results that machines share, and whose are believed
//! bundle    a pipeline and its results in one file that a stranger can check
//! job       one stage, run by itself in a process of its own
//! executor  where jobs run
//! run       what is cached, what is to run, and the scheduler
//! ```

pub mod bundle;
pub mod cache;
pub mod digest;
pub mod executor;
pub mod job;
pub mod key;
pub mod pipeline;
pub mod plan;
pub mod remote;
pub mod run;
pub mod site;
pub mod stage;
pub mod system;

#[cfg(test)]
mod test_stages;
#[cfg(test)]
mod tests;
