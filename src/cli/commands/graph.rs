//! `pcae-run graph`: the stages and what they read, as a list, for Graphviz or for Mermaid.

use std::path::Path;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;
use crate::engine::run::status::StageStatus;

/// How the graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// One line per stage.
    List,
    /// For Graphviz.
    Dot,
    /// For Mermaid.
    Mermaid,
}

impl Format {
    /// Chooses by the command's flags.
    pub(super) fn of(dot: bool, mermaid: bool) -> Self {
        match (dot, mermaid) {
            (true, _) => Self::Dot,
            (_, true) => Self::Mermaid,
            _ => Self::List,
        }
    }
}

/// Draws the graph.
pub(super) fn graph(
    common: &Common,
    format: Format,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    let statuses = workspace.statuses()?;
    let cached = |stage: usize| matches!(statuses[stage], StageStatus::Cached(_));
    if common.json {
        print_json(&workspace, &statuses);
        return Ok(());
    }
    match format {
        Format::Dot => terminal::line("digraph pipeline {\n  rankdir = LR;\n  node [shape = box];"),
        Format::Mermaid => terminal::line("flowchart LR"),
        Format::List => {}
    }
    for (index, planned) in workspace.plan.stages().iter().enumerate() {
        let mut inputs: Vec<_> = planned.members().collect();
        inputs.sort_unstable();
        inputs.dedup();
        let name = &planned.name;
        match format {
            Format::List => {
                let names: Vec<_> = inputs
                    .iter()
                    .map(|&input| workspace.plan.stages()[input].name.as_str())
                    .collect();
                let mark = if cached(index) { "x" } else { " " };
                let from = if names.is_empty() {
                    String::new()
                } else {
                    format!(" <- {}", names.join(", "))
                };
                terminal::line(&format!("[{mark}] {name}{from}"));
            }
            Format::Dot => {
                let style = if cached(index) { "filled" } else { "solid" };
                terminal::line(&format!("  \"{name}\" [style = {style}];"));
                for input in inputs {
                    let from = &workspace.plan.stages()[input].name;
                    terminal::line(&format!("  \"{from}\" -> \"{name}\";"));
                }
            }
            Format::Mermaid => {
                terminal::line(&format!("  s{index}[\"{name}\"]"));
                for input in inputs {
                    terminal::line(&format!("  s{input} --> s{index}"));
                }
            }
        }
    }
    if format == Format::Dot {
        terminal::line("}");
    }
    Ok(())
}

fn print_json(workspace: &Workspace, statuses: &[StageStatus]) {
    for (planned, status) in workspace.plan.stages().iter().zip(statuses) {
        let inputs: Vec<_> =
            planned.members().map(|member| workspace.plan.stages()[member].name.as_str()).collect();
        let cached = matches!(status, StageStatus::Cached(_));
        terminal::json(&json!({"stage": planned.name, "inputs": inputs, "cached": cached}));
    }
}
