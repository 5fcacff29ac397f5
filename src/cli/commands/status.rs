//! `pcae-run status`: which stages are cached.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::{CommandError, Finding};
use crate::cli::output::terminal::{self, Tone, paint};
use crate::cli::workspace::{Workspace, hold};
use crate::engine::run::status::StageStatus;

/// Shows every stage; with `check`, a stale one makes the exit code 3.
pub(super) fn status(
    common: &Common,
    check: bool,
    file: Option<&Path>,
) -> Result<ExitCode, CommandError> {
    let workspace = Workspace::open(common, file)?;
    let _in_use = hold(&workspace.cache)?;
    let statuses = workspace.statuses()?;
    let mut stale = 0;
    for (planned, status) in workspace.plan.stages().iter().zip(&statuses) {
        let (word, tone, key, detail) = match status {
            StageStatus::Cached(result) => {
                let entry = workspace.cache.entry(&result.key)?;
                let detail = format!(
                    "{}, took {}",
                    terminal::size(entry.artifact.bytes()),
                    terminal::duration(entry.run.seconds)
                );
                ("cached", Tone::Good, entry.key.short(), detail)
            }
            StageStatus::Stale { record, why } => {
                stale += 1;
                ("stale ", Tone::Busy, record.key().short(), why.clone())
            }
            StageStatus::Waiting { .. } => {
                stale += 1;
                ("waits ", Tone::Faint, "-       ".to_owned(), String::new())
            }
        };
        if common.json {
            let state = word.trim();
            terminal::json(&json!({"stage": planned.name, "state": state, "detail": detail}));
        } else {
            let line = format!("{} {key} {}  {detail}", paint(tone, word), planned.name);
            terminal::line(line.trim_end());
        }
    }
    Ok(if check && stale > 0 { Finding::Stale.into() } else { ExitCode::SUCCESS })
}
