//! Collects what a report shows: plan, statuses, runs, logs, tables and figures.

use std::path::Path;

use serde_json::Value;

use super::{Shown, settings_in_words};
use crate::cli::error::CommandError;
use crate::cli::output::failed_stages::tail;
use crate::cli::workspace::Workspace;
use crate::engine::cache::Entry;
use crate::engine::key::difference::Difference;
use crate::engine::plan::StageIndex;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::StageSet;
use crate::engine::stage::artifact::{Artifact, ArtifactError, ArtifactReader};
use crate::report::folder::{TABLE, name_in_folder};
use crate::report::{
    Attachment, Badge, BadgeTone, Conclusion, ConclusionFacts, FigureFacts, Judged, Machine, Note,
    ReportContent, RunInfo, StageFacts, Status, Table, TableFacts, Verdict, judge,
};

/// Lines of each log.
const LOG_LINES: usize = 20;
/// Characters of each log: some programs print very long lines.
const LOG_CHARACTERS: usize = 2000;
/// Probability of any wrong verdict of one kind, over all published numbers.
pub(in crate::cli::commands) const LEVEL: f64 = 0.05;
/// At most this many differences from another result are named.
const DIFFERENCES: usize = 3;

/// Collects everything; `statuses` is where every stage stands.
pub(super) fn collect(
    workspace: &Workspace,
    statuses: &[StageStatus],
    shown: Shown,
) -> Result<ReportContent, CommandError> {
    let path = workspace.source.path();
    let mut content = ReportContent {
        pipeline: workspace.plan.name().to_owned(),
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        text: workspace.source.text().to_owned(),
        program: format!("pcae-run {}", env!("CARGO_PKG_VERSION")),
        stages: stages(workspace, statuses, shown)?,
        ..ReportContent::default()
    };
    // Tables and figures stand as in the file, whichever of them was ready first.
    let mut declared: Vec<_> = workspace.plan.stages().iter().zip(statuses).collect();
    declared.sort_by_key(|(planned, _)| planned.line);
    for (planned, status) in declared {
        let StageStatus::Cached(result) = status else {
            continue;
        };
        let reader = workspace.cache.reader(&result.artifact);
        let unreadable =
            |error: ArtifactError| CommandError::cache(format!("{}: {error}", planned.name));
        match result.artifact.kind.as_str() {
            "conclusion" if planned.stage.as_stage().is_report() => {
                content.conclusions.push(ConclusionFacts {
                    stage: planned.name.clone(),
                    conclusion: Conclusion::read(&reader).map_err(unreadable)?,
                });
            }
            "table" if planned.stage.as_stage().is_report() => content.tables.push(TableFacts {
                stage: planned.name.clone(),
                table: Table::read(&reader).map_err(unreadable)?,
                verdicts: Vec::new(),
                files: attachments(&planned.name, &reader).map_err(unreadable)?,
            }),
            "figure" if planned.stage.as_stage().is_report() => {
                content.figures.push(figure(&planned.name, &reader).map_err(unreadable)?);
            }
            _ => {}
        }
    }
    content.notes.extend(unfinished(&content.stages));
    let meanings = judge_cells(&mut content);
    content.notes.extend(meanings);
    let notes = workspace.plan.notes().iter().cloned();
    content.notes.extend(notes.map(|(title, items)| Note { title, items }));
    content.notes.extend(settings_in_words::note(&workspace.plan));
    Ok(content)
}

/// Puts a verdict to every published number, and says what the verdicts mean.
fn judge_cells(content: &mut ReportContent) -> Option<Note> {
    let tables = content.tables.iter().map(|facts| (facts.stage.clone(), facts.table.clone()));
    let judged = judge(&tables.collect::<Vec<_>>(), LEVEL);
    let used = Verdict::ALL.iter().filter(|one| judged.iter().any(|cell| cell.verdict == **one));
    let items: Vec<String> =
        used.map(|verdict| format!("{}: {}", verdict.word(), verdict.meaning())).collect();
    for judged in judged {
        let facts = content.tables.iter_mut().find(|facts| facts.stage == judged.table);
        if let Some(facts) = facts {
            facts.verdicts.push(badge(&judged));
        }
    }
    (!items.is_empty()).then(|| Note { title: "Verdicts on published numbers".to_owned(), items })
}

fn badge(judged: &Judged) -> Badge {
    let tone = match judged.verdict {
        Verdict::Equivalent | Verdict::Better => BadgeTone::Good,
        Verdict::Differs => BadgeTone::Bad,
        Verdict::Matches | Verdict::Inconclusive | Verdict::NotMeasured | Verdict::Unjudged(_) => {
            BadgeTone::Open
        }
    };
    let needs = judged.needs();
    let needs = needs.map_or_else(String::new, |runs| format!("; runs needed: {runs}"));
    let note = judged.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
    Badge {
        row: judged.row,
        column: judged.column,
        text: judged.text(),
        detail: format!("{}; margin {:.3}{needs}{note}", judged.verdict.meaning(), judged.margin),
        tone,
    }
}

fn stages(
    workspace: &Workspace,
    statuses: &[StageStatus],
    shown: Shown,
) -> Result<Vec<StageFacts>, CommandError> {
    let failures = workspace.cache.failures(workspace.plan.name())?;
    let running = workspace.cache.running();
    let mut stages = Vec::with_capacity(statuses.len());
    for (index, (planned, status)) in workspace.plan.stages().iter().zip(statuses).enumerate() {
        let mut entry = None;
        let (key, status, why) = match status {
            StageStatus::Cached(result) => {
                let entry = entry.insert(workspace.cache.entry(&result.key)?);
                let own = entry.run.pipeline == workspace.plan.name();
                let status = if own { Status::Ran } else { Status::Cached };
                (Some(entry.key), status, origin(workspace, index, entry, shown)?)
            }
            StageStatus::Stale { record, why } => {
                let key = record.key();
                let status = match () {
                    () if running.contains(&key) => Status::Running,
                    () if failures.contains(&key) => Status::Failed,
                    () => Status::Due,
                };
                (Some(key), status, why.clone())
            }
            StageStatus::Waiting { on } => (None, Status::Waiting, workspace.waits_for(on)),
        };
        let mut inputs: Vec<_> = planned.members().collect();
        inputs.sort_unstable();
        inputs.dedup();
        stages.push(StageFacts {
            name: planned.name.clone(),
            template: planned.template.clone(),
            kind: planned.stage.as_stage().kind().name.to_owned(),
            status,
            key: key.map(|key| key.to_string()),
            digest: entry.as_ref().map(|entry| entry.artifact.digest.to_string()),
            why,
            inputs,
            settings: aligned(&planned.text),
            log: key
                .filter(|_| shown == Shown::Everything)
                .map_or_else(Vec::new, |key| log(&workspace.cache.log_path(&key))),
            run: entry.as_ref().map(run),
        });
    }
    Ok(stages)
}

/// Returns what made a result differ from the ones before.
fn origin(
    workspace: &Workspace,
    stage: StageIndex,
    entry: &Entry,
    shown: Shown,
) -> Result<String, CommandError> {
    let name = &workspace.plan.stages()[stage].name;
    let pipeline = workspace.plan.name();
    if entry.run.pipeline != pipeline {
        let (stage, pipeline) = (&entry.run.stage, &entry.run.pipeline);
        return Ok(format!("computed as `{stage}` in the pipeline `{pipeline}`"));
    }
    if shown == Shown::ResultsAlone {
        return Ok(String::new());
    }
    let Some(other) = workspace.cache.closest_of_stage(pipeline, name, &entry.record)? else {
        return Ok("first result of this stage".to_owned());
    };
    let differences = entry.record.differences(&other.record);
    let mut parts: Vec<_> = differences.iter().take(DIFFERENCES).map(Difference::line).collect();
    if differences.len() > DIFFERENCES {
        parts.push(format!("and {} more", differences.len() - DIFFERENCES));
    }
    Ok(format!("differs from its closest other result: {}", parts.join(", ")))
}

fn run(entry: &Entry) -> RunInfo {
    let run = &entry.run;
    RunInfo {
        seconds: run.seconds,
        finished: run.finished,
        machine: Machine {
            processor: run.processor.clone(),
            cores: run.cores,
            device: run.device.clone(),
        },
        threads: run.threads,
        peak_memory: run.peak_memory,
    }
}

fn log(path: &Path) -> Vec<String> {
    let mut left = LOG_CHARACTERS;
    let mut lines: Vec<String> = Vec::new();
    for line in tail(path, LOG_LINES).into_iter().rev() {
        let line: String = line.chars().filter(|c| !c.is_control()).take(left).collect();
        left -= line.chars().count();
        lines.push(line);
        if left == 0 {
            break;
        }
    }
    lines.reverse();
    lines
}

/// Takes away the indentation that a stage's later lines have in the pipeline file.
fn aligned(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let later = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let common = later.map(indent).min().unwrap_or(0);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    let rest = lines.map(|line| line.get(common..).unwrap_or_default().to_owned());
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
}

fn attachments(stage: &str, reader: &ArtifactReader) -> Result<Vec<Attachment>, ArtifactError> {
    let mut found = Vec::new();
    // Programs read the numbers of a table from the folder; the page would be twice as large.
    for name in reader.files().keys().filter(|name| *name != TABLE) {
        if let Some(shown) = name_in_folder(stage, name) {
            found.push(Attachment { name: shown, bytes: reader.read(name)? });
        }
    }
    Ok(found)
}

/// Reads a figure's titles whatever its kind: each has them under the same names.
fn figure(stage: &str, reader: &ArtifactReader) -> Result<FigureFacts, ArtifactError> {
    let (label, caption) = figure_titles(reader)?;
    Ok(FigureFacts { stage: stage.to_owned(), label, caption, files: attachments(stage, reader)? })
}

/// Returns what a figure is called, and what it shows.
pub(in crate::cli::commands) fn figure_titles(
    reader: &ArtifactReader,
) -> Result<(String, String), ArtifactError> {
    let content: Value = reader.read_json("figure.json")?;
    let inner = content.as_object().and_then(|kinds| kinds.values().next());
    let text = |name: &str| {
        inner.and_then(|inner| inner[name].as_str()).map_or_else(String::new, str::to_owned)
    };
    Ok((text("label"), text("caption")))
}

/// Lists stages without a result.
fn unfinished(stages: &[StageFacts]) -> Option<Note> {
    let failed = stages.iter().filter(|stage| stage.status == Status::Failed);
    let mut items: Vec<_> = failed.map(|stage| format!("{} failed", stage.name)).collect();
    let open = stages.iter().filter(|stage| !stage.status.is_done()).count() - items.len();
    match open {
        0 => {}
        1 => items.push("1 stage has no result yet".to_owned()),
        _ => items.push(format!("{open} stages have no result yet")),
    }
    (!items.is_empty()).then(|| Note { title: "This report is not complete".to_owned(), items })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_lose_the_indentation_of_the_file() {
        let text = "Train(\n            model: Pcae(\n                latent: 2,\n            ),\n        )";
        let expected = "Train(\n    model: Pcae(\n        latent: 2,\n    ),\n)";
        assert_eq!(aligned(text), expected);
        assert_eq!(aligned("Encode(model: \"m\")"), "Encode(model: \"m\")");
    }

    #[test]
    fn a_log_keeps_its_last_lines_and_no_more_than_its_share() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, format!("{}\nlast \u{7}line\n", "long".repeat(3000))).unwrap();
        let lines = log(&path);
        assert_eq!(lines[1], "last line");
        assert_eq!(lines.iter().map(String::len).sum::<usize>(), LOG_CHARACTERS);
        assert!(log(&folder.path().join("absent")).is_empty());
    }
}
