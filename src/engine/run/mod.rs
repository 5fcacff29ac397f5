//! A run: where every stage stands, what is to run, and the scheduler that runs it.

mod contents;
mod devices;
pub mod events;
pub mod options;
mod prior_hits;
pub mod scheduler;
pub mod sharing;
mod startable;
pub mod status;
mod why;
