//! Named points at which a test can end the process or fail a write.
//!
//! `PCAE_RUN_FAILPOINT=publish.rename.after=abort` kills the process right after that step, and
//! `=full` makes the step fail as on a full disk. Unset, a point costs one atomic load.

use std::io;
use std::sync::OnceLock;

/// Every point that all stages pass, in their order.
pub const POINTS: &[&str] = &[
    "claim.lock.before",
    "claim.lock.after",
    "claim.clean.after",
    "stage.run.before",
    "stage.run.after",
    "publish.check.after",
    "publish.hash.after",
    "publish.sync.before",
    "publish.sync.after",
    "publish.rename.before",
    "publish.rename.each",
    "publish.rename.after",
    "publish.sync-folder.after",
    "publish.manifest-write.before",
    "publish.manifest-write.after",
    "publish.manifest-rename.after",
    "index.transaction.before",
    "index.insert.after",
    "index.commit.after",
    "claim.clear.before",
    "claim.clear.after",
    "claim.release.after",
];

/// Points that only a stage with a trajectory passes; the second one only if it is forced.
pub const TRAJECTORY_POINTS: &[&str] = &["trajectory.lock.after", "trajectory.clear.rename.after"];

enum Action {
    Abort,
    Full,
}

/// Passes a point: does nothing, fails as a full disk would, or never returns.
pub fn pass(point: &str) -> io::Result<()> {
    static ARMED: OnceLock<Option<(String, Action)>> = OnceLock::new();
    if !POINTS.contains(&point) && !TRAJECTORY_POINTS.contains(&point) {
        return Err(io::Error::other(format!("the failpoint {point} is not listed")));
    }
    match ARMED.get_or_init(armed) {
        Some((name, action)) if name == point => match action {
            Action::Abort => std::process::abort(),
            Action::Full => Err(io::Error::from(io::ErrorKind::StorageFull)),
        },
        _ => Ok(()),
    }
}

fn armed() -> Option<(String, Action)> {
    #[expect(clippy::disallowed_methods, reason = "a test switch, never an input of a stage")]
    let setting = std::env::var("PCAE_RUN_FAILPOINT").ok()?;
    let (name, action) = setting.split_once('=')?;
    let action = match action {
        "abort" => Action::Abort,
        "full" => Action::Full,
        _ => return None,
    };
    Some((name.to_owned(), action))
}
