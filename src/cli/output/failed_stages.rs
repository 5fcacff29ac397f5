//! What is printed about a failed stage: its message, the end of its log, and how to retry.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::terminal::{self, Tone, paint};
use crate::cli::args::Common;
use crate::cli::workspace::Workspace;
use crate::device::DeviceChoice;
use crate::engine::run::options::RunReport;

/// Prints every failed stage of a run; `retry` says how to run one again.
pub(crate) fn print(workspace: &Workspace, report: &RunReport, retry: impl Fn(&str) -> String) {
    const LINES: usize = 10;
    for (stage, message) in &report.failed {
        terminal::note(&format!("{} {stage}: {message}", paint(Tone::Bad, "failed:")));
        // A stage that never started has no log, and running it alone would not help.
        let Some(key) = report.keys.get(stage) else {
            continue;
        };
        let path = workspace.cache.log_path(key);
        let tail = tail(&path, LINES);
        if !tail.is_empty() {
            terminal::note(&format!("  end of its log ({}):", path.display()));
            for line in &tail {
                terminal::note(&format!("    {line}"));
            }
        }
        terminal::note(&format!("  {}", retry(stage)));
    }
}

/// Returns the command that runs one stage again with the same options.
pub(crate) fn retry_command(common: &Common, file: &Path, stage: &str) -> String {
    let quoted = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:=,".contains(c);
        if text.chars().all(plain) { text.to_owned() } else { format!("'{text}'") }
    };
    let path = |path: &Path| quoted(&path.to_string_lossy());
    let mut command = format!("pcae-run {} --until {}", path(file), quoted(stage));
    if let Some(cache) = &common.given_cache {
        command = format!("{command} --cache {}", path(cache));
    }
    if let Some(data) = &common.data {
        command = format!("{command} --data {}", path(data));
    }
    if let Some(scale) = &common.scale {
        command = format!("{command} --scale {}", quoted(scale));
    }
    if common.offline {
        command = format!("{command} --offline");
    }
    if common.device != DeviceChoice::default() {
        command = format!("{command} --device {}", common.device);
    }
    command
}

/// Returns the last lines of a file.
pub(crate) fn tail(path: &Path, lines: usize) -> Vec<String> {
    const READ: u64 = 16 << 10;
    let mut text = Vec::new();
    let read = fs::File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
        file.read_to_end(&mut text)
    });
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text);
    let all: Vec<_> = text.lines().map(str::to_owned).collect();
    all[all.len().saturating_sub(lines)..].to_vec()
}
