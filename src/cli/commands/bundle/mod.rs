//! `pcae-run bundle`: a pipeline with its results, report and claims in one file, for whoever checks them.

pub(super) mod contents;
mod facts;
mod selected;

use std::path::PathBuf;

use serde_json::json;

use self::selected::SelectedResults;
use crate::cli::args::{BundleArgs, Common};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::remote;
use crate::cli::workspace::{Workspace, hold};
use crate::engine::bundle::{About, BundleError, Extent, Packer};
use crate::engine::remote::SecretKey;

/// The folder of the pipeline file and what lies beside it.
pub(super) const PIPELINE: &str = "pipeline/";
/// The folder of the report.
pub(super) const REPORT: &str = "report/";

/// The ending of a bundle's name.
const ENDING: &str = "pcae";

/// Packs a pipeline.
pub(super) fn bundle(common: &Common, args: BundleArgs) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, args.file.file.as_deref())?;
    let _in_use = hold(&workspace.cache)?;
    let key = signing_key(common, &args)?;
    let extent = if args.tables { Extent::Tables } else { Extent::Everything };
    let results = SelectedResults::of(&workspace, extent)?;
    let mut packer = Packer::new(about(&workspace, extent)?);
    let left_out = contents::add(&mut packer, &workspace, &results)?;
    let facts = facts::collect(&workspace, &results, left_out)?;
    contents::add_texts(&mut packer, &facts)?;
    let name = || PathBuf::from(format!("{}.{ENDING}", workspace.plan.name()));
    let path = args.out.unwrap_or_else(name);
    let packed = packer.write(&path, key.as_ref()).map_err(unpacked)?;
    if common.json {
        terminal::json(&json!({
            "file": path, "bytes": packed.bytes, "files": packed.files, "left_out": facts.left_out,
            "results": results.entries.len(), "is_signed": key.is_some(),
        }));
        return Ok(());
    }
    let (files, size) = (terminal::count(packed.files, "file"), terminal::size(packed.bytes));
    terminal::line(&format!("{}: {files}, {size}", path.display()));
    for name in &facts.left_out {
        terminal::note(&format!("left out, since it lies elsewhere or is too large: {name}"));
    }
    if key.is_none() {
        terminal::note(
            "not signed: readers can check it, but not whose it is (`pcae-run cache key NAME`)",
        );
    }
    Ok(())
}

/// Returns the key that bundles are signed with, if there is one.
fn signing_key(common: &Common, args: &BundleArgs) -> Result<Option<SecretKey>, CommandError> {
    match &args.sign {
        Some(path) => SecretKey::read(path).map(Some).map_err(CommandError::usage),
        None => remote::signing_key(&common.site),
    }
}

fn about(workspace: &Workspace, extent: Extent) -> Result<About, CommandError> {
    let path = workspace.source.path();
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| {
        CommandError::usage(format!("the name of `{}` is not valid text", path.display()))
    })?;
    Ok(About {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        pipeline: workspace.plan.name().to_owned(),
        file: format!("{PIPELINE}{name}"),
        scale: workspace.plan.scale().map(str::to_owned),
        extent,
    })
}

fn unpacked(error: BundleError) -> CommandError {
    match error {
        BundleError::Unpackable { .. } => CommandError::cache(error)
            .hint("`pcae-run cache verify` shows which results are damaged"),
        error => CommandError::failed(error),
    }
}
