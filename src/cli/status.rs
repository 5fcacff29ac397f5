//! `pcae-run status`: which stages are cached.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::args::Common;
use super::failure::{Failure, STALE};
use super::session::Session;
use super::terminal::{self, Tone, paint};
use crate::engine::assess::Standing;

/// Shows every stage; with `check`, a stale one makes the exit code 3.
pub(super) fn status(
    common: &Common,
    check: bool,
    file: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let session = Session::open(common, file)?;
    let _in_use = session.cache.hold().ok();
    let standings = session.standings()?;
    let mut stale = 0;
    for (planned, standing) in session.plan.stages().iter().zip(&standings) {
        let (word, tone, key, detail) = match standing {
            Standing::Cached(result) => {
                let entry = session.cache.entry(&result.key)?;
                let detail = format!(
                    "{}, took {}",
                    terminal::size(entry.artifact.bytes()),
                    terminal::duration(entry.run.seconds)
                );
                ("cached", Tone::Good, entry.key.short(), detail)
            }
            Standing::Stale { record, why } => {
                stale += 1;
                ("stale ", Tone::Busy, record.key().short(), why.clone())
            }
            Standing::Waiting { .. } => {
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
    Ok(if check && stale > 0 { ExitCode::from(STALE) } else { ExitCode::SUCCESS })
}
