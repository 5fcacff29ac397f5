//! `pcae-run doctor`: checks on the user's own disk what the cache relies on, and shows the device
//! that stages would use; on a node of a cluster, too, if asked.

mod devices;
mod node;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::args::{Common, DoctorArgs};
use crate::cli::error::{CommandError, Finding};
use crate::cli::output::terminal::{self, Tone, paint};
use crate::cli::workspace::open_cache;
use crate::device;
use crate::engine::cache::{Cache, is_network};
use crate::engine::site::ExecutorKind;
use crate::engine::system::clock;
use crate::engine::system::host;

type CheckResult = Result<String, String>;

/// What came of a check.
#[derive(Debug, Serialize, Deserialize)]
struct Check {
    name: String,
    ok: bool,
    detail: String,
}

impl Check {
    fn of(name: &str, result: CheckResult) -> Self {
        let ok = result.is_ok();
        let (Ok(detail) | Err(detail)) = result;
        Self { name: name.to_owned(), ok, detail }
    }
}

/// Runs every check; a failed one makes the exit code 5. As the job of another `doctor`, it tells that one.
pub(super) fn doctor(common: &Common, args: &DoctorArgs) -> Result<ExitCode, CommandError> {
    if let Some(folder) = &args.report {
        node::report(common, folder, args.scratch.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut all_passed = print(common, "", &checks_here(common)?);
    devices::show(common, args)?;
    if common.given_site.is_some() {
        match common.site.executor {
            ExecutorKind::Slurm => all_passed &= print(common, "node: ", &node::checks(common)?),
            ExecutorKind::Local => terminal::note(&format!(
                "the site `{}` runs stages on this machine, so no node is checked",
                common.site.name
            )),
        }
    }
    Ok(if all_passed { ExitCode::SUCCESS } else { Finding::Unhealthy.into() })
}

/// Prints what came of checks; returns whether all passed.
fn print(common: &Common, place: &str, checks: &[Check]) -> bool {
    for Check { name, ok, detail } in checks {
        let name = format!("{place}{name}");
        if common.json {
            terminal::json(&json!({"check": name, "ok": ok, "detail": detail}));
            continue;
        }
        let word = if *ok { paint(Tone::Good, "ok  ") } else { paint(Tone::Bad, "FAIL") };
        terminal::line(&format!("{word} {name:<19} {detail}"));
    }
    checks.iter().all(|check| check.ok)
}

/// Runs the checks of this machine.
fn checks_here(common: &Common) -> Result<Vec<Check>, CommandError> {
    let disk = disk_folder(common);
    let folder = disk.join(format!(".pcae-run-doctor-{}", std::process::id()));
    fs::create_dir_all(&folder)
        .map_err(|cause| CommandError::cache(format!("{}: {cause}", folder.display())))?;
    let checks: [(&str, CheckResult); 9] = [
        ("atomic rename", atomic_rename(&folder)),
        ("sync to disk", sync(&folder)),
        ("file locks", locks(&folder)),
        ("file clock", file_clock(&folder)),
        ("file system", Ok(file_system(&disk))),
        ("free space", free_space(&disk)),
        ("cache index", index(common)),
        ("device", compute_device(common)),
        ("threads", Ok(terminal::count(host::cores(), "core"))),
    ];
    let _ = fs::remove_dir_all(&folder);
    Ok(checks.into_iter().map(|(name, result)| Check::of(name, result)).collect())
}

/// Returns the cache folder, or the one above it that is there: a check makes no cache.
fn disk_folder(common: &Common) -> PathBuf {
    let whole = std::path::absolute(&common.cache).unwrap_or_else(|_| common.cache.clone());
    let found = whole.ancestors().find(|folder| folder.is_dir()).map(Path::to_owned);
    found.unwrap_or(whole)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn atomic_rename(folder: &Path) -> CheckResult {
    let (from, to) = (folder.join("new"), folder.join("old"));
    fs::write(&to, "old").map_err(text)?;
    fs::write(&from, "new").map_err(text)?;
    fs::rename(&from, &to).map_err(text)?;
    let text = fs::read_to_string(&to).map_err(text)?;
    if text == "new" && !from.exists() {
        Ok("a file replaces another in one step".to_owned())
    } else {
        Err("a renamed file did not replace the old one".to_owned())
    }
}

fn sync(folder: &Path) -> CheckResult {
    let mut file = File::create(folder.join("synced")).map_err(text)?;
    file.write_all(b"x").and_then(|()| file.sync_all()).map_err(text)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(text)?;
    Ok("files and folders".to_owned())
}

fn locks(folder: &Path) -> CheckResult {
    let path = folder.join("lock");
    let open = || File::options().create(true).read(true).append(true).open(&path).map_err(text);
    let (first, second) = (open()?, open()?);
    first.lock().map_err(text)?;
    if second.try_lock().is_ok() {
        return Err(
            "two processes can hold the same lock: runs must not share this cache".to_owned()
        );
    }
    first.unlock().map_err(text)?;
    first.lock_shared().map_err(text)?;
    second.try_lock_shared().map_err(text)?;
    Ok("one process at a time".to_owned())
}

fn file_clock(folder: &Path) -> CheckResult {
    const TOLERATED: u64 = 5;
    let path = folder.join("clock");
    fs::write(&path, "x").map_err(text)?;
    let written = fs::metadata(&path).map_err(text)?.mtime().unsigned_abs();
    let skew = written.abs_diff(clock::now());
    if skew <= TOLERATED {
        Ok(format!("{skew} s from this machine's clock"))
    } else {
        // Keys rest on content, so a wrong clock costs nothing but rehashing.
        Ok(format!("{skew} s from this machine's clock; input files are hashed more often"))
    }
}

fn file_system(cache: &Path) -> String {
    let text = if is_network(cache) {
        "network: the index uses a rollback journal"
    } else {
        "local: the index uses a write-ahead log"
    };
    text.to_owned()
}

fn free_space(cache: &Path) -> CheckResult {
    const LEAST: u64 = 1_000_000_000;
    let found = rustix::fs::statvfs(cache).map_err(text)?;
    let free = found.f_bavail * found.f_frsize;
    let text = format!("{} free", terminal::size(free));
    if free < LEAST { Err(format!("only {text}")) } else { Ok(text) }
}

fn index(common: &Common) -> CheckResult {
    if !Cache::is_there(&common.cache) {
        return Ok("no cache yet: the first run makes it".to_owned());
    }
    let cache = open_cache(common).map_err(text)?;
    if let Some(damage) = cache.index_damage().map_err(text)? {
        return Err(damage);
    }
    let (entries, bytes) = cache.size().map_err(text)?;
    Ok(format!("{}, {}", terminal::count(entries, "result"), terminal::size(bytes)))
}

fn compute_device(common: &Common) -> CheckResult {
    let devices = common.device.devices().map_err(text)?;
    for &device in &devices {
        device::probe(device).map_err(text)?;
    }
    let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
    Ok(format!("{} ({})", names.join(", "), common.device.kind().family()))
}
