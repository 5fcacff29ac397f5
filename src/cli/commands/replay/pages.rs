//! The report of a bundle, made again from its results and compared file by file.

use std::collections::BTreeMap;

use super::folder::ReplayFolder;
use super::is_whole;
use super::outcome::{Findings, Item, Outcome};
use super::replayed::{Replayed, refused};
use crate::cli::args::Common;
use crate::cli::commands::bundle::{REPORT, contents};
use crate::cli::commands::report::{self, Page, Shown};
use crate::cli::error::CommandError;
use crate::engine::bundle::Bundle;
use crate::engine::digest::ContentDigest;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::StageSet;
use crate::report::folder::{MANIFEST, name_in_folder};

const KIND: &str = "page";

/// Makes every file of the report that is not a stage's own, puts all into the folder, and compares them with
/// those in the bundle. The files of tables and figures must be the ones that their stages have left.
pub(super) fn compare(
    common: &Common,
    replayed: &Replayed,
    bundle: &Bundle,
    folder: &ReplayFolder,
    findings: &mut Findings,
) -> Result<(), CommandError> {
    let made = made(replayed, bundle)?;
    let of_stages = of_stages(replayed);
    for (name, text) in &made {
        folder.write(&format!("{REPORT}{name}"), text.as_bytes())?;
        findings.push(compared(bundle, name, text), common.json);
    }
    for file in bundle.files() {
        let Some(name) = file.name.strip_prefix(REPORT) else {
            continue;
        };
        if made.iter().any(|(page, _)| *page == name) {
            continue;
        }
        folder.write(&file.name, &bundle.read(&file.name).map_err(refused)?)?;
        let item = match of_stages.get(name) {
            Some(digest) if *digest == file.digest => continue,
            Some(_) => {
                let reason = "it is not what its stage has left".to_owned();
                Item::unequal(name, KIND, Outcome::Differs, reason)
            }
            None if name == MANIFEST => {
                let reason = "results behind it were left out; its keys were compared".to_owned();
                Item::unequal(name, KIND, Outcome::NotPossible, reason)
            }
            None => {
                let reason = "no stage and no page of the report makes it".to_owned();
                Item::unequal(name, KIND, Outcome::Differs, reason)
            }
        };
        findings.push(item, common.json);
    }
    for name in of_stages.keys() {
        if bundle.file(&format!("{REPORT}{name}")).is_none() {
            let reason = "it is not in the bundle".to_owned();
            let item = Item::unequal(name, KIND, Outcome::Differs, reason);
            findings.push(item, common.json);
        }
    }
    Ok(())
}

/// Makes the pages again that the results suffice for.
fn made(replayed: &Replayed, bundle: &Bundle) -> Result<Vec<Page>, CommandError> {
    let workspace = &replayed.workspace;
    if !is_whole(bundle) {
        return Ok(vec![contents::numbers(workspace, &known_statuses(replayed))?]);
    }
    let Some(statuses) = replayed.statuses() else {
        let what = "it says to have every result, but does not";
        return Err(refused(bundle.refused(what)));
    };
    let pages = report::pages(workspace, &statuses, None, Shown::ResultsAlone)?;
    let manifest = report::manifest_of(workspace, &statuses, &pages)?;
    Ok(pages.into_iter().chain([(MANIFEST, manifest)]).collect())
}

/// Returns every stage as cached that has a result in the bundle.
fn known_statuses(replayed: &Replayed) -> Vec<StageStatus> {
    let status = |name: &str| match replayed.result(name) {
        Some((_, entry)) => StageStatus::Cached(entry.clone().into()),
        None => StageStatus::Waiting { on: Vec::new() },
    };
    replayed.workspace.plan.stages().iter().map(|planned| status(&planned.name)).collect()
}

/// Returns the digests of the files of the report that stages have left.
fn of_stages(replayed: &Replayed) -> BTreeMap<String, ContentDigest> {
    let mut files = BTreeMap::new();
    for planned in replayed.workspace.plan.stages() {
        if let Some((_, entry)) = replayed.result(&planned.name)
            && planned.stage.as_stage().is_report()
        {
            let names =
                entry.artifact.files.iter().filter_map(|file| {
                    Some((name_in_folder(&planned.name, &file.name)?, file.digest))
                });
            files.extend(names);
        }
    }
    files
}

fn compared(bundle: &Bundle, name: &str, text: &str) -> Item {
    let stored = bundle.file(&format!("{REPORT}{name}"));
    let is_equal =
        stored.is_some_and(|stored| stored.digest == ContentDigest::of_bytes(text.as_bytes()));
    // That it was made takes no time worth telling.
    if is_equal {
        return Item::equal(name, KIND).took(0.0);
    }
    let (program, own) = (&bundle.about().program, env!("CARGO_PKG_VERSION"));
    if stored.is_none() {
        return Item::unequal(name, KIND, Outcome::Differs, "it is not in the bundle".to_owned());
    }
    if program == own {
        let reason = "this program makes other bytes of the same results".to_owned();
        return Item::unequal(name, KIND, Outcome::Differs, reason);
    }
    let reason = format!("made by pcae-run {program}, this is {own}");
    Item::unequal(name, KIND, Outcome::NotPossible, reason)
}
