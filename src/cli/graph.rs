//! `pcae-run graph`: the stages and what they read, as a list, for Graphviz or for Mermaid.

use std::path::Path;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::Session;
use super::terminal;
use crate::engine::assess::Standing;

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
pub(super) fn graph(common: &Common, format: Format, file: Option<&Path>) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let standings = session.standings()?;
    let cached = |stage: usize| matches!(standings[stage], Standing::Cached(_));
    if common.json {
        print_json(&session, &standings);
        return Ok(());
    }
    match format {
        Format::Dot => terminal::line("digraph pipeline {\n  rankdir = LR;\n  node [shape = box];"),
        Format::Mermaid => terminal::line("flowchart LR"),
        Format::List => {}
    }
    for (index, planned) in session.plan.stages().iter().enumerate() {
        let mut inputs: Vec<_> = planned.members().collect();
        inputs.sort_unstable();
        inputs.dedup();
        let name = &planned.name;
        match format {
            Format::List => {
                let names: Vec<_> = inputs
                    .iter()
                    .map(|&input| session.plan.stages()[input].name.as_str())
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
                    let from = &session.plan.stages()[input].name;
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

fn print_json(session: &Session, standings: &[Standing]) {
    for (planned, standing) in session.plan.stages().iter().zip(standings) {
        let inputs: Vec<_> =
            planned.members().map(|member| session.plan.stages()[member].name.as_str()).collect();
        let cached = matches!(standing, Standing::Cached(_));
        terminal::json(&json!({"stage": planned.name, "inputs": inputs, "cached": cached}));
    }
}
