//! What the program prints: data, messages, and the progress of a run.

pub(crate) mod failed_stages;
pub(crate) mod progress;
pub(crate) mod state;
pub(crate) mod terminal;
