//! `pcae-run doctor`: tries on the user's own disk what the cache relies on, and shows what
//! computing would run on.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::args::Common;
use super::failure::{Failure, INTEGRITY};
use super::session::open_cache;
use super::terminal::{self, Tone, paint};
use crate::device;
use crate::engine::cache::is_network;
use crate::engine::clock;
use crate::engine::host;

type Finding = Result<String, String>;

/// Runs every check; a failed one makes the exit code 5.
pub(super) fn doctor(common: &Common) -> Result<ExitCode, Failure> {
    let folder = common.cache.join("doctor");
    fs::create_dir_all(&folder)
        .map_err(|cause| Failure::integrity(format!("{}: {cause}", folder.display())))?;
    let checks: [(&str, Finding); 9] = [
        ("atomic rename", atomic_rename(&folder)),
        ("sync to disk", sync(&folder)),
        ("locks exclude", locks(&folder)),
        ("file clock", file_clock(&folder)),
        ("file system", Ok(file_system(&common.cache))),
        ("free space", free_space(&common.cache)),
        ("cache index", index(common)),
        ("device", compute_device(common)),
        ("threads", Ok(format!("{} cores", host::cores()))),
    ];
    let _ = fs::remove_dir_all(&folder);
    let mut failed = false;
    for (name, finding) in &checks {
        failed |= finding.is_err();
        let (word, detail) = match finding {
            Ok(detail) => (paint(Tone::Good, "ok  "), detail),
            Err(detail) => (paint(Tone::Bad, "FAIL"), detail),
        };
        if common.json {
            terminal::json(&json!({"check": name, "ok": finding.is_ok(), "detail": detail}));
        } else {
            terminal::line(&format!("{word} {name:<14} {detail}"));
        }
    }
    Ok(if failed { ExitCode::from(INTEGRITY) } else { ExitCode::SUCCESS })
}

fn said(error: impl ToString) -> String {
    error.to_string()
}

fn atomic_rename(folder: &Path) -> Finding {
    let (from, to) = (folder.join("new"), folder.join("old"));
    fs::write(&to, "old").map_err(said)?;
    fs::write(&from, "new").map_err(said)?;
    fs::rename(&from, &to).map_err(said)?;
    let text = fs::read_to_string(&to).map_err(said)?;
    if text == "new" && !from.exists() {
        Ok("a file replaces another in one step".to_owned())
    } else {
        Err("a renamed file did not replace the old one".to_owned())
    }
}

fn sync(folder: &Path) -> Finding {
    let mut file = File::create(folder.join("synced")).map_err(said)?;
    file.write_all(b"x").and_then(|()| file.sync_all()).map_err(said)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(said)?;
    Ok("files and folders".to_owned())
}

fn locks(folder: &Path) -> Finding {
    let path = folder.join("lock");
    let open = || File::options().create(true).append(true).open(&path).map_err(said);
    let (first, second) = (open()?, open()?);
    first.lock().map_err(said)?;
    if second.try_lock().is_ok() {
        return Err("two holders got the same lock: runs must not share this cache".to_owned());
    }
    first.unlock().map_err(said)?;
    second.try_lock().map_err(said)?;
    Ok("one holder at a time".to_owned())
}

fn file_clock(folder: &Path) -> Finding {
    const TOLERATED: u64 = 5;
    let path = folder.join("clock");
    fs::write(&path, "x").map_err(said)?;
    let written = fs::metadata(&path).map_err(said)?.mtime().unsigned_abs();
    let skew = written.abs_diff(clock::now());
    if skew <= TOLERATED {
        Ok(format!("{skew} s from this machine's clock"))
    } else {
        // Keys rest on content, so a wrong clock costs nothing but rehashing.
        Ok(format!("{skew} s from this machine's clock; outside files are hashed more often"))
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

fn free_space(cache: &Path) -> Finding {
    const LEAST: u64 = 1_000_000_000;
    let found = rustix::fs::statvfs(cache).map_err(said)?;
    let free = found.f_bavail * found.f_frsize;
    let text = format!("{} free", terminal::size(free));
    if free < LEAST { Err(format!("only {text}")) } else { Ok(text) }
}

fn index(common: &Common) -> Finding {
    let cache = open_cache(common).map_err(|failure| failure.message)?;
    if let Some(damage) = cache.index_damage().map_err(said)? {
        return Err(damage);
    }
    let (entries, bytes) = cache.size().map_err(said)?;
    Ok(format!("{}, {}", terminal::count(entries, "result"), terminal::size(bytes)))
}

fn compute_device(common: &Common) -> Finding {
    device::probe(common.device).map_err(said)?;
    Ok(format!("{} ({})", common.device, device::family(common.device)))
}
