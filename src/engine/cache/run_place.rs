//! Where a process runs, as others are told.

use serde::{Deserialize, Serialize};

/// Where a run runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlace {
    /// The machine.
    pub host: String,
    /// The number of its process there.
    pub process: u32,
}
