//! Keys: what decides a stage's bytes, how records of it differ, and the one builder of keys.

pub mod builder;
pub mod difference;
mod record;

pub use record::{InputRecord, KeyRecord};
