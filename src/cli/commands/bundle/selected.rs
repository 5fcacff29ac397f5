//! Which results go into a bundle.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;
use crate::engine::bundle::Extent;
use crate::engine::cache::Entry;
use crate::engine::plan::{PlannedStage, StageIndex};
use crate::engine::run::status::StageStatus;
use crate::stages::AnyStage;

/// Results that go into a bundle.
pub(super) struct SelectedResults {
    /// How much of the pipeline they are.
    pub(super) extent: Extent,
    /// Where every stage stands, whether it is among them or not.
    pub(super) statuses: Vec<StageStatus>,
    /// The results by stage.
    pub(super) entries: BTreeMap<StageIndex, Entry>,
}

impl SelectedResults {
    /// Finds them in the cache, where all must be.
    pub(super) fn of(workspace: &Workspace, extent: Extent) -> Result<Self, CommandError> {
        let statuses = workspace.statuses()?;
        let wanted = wanted(workspace, extent);
        if wanted.is_empty() {
            let error = CommandError::usage("the pipeline has neither tables nor conclusions");
            return Err(error.hint("leave out `--tables`"));
        }
        let mut entries = BTreeMap::new();
        let mut missing = Vec::new();
        for stage in wanted {
            match &statuses[stage] {
                StageStatus::Cached(result) => {
                    entries.insert(stage, workspace.cache.entry(&result.key)?);
                }
                _ => missing.push(workspace.plan.stages()[stage].name.as_str()),
            }
        }
        if let Some(first) = missing.first() {
            let stages = terminal::count(missing.len(), "stage");
            let error = CommandError::usage(format!("no result of {stages}, such as `{first}`"));
            let file = workspace.source.path().display();
            return Err(error.hint(format!("run `pcae-run {file}` first")));
        }
        Ok(Self { extent, statuses, entries })
    }
}

/// Returns whether a stage is made again in every replay, however small the bundle.
pub(super) fn is_table(planned: &PlannedStage<AnyStage>) -> bool {
    matches!(&*planned.stage, AnyStage::Table(_) | AnyStage::Conclusion(_))
}

fn wanted(workspace: &Workspace, extent: Extent) -> BTreeSet<StageIndex> {
    let stages = workspace.plan.stages().iter().enumerate();
    match extent {
        Extent::Everything => stages.map(|(stage, _)| stage).collect(),
        Extent::Tables => stages
            .filter(|(_, planned)| is_table(planned))
            .flat_map(|(stage, planned)| planned.members().chain([stage]))
            .collect(),
    }
}
