//! `pcae-run replay`: checks a bundle, makes its report again, and compares.
//!
//! Exit codes: 0 if something was made again and all of it is equal, or close on a processor of another class;
//! 1 if anything differs or nothing could be made again; 2 if the bundle is refused.

mod folder;
mod outcome;
mod pages;
mod remake;
mod replayed;
mod sample;
mod tolerance;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::folder::ReplayFolder;
use self::outcome::{Findings, Item, Outcome};
use self::remake::Remaker;
use self::replayed::{Known, Replayed, refused};
use crate::cli::args::{Common, ReplayArgs};
use crate::cli::error::{CommandError, Finding};
use crate::cli::output::terminal;
use crate::cli::remote;
use crate::device;
use crate::engine::bundle::{Bundle, Extent};
use crate::engine::plan::StageIndex;
use crate::engine::remote::Trust;
use crate::engine::stage::StageSet;

/// Replays a bundle.
pub(super) fn replay(common: &Common, args: &ReplayArgs) -> Result<ExitCode, CommandError> {
    let trust = trust(common, args)?;
    let bundle = Bundle::open(&args.bundle, &trust).map_err(refused)?;
    common.device.kind().check_built().map_err(CommandError::usage)?;
    if args.recompute.is_some() {
        device::probe(common.device.first()).map_err(CommandError::usage)?;
    }
    bundle.verify().map_err(refused)?;
    let known = Known::of(&bundle)?;
    tell(common, &bundle, &trust);
    let stop = stop_flag()?;
    let mut folder = ReplayFolder::make(args.out.as_deref(), bundle.bytes())?;
    let replayed = known.unpack(common, &bundle, &folder, &stop)?;
    if args.out.is_some() {
        folder.keep();
    }
    let mut findings = Findings::default();
    findings.push(keys(&replayed, &bundle)?, common.json);
    pages::compare(common, &replayed, &bundle, &folder, &mut findings)?;
    let remaker = Remaker { common, replayed: &replayed, stop: &stop };
    remaker.run(&report_stages(&replayed), &mut findings)?;
    if let Some(share) = args.recompute {
        let chosen = sample::choose(&remaker, share, args.recompute_seed)?;
        chosen.tell(common, &replayed);
        remaker.run(&chosen.stages, &mut findings)?;
    }
    findings.show(common.json);
    if args.out.is_some() {
        terminal::note(&format!("unpacked to {}", folder.path().display()));
    }
    Ok(if findings.is_confirmed() { ExitCode::SUCCESS } else { Finding::Different.into() })
}

/// Returns whose bundles are taken: if keys of others are trusted, then no other bundles.
fn trust(common: &Common, args: &ReplayArgs) -> Result<Trust, CommandError> {
    let mut trust = remote::trust(&common.site, args.allow_unsigned)?;
    trust.unsigned |= args.trust.is_empty() && common.site.trusted_keys.is_empty();
    trust.keys.extend(args.trust.iter().cloned());
    Ok(trust)
}

/// Says what the bundle is, and who vouches for it.
fn tell(common: &Common, bundle: &Bundle, trust: &Trust) {
    let about = bundle.about();
    let believed = bundle.signed().signed_by(&trust.keys).map(|key| key.name().to_owned());
    let mut signers: Vec<&str> = bundle.signed().signers().collect();
    signers.dedup();
    if common.json {
        terminal::json(&json!({
            "bundle": bundle.path(), "pipeline": about.pipeline, "scale": about.scale,
            "program": about.program, "extent": about.extent, "files": bundle.files().len(),
            "bytes": bundle.bytes(), "signers": signers, "trusted": believed,
        }));
        return;
    }
    let files = terminal::count(bundle.files().len(), "file");
    let size = terminal::size(bundle.bytes());
    terminal::note(&format!(
        "{}: {files}, {size}, every digest is right; made by pcae-run {}",
        about.pipeline, about.program
    ));
    terminal::note(&match (believed, &signers[..]) {
        (Some(name), _) => format!("signed by `{name}`, whose key is trusted"),
        (None, []) => "not signed: nobody vouches for it".to_owned(),
        (None, names) => {
            let names = names.join("`, `");
            format!(
                "says to be signed by `{names}`, but nobody vouches for it (`--trust NAME:KEY`)"
            )
        }
    });
}

/// Compares the keys of all stages with those that this program makes of the pipeline in the bundle.
fn keys(replayed: &Replayed, bundle: &Bundle) -> Result<Item, CommandError> {
    let stages = replayed.workspace.plan.stages();
    let mut differing = Vec::new();
    for planned in stages {
        if let Some(first) = replayed.key_differences(planned)?.into_iter().next() {
            differing.push(format!("`{}`: {first}", planned.name));
        }
    }
    let strays = replayed.manifest.stages.keys();
    let strays = strays.filter(|name| replayed.workspace.plan.find(name).is_none());
    differing.extend(strays.map(|name| format!("`{name}` is not in the pipeline")));
    let name = terminal::count(stages.len(), "key");
    let Some(first) = differing.first() else {
        return Ok(Item::equal(&name, "keys"));
    };
    let reason = format!("{} of them not, such as {first}", differing.len());
    let own = env!("CARGO_PKG_VERSION");
    let program = &bundle.about().program;
    Ok(if program == own {
        Item::unequal(&name, "keys", Outcome::Differs, reason)
    } else {
        let reason = format!("{reason}; made by pcae-run {program}, this is {own}");
        Item::unequal(&name, "keys", Outcome::NotPossible, reason)
    })
}

/// Returns the stages whose results make the report, as far as the bundle means to have them.
fn report_stages(replayed: &Replayed) -> Vec<StageIndex> {
    let stages = replayed.workspace.plan.stages().iter().enumerate();
    let shown = stages.filter(|(_, planned)| {
        planned.stage.as_stage().is_report() && replayed.result(&planned.name).is_some()
    });
    shown.map(|(stage, _)| stage).collect()
}

/// Returns what is set when the user wants to stop.
fn stop_flag() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(CommandError::failed)?;
    }
    Ok(stop)
}

/// Returns whether a bundle has every result.
fn is_whole(bundle: &Bundle) -> bool {
    bundle.about().extent == Extent::Everything
}
