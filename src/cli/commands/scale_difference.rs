//! `pcae-run plan --scale A --against B`: what one scale of a pipeline has otherwise than another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, load_plan, scale_choice};
use crate::engine::key::builder;
use crate::engine::plan::{Plan, PlannedStage};
use crate::stages::AnyStage;

/// A setting of the stages of one template: its value here, its value there, and how many differ so.
type Settings = BTreeMap<(String, String, String, String), usize>;

/// Prints how the pipeline of a workspace differs from the same one at another scale.
pub(super) fn print(
    common: &Common,
    workspace: &Workspace,
    other: &str,
) -> Result<(), CommandError> {
    let choice = scale_choice(&Common { scale: Some(other.to_owned()), ..common.clone() });
    let plan = load_plan(&workspace.source.clone().at_scale(choice), common)?;
    let own = workspace.plan.scale().unwrap_or_default();
    let only_own = only(&workspace.plan, &plan);
    let only_other = only(&plan, &workspace.plan);
    let settings = settings(&workspace.plan, &plan);
    if common.json {
        let settings: Vec<_> = settings
            .iter()
            .map(|((stages, setting, here, there), count)| {
                json!({
                    "stages": stages, "setting": setting, "values": {own: here, other: there},
                    "count": count,
                })
            })
            .collect();
        terminal::json(&json!({
            "only": {own: only_own, other: only_other}, "settings": settings,
        }));
        return Ok(());
    }
    for (scale, only) in [(own, only_own), (other, only_other)] {
        for (stages, count) in only {
            terminal::line(&format!("only at {scale}: {stages} ({count})"));
        }
    }
    let mut last = "";
    for ((stages, setting, here, there), count) in &settings {
        if stages != last {
            terminal::line(stages);
            last = stages;
        }
        let count = if *count == 1 { String::new() } else { format!(" ({count} stages)") };
        terminal::line(&format!("  {setting}: {here} at {own}, {there} at {other}{count}"));
    }
    Ok(())
}

/// Counts the stages of each template that another plan lacks.
fn only(plan: &Plan<AnyStage>, other: &Plan<AnyStage>) -> BTreeMap<String, usize> {
    let names: BTreeSet<_> = other.stages().iter().map(|stage| &stage.name).collect();
    let mut found = BTreeMap::new();
    for stage in plan.stages().iter().filter(|stage| !names.contains(&stage.name)) {
        *found.entry(stage.template.clone()).or_default() += 1;
    }
    found
}

/// Counts the settings in which stages of the same name differ.
fn settings(plan: &Plan<AnyStage>, other: &Plan<AnyStage>) -> Settings {
    let others: BTreeMap<_, _> = other.stages().iter().map(|stage| (&stage.name, stage)).collect();
    let mut found = Settings::new();
    let record = |stage: &PlannedStage<AnyStage>| builder::bare_record(&*stage.stage);
    for stage in plan.stages() {
        let Some(other) = others.get(&stage.name) else {
            continue;
        };
        for difference in record(stage).differences(&record(other)) {
            let value = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
            let (here, there) = (value(difference.new), value(difference.old));
            let key = (stage.template.clone(), difference.component, here, there);
            *found.entry(key).or_default() += 1;
        }
    }
    found
}
