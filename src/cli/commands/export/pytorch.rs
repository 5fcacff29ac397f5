//! `pcae-run export --pytorch`: a Python module that rebuilds a trained model, and its weights.
//!
//! These two files take the place of the stage's own: its `weights.safetensors` has the same numbers
//! under other names, and one folder that Python can import is better than one in which only some
//! files are meant for it.

use std::path::Path;

use super::place::write_below;
use super::show;
use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::engine::cache::StoredResult;
use crate::engine::plan::{PlannedStage, StageIndex};
use crate::engine::stage::StageSet;
use crate::stages::{AnyStage, is_model, leaves_model, pytorch_files};

/// The most files that are named of a stage without a model.
const NAMED_FILES: usize = 3;

/// Writes the files for PyTorch into a folder.
pub(super) fn export(
    common: &Common,
    workspace: &Workspace,
    stage: StageIndex,
    result: &StoredResult,
    folder: &Path,
) -> Result<(), CommandError> {
    let planned = &workspace.plan.stages()[stage];
    if !is_model(&result.artifact.kind) {
        return Err(no_model(workspace, &planned.name, result));
    }
    workspace.cache.check_input(&result.artifact)?;
    let reader = workspace.cache.reader(&result.artifact);
    let facts = facts(workspace, planned, result);
    let files = pytorch_files(&result.artifact.kind, &reader, &planned.name, facts)
        .map_err(CommandError::failed)?;
    for (name, content) in
        [("model.py", files.module.as_bytes()), ("weights.safetensors", &files.weights)]
    {
        let to = folder.join(name);
        write_below(folder, name, &mut &content[..])
            .map_err(|cause| CommandError::failed(format!("{}: {cause}", to.display())))?;
        show(common, &to, None);
    }
    Ok(())
}

/// Returns by which stage, and from what, a model was made.
fn facts(
    workspace: &Workspace,
    planned: &PlannedStage<AnyStage>,
    result: &StoredResult,
) -> Vec<(&'static str, String)> {
    let kind = planned.stage.as_stage().kind();
    let mut facts = vec![
        ("Stage", format!("{}, of kind {}, version {}", planned.name, kind.name, kind.version)),
        ("Key", result.key.to_string()),
    ];
    let data = planned.inputs.iter().find(|input| input.role == "data");
    let names = data.into_iter().flat_map(|input| &input.members);
    let names = names.map(|&member| workspace.plan.stages()[member].name.clone());
    facts.extend(names.map(|name| ("Data", format!("the stage {name}"))));
    facts
}

/// Says what a stage has instead of a model, and which stage has one.
fn no_model(workspace: &Workspace, name: &str, result: &StoredResult) -> CommandError {
    let kind = &result.artifact.kind;
    let files = result.artifact.files.iter().take(NAMED_FILES).map(|file| file.name.as_str());
    let mut files: Vec<&str> = files.collect();
    if result.artifact.files.len() > NAMED_FILES {
        files.push("..");
    }
    let files = files.join(", ");
    let error = CommandError::usage(format!("`{name}` has no model, but {kind}: {files}"));
    let stages = workspace.plan.stages();
    error.hint(match stages.iter().find(|stage| leaves_model(&*stage.stage)) {
        Some(stage) => format!("choose a stage that has a model, such as `{}`", stage.name),
        None => "models are what the stage kinds `Train` and `TrainClassifier` leave".to_owned(),
    })
}
