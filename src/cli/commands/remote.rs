//! `pcae-run cache push`, `pull` and `key`: a cache that machines share.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::args::{Common, RemoteArgs};
use crate::cli::error::CommandError;
use crate::cli::output::progress::Display;
use crate::cli::output::terminal;
use crate::cli::remote;
use crate::cli::workspace::{Workspace, hold, open_known_cache, reached_by};
use crate::engine::cache::Entry;
use crate::engine::plan::select::Choice;
use crate::engine::remote::{Parcel, SecretKey, UploadCount, Uploads};
use crate::engine::run::events::Event;
use crate::engine::run::sharing::Sharing;
use crate::engine::run::status::StageStatus;

/// How often a transfer tells how far it is.
const INTERVAL: Duration = Duration::from_secs(2);

/// Results that wait to be sent: before more are checked, some must have gone.
const MOST_WAITING: usize = 256;

/// Sends results to the remote cache.
pub(super) fn push(
    common: &Common,
    args: &RemoteArgs,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let remote = remote::require(common, args)?;
    remote::note_missing_key(common)?;
    let workspace = file.map(|file| Workspace::open(common, Some(file))).transpose()?;
    let own = if workspace.is_none() { Some(open_known_cache(common)?) } else { None };
    let Some(cache) = workspace.as_ref().map(|workspace| &workspace.cache).or(own.as_ref()) else {
        return Ok(());
    };
    let _in_use = hold(cache)?;
    let entries = match &workspace {
        Some(workspace) => entries_of(workspace)?,
        None => cache.entries()?,
    };
    let all = entries.len();
    // To sign what nobody has vouched for would make it believed.
    let entries = entries.into_iter().filter(|entry| cache.is_vouched_for(&entry.key));
    let entries: Vec<Entry> = entries.collect();
    let unsigned = all - entries.len();
    if unsigned > 0 {
        let results = terminal::count(unsigned, "result");
        terminal::note(&format!("note: not sent: {results} that came without a trusted signature"));
    }
    let interrupts = interrupts()?;
    let mut uploads = Uploads::new(remote).map_err(CommandError::failed)?;
    let mut progress = Progress::new(common.json, entries.len());
    let (mut count, mut damaged) = (UploadCount::default(), 0);
    for entry in entries {
        // What is damaged here must not be spread.
        if let Err(error) = cache.check_input(&entry.artifact) {
            terminal::note(&format!("note: `{}` is not sent: {error}", entry.run.stage));
            damaged += 1;
            continue;
        }
        uploads.send(Parcel::new(entry, cache));
        while uploads.waiting() > MOST_WAITING && interrupts.load(Ordering::Relaxed) == 0 {
            count = uploads.update(INTERVAL);
            progress.tell(&count);
        }
        let remote = uploads.remote();
        let is_lost = remote.given_up().or_else(|| remote.refuses_writing()).is_some();
        if is_lost || interrupts.load(Ordering::Relaxed) > 0 {
            break;
        }
    }
    while uploads.waiting() > 0 && interrupts.load(Ordering::Relaxed) == 0 {
        count = uploads.update(Duration::from_millis(100));
        progress.tell(&count);
    }
    let UploadCount { stored, known, failed, bytes } = count;
    if common.json {
        let line = json!({
            "stored": stored, "known": known, "failed": failed, "damaged": damaged, "unsigned": unsigned,
            "bytes": bytes,
        });
        terminal::json(&line);
    } else {
        let results = terminal::count(stored, "result");
        let bytes = terminal::size(bytes);
        terminal::line(&format!("sent {results} ({bytes}); {known} had been there"));
    }
    if interrupts.load(Ordering::Relaxed) > 0 {
        return Err(CommandError::interrupted("interrupted; run the same command to go on"));
    }
    let why = uploads.remote().given_up().or_else(|| uploads.remote().refuses_writing());
    match (why, failed + damaged) {
        (Some(why), _) => Err(CommandError::failed(why)),
        (None, 0) => Ok(()),
        (None, lost) => {
            let results = terminal::count(lost, "result");
            Err(CommandError::failed(format!("not sent: {results}")))
        }
    }
}

/// Returns the results of a pipeline.
fn entries_of(workspace: &Workspace) -> Result<Vec<Entry>, CommandError> {
    let statuses = workspace.statuses()?;
    let cached = statuses.iter().filter_map(|status| match status {
        StageStatus::Cached(result) => Some(result.key),
        StageStatus::Stale { .. } | StageStatus::Waiting { .. } => None,
    });
    Ok(cached.map(|key| workspace.cache.entry(&key)).collect::<Result<_, _>>()?)
}

/// Fetches a pipeline's results.
pub(super) fn pull(
    common: &Common,
    args: &RemoteArgs,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let remote = remote::require(common, args)?;
    let workspace = Workspace::open(common, file)?;
    let _in_use = hold(&workspace.cache)?;
    if let Some(cause) = workspace.cache.unwritable() {
        let error = CommandError::failed(format!("nothing can be added to the cache: {cause}"));
        return Err(error.hint("choose another with `--cache DIR`"));
    }
    workspace.cache.remove_leftovers();
    workspace.cache.remember_pipeline(workspace.source.path())?;
    let selection = Choice::default().select(&workspace.plan)?;
    let interrupts = interrupts()?;
    let sharing = Sharing::new(remote, workspace.cache.importer(), false);
    let mut sharing = sharing.map_err(CommandError::failed)?;
    let mut display = Display::fetching(common.json);
    let mut bytes = 0;
    let report =
        remote::look(&workspace, &selection, &mut sharing, &interrupts, &mut |event: Event| {
            if let Event::StageFetched { bytes: more, .. } = &event {
                bytes += more;
            }
            display.show(&event);
        })?;
    display.finish();
    let reached = report.results.values().map(|result| result.key).collect();
    workspace.cache.remember_reached(&reached_by(common, &workspace), &reached)?;
    let (all, fetched) = (selection.allowed.len(), report.fetched);
    let missing = all - report.cached;
    if common.json {
        let cached = report.cached - fetched;
        terminal::json(
            &json!({"fetched": fetched, "cached": cached, "missing": missing, "bytes": bytes}),
        );
    } else {
        let bytes = terminal::size(bytes);
        let rest = if missing == 0 {
            String::new()
        } else {
            format!("; {missing} are still to be computed")
        };
        let results = terminal::count(fetched, "result");
        terminal::line(&format!(
            "fetched {results} ({bytes}): {} of {all} stages are cached{rest}",
            report.cached
        ));
    }
    if report.interrupted {
        return Err(CommandError::interrupted("interrupted; run the same command to go on"));
    }
    Ok(())
}

/// Makes a key.
pub(super) fn key(common: &Common, name: &str, out: Option<&Path>) -> Result<(), CommandError> {
    let own = || common.site.signing_key.clone().or_else(remote::default_key_file);
    let path = out.map(Path::to_owned).or_else(own);
    let path = path.ok_or_else(|| {
        CommandError::usage("there is no folder for settings").hint("pass `--out FILE`")
    })?;
    let key = SecretKey::generate(name).map_err(CommandError::usage)?;
    let public = key.public_key().map_err(CommandError::failed)?;
    key.write(&path).map_err(|cause| {
        let error = CommandError::usage(format!("{}: {cause}", path.display()));
        if cause.kind() == ErrorKind::AlreadyExists {
            error.hint("this key is in use; choose another file with `--out FILE`")
        } else {
            error
        }
    })?;
    if common.json {
        terminal::json(&json!({"file": path, "public_key": public.to_string()}));
        return Ok(());
    }
    terminal::line(&format!("trusted_keys: [\"{public}\"],"));
    terminal::note(&format!("wrote {}: keep it to yourself", path.display()));
    terminal::note("the line above goes into the site files of everyone who is to trust it");
    if common.site.signing_key.is_none() && out.is_some() {
        let file = std::path::absolute(&path).unwrap_or(path);
        terminal::note(&format!("and `signing_key: \"{}\"` into your own", file.display()));
    }
    Ok(())
}

fn interrupts() -> Result<Arc<AtomicUsize>, CommandError> {
    let count = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_usize(signal, Arc::clone(&count), 1)
            .map_err(CommandError::failed)?;
    }
    Ok(count)
}

/// Tells now and then how far a transfer is.
struct Progress {
    json: bool,
    all: usize,
    told: Instant,
}

impl Progress {
    fn new(json: bool, all: usize) -> Self {
        Self { json, all, told: Instant::now() }
    }

    fn tell(&mut self, count: &UploadCount) {
        if self.json || self.told.elapsed() < INTERVAL {
            return;
        }
        self.told = Instant::now();
        let (done, all) = (count.stored + count.known + count.failed, self.all);
        let bytes = terminal::size(count.bytes);
        terminal::note(&format!("{done} of {all} results, {bytes} sent"));
    }
}
