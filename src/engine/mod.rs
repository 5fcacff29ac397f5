//! Runs a declared graph of stages and keeps every result. Knows no machine learning.
//!
//! A pipeline file becomes a [`plan::Plan`] or a list of located mistakes; each stage's inputs and
//! settings become a [`key::KeyRecord`]; the [`cache`] answers whether that key's result exists;
//! [`schedule`] runs what is missing through an [`executor`].

pub mod artifact;
pub mod assess;
pub mod cache;
pub mod clock;
pub mod context;
pub mod cost;
pub mod diagnostic;
pub mod difference;
pub mod digest;
pub mod encoding;
pub mod events;
pub mod executor;
pub mod extend;
pub mod failpoint;
mod holes;
pub mod host;
mod if_present;
pub mod job;
pub mod key;
pub mod lexer;
mod lineup;
pub mod outside;
mod parallel;
pub mod parse_error;
mod place;
pub mod plan;
mod resolve;
pub mod run;
pub mod schedule;
pub mod select;
mod sight;
pub mod source;
pub mod spec;
pub mod stage;
pub mod supervise;
pub mod sweep;
pub mod template;
mod why;

#[cfg(test)]
mod behavior;
#[cfg(test)]
mod toy;
#[cfg(test)]
mod trajectories;
