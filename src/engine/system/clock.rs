//! The one place that asks what time it is. Times go into run records, never into artifacts.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seconds since 1970.
pub fn now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "this is the wrapper the lint points to")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
