//! The remote cache that the command line or the site names, and the keys that decide what is taken from it.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::args::{Common, RemoteArgs};
use super::error::CommandError;
use super::output::terminal;
use super::workspace::Workspace;
use crate::engine::executor::NoExecutor;
use crate::engine::plan::select::Selection;
use crate::engine::remote::{Address, PublicKey, Remote, RemoteSettings, SecretKey, Trust};
use crate::engine::run::events::Event;
use crate::engine::run::options::{RunOptions, RunReport};
use crate::engine::run::scheduler::Scheduler;
use crate::engine::run::sharing::Sharing;
use crate::engine::run::status;
use crate::engine::site::{self, Site};
use crate::engine::system::host;

/// The key that signs, beside the user's own site file.
const KEY_FILE: &str = "signing.key";

/// Opens the remote cache, if there is one that may be used.
pub(crate) fn open(
    common: &Common,
    args: &RemoteArgs,
) -> Result<Option<Arc<Remote>>, CommandError> {
    let Some(address) = args.remote.as_ref().or(common.site.remote.as_ref()) else {
        return Ok(None);
    };
    if args.no_remote {
        return Ok(None);
    }
    let address: Address =
        address.parse().map_err(|error| located(&common.site, "remote", error))?;
    if common.offline && address.needs_network() {
        terminal::note(&format!("offline: the remote cache {address} is not used"));
        return Ok(None);
    }
    let signing_key = signing_key(&common.site)?;
    let mut trust = trust(&common.site, args.allow_unsigned)?;
    trust.same_machine = args.same_machine;
    trust.device = common.device.kind().to_string();
    let settings = RemoteSettings { address, trust, signing_key };
    Ok(Some(Arc::new(Remote::open(settings).map_err(CommandError::usage)?)))
}

/// Opens a remote cache that a command is about.
pub(crate) fn require(common: &Common, args: &RemoteArgs) -> Result<Arc<Remote>, CommandError> {
    open(common, args)?.ok_or_else(none)
}

/// Says that there is no remote cache where one is needed.
pub(crate) fn none() -> CommandError {
    CommandError::usage("there is no remote cache")
        .hint("pass `--remote URL`, or name it in a site file (`pcae-run site --example`)")
}

/// Tells who sends results that others will hardly take.
pub(crate) fn note_missing_key(common: &Common) -> Result<(), CommandError> {
    if signing_key(&common.site)?.is_none() {
        terminal::note(
            "note: results are sent without a signature: others take them only with `--allow-unsigned` \
             (`pcae-run cache key NAME` makes a key)",
        );
    }
    Ok(())
}

/// Returns what is believed: the keys of the site, and the user's own.
pub(crate) fn trust(site: &Site, allow_unsigned: bool) -> Result<Trust, CommandError> {
    let parse = |text: &String| {
        text.parse::<PublicKey>().map_err(|error| located(site, "trusted_keys", error))
    };
    let mut keys = site.trusted_keys.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    if let Some(own) = signing_key(site)? {
        keys.push(own.public_key().map_err(CommandError::usage)?);
    }
    Ok(Trust {
        keys,
        unsigned: allow_unsigned || site.allow_unsigned,
        processor_class: host::processor_class(),
        ..Trust::default()
    })
}

/// Returns the user's own key, if there is one.
pub(crate) fn signing_key(site: &Site) -> Result<Option<SecretKey>, CommandError> {
    let own = default_key_file().filter(|path| path.exists());
    let Some(path) = site.signing_key.clone().or(own) else {
        return Ok(None);
    };
    SecretKey::read(&path).map(Some).map_err(|error| located(site, "signing_key", error))
}

/// Returns where the user's own key is, or would be.
pub(crate) fn default_key_file() -> Option<PathBuf> {
    Some(site::default_file()?.parent()?.join(KEY_FILE))
}

/// Tells what is wrong with a value of the site, and where it is written.
fn located(site: &Site, field: &str, error: impl Display) -> CommandError {
    let values = site.values();
    let origin = values.iter().find(|value| value.name.split('[').next() == Some(field));
    match origin.map(|value| &value.origin) {
        Some(site::Origin::File { path, line }) => {
            CommandError::usage(format!("{}:{line}: {error}", path.display()))
        }
        _ => CommandError::usage(error.to_string()),
    }
}

/// Takes what the remote cache has of chosen stages, before anything is predicted or computed.
pub(crate) fn look(
    workspace: &Workspace,
    selection: &Selection,
    sharing: &mut Sharing,
    interrupts: &AtomicUsize,
    emit: &mut dyn FnMut(Event),
) -> Result<RunReport, CommandError> {
    let Workspace { plan, cache, .. } = workspace;
    let (statuses, damaged) = status::of_plan(plan, cache, &workspace.backend)?;
    let options = RunOptions::to_look(&workspace.backend);
    let mut emit = |event: Event| {
        // The run itself will tell the rest.
        let is_of_remote = match &event {
            Event::StageFetched { .. } => true,
            Event::Note { message } => !damaged.contains(message),
            _ => false,
        };
        if is_of_remote {
            emit(event);
        }
    };
    let scheduler = Scheduler::new(plan, cache, &options, selection, statuses, &mut emit);
    let scheduler = scheduler.sharing(Some(sharing));
    Ok(scheduler.run(&mut NoExecutor, &|| interrupts.load(Ordering::Relaxed))?)
}
