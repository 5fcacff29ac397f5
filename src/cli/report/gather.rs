//! Gathers what a report tells: plan, standings, runs, logs, tables and figures.

use std::path::Path;

use serde_json::Value;

use crate::cli::failure::Failure;
use crate::cli::postmortem::tail;
use crate::cli::publish::name_in_folder;
use crate::cli::session::Session;
use crate::engine::artifact::{Artifact, ArtifactError, ArtifactReader};
use crate::engine::assess::Standing;
use crate::engine::cache::Entry;
use crate::engine::difference::Difference;
use crate::engine::plan::StageIndex;
use crate::engine::stage::StageSet;
use crate::report::{
    Attachment, Badge, BadgeTone, Dossier, FigureFacts, Judged, Machine, Making, Note, StageFacts,
    Status, Table, TableFacts, Verdict, judge,
};

/// Lines of each log.
const LOG_LINES: usize = 20;
/// Characters of each log: some programs print very long lines.
const LOG_CHARACTERS: usize = 2000;
/// Chance of any wrong verdict of a kind, over all published numbers.
const LEVEL: f64 = 0.05;
/// Differences named when a result replaced another one.
const DIFFERENCES: usize = 3;

/// Gathers everything; `standings` is where every stage stands.
pub(super) fn gather(session: &Session, standings: &[Standing]) -> Result<Dossier, Failure> {
    let path = session.source.path();
    let mut dossier = Dossier {
        pipeline: session.plan.name().to_owned(),
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        text: session.source.text().to_owned(),
        program: format!("pcae-run {}", env!("CARGO_PKG_VERSION")),
        stages: stages(session, standings)?,
        ..Dossier::default()
    };
    // Tables and figures stand as in the file, whichever of them was ready first.
    let mut declared: Vec<_> = session.plan.stages().iter().zip(standings).collect();
    declared.sort_by_key(|(planned, _)| planned.line);
    for (planned, standing) in declared {
        let Standing::Cached(result) = standing else {
            continue;
        };
        let reader = session.cache.reader(&result.artifact);
        let unreadable =
            |error: ArtifactError| Failure::integrity(format!("{}: {error}", planned.name));
        match result.artifact.kind.as_str() {
            "table" if planned.stage.as_stage().is_report() => dossier.tables.push(TableFacts {
                stage: planned.name.clone(),
                table: Table::read(&reader).map_err(unreadable)?,
                verdicts: Vec::new(),
                files: attachments(&planned.name, &reader).map_err(unreadable)?,
            }),
            "figure" if planned.stage.as_stage().is_report() => {
                dossier.figures.push(figure(&planned.name, &reader).map_err(unreadable)?);
            }
            _ => {}
        }
    }
    judge_cells(&mut dossier);
    dossier.notes.extend(unfinished(&dossier.stages));
    let notes = session.plan.notes().iter().cloned();
    dossier.notes.extend(notes.map(|(title, items)| Note { title, items }));
    Ok(dossier)
}

/// Puts a verdict to every published number.
fn judge_cells(dossier: &mut Dossier) {
    let tables = dossier.tables.iter().map(|facts| (facts.stage.clone(), facts.table.clone()));
    for judged in judge(&tables.collect::<Vec<_>>(), LEVEL) {
        let facts = dossier.tables.iter_mut().find(|facts| facts.stage == judged.table);
        if let Some(facts) = facts {
            facts.verdicts.push(badge(&judged));
        }
    }
}

fn badge(judged: &Judged) -> Badge {
    let tone = match judged.verdict {
        Verdict::Reproduced | Verdict::Better => BadgeTone::Good,
        Verdict::Differs => BadgeTone::Bad,
        Verdict::Inconclusive { .. } | Verdict::NotMeasured => BadgeTone::Open,
    };
    let note = judged.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
    Badge {
        row: judged.row,
        column: judged.column,
        text: judged.verdict.word().to_owned(),
        detail: format!("{}; margin {:.3}{note}", judged.verdict, judged.margin),
        tone,
    }
}

fn stages(session: &Session, standings: &[Standing]) -> Result<Vec<StageFacts>, Failure> {
    let failures = session.cache.failures(session.plan.name())?;
    let running = session.cache.running();
    let mut stages = Vec::with_capacity(standings.len());
    for (index, (planned, standing)) in session.plan.stages().iter().zip(standings).enumerate() {
        let mut entry = None;
        let (key, status, why) = match standing {
            Standing::Cached(result) => {
                let entry = entry.insert(session.cache.entry(&result.key)?);
                let own = entry.run.pipeline == session.plan.name();
                let status = if own { Status::Ran } else { Status::Cached };
                (Some(entry.key), status, origin(session, index, entry)?)
            }
            Standing::Stale { record, why } => {
                let key = record.key();
                let status = match () {
                    () if running.contains(&key) => Status::Running,
                    () if failures.contains(&key) => Status::Failed,
                    () => Status::Due,
                };
                (Some(key), status, why.clone())
            }
            Standing::Waiting { on } => (None, Status::Waiting, after(session, on)),
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
            log: key.map_or_else(Vec::new, |key| log(&session.cache.log_path(&key))),
            making: entry.as_ref().map(making),
        });
    }
    Ok(stages)
}

/// Returns what made a result differ from the ones before.
fn origin(session: &Session, stage: StageIndex, entry: &Entry) -> Result<String, Failure> {
    let name = &session.plan.stages()[stage].name;
    let pipeline = session.plan.name();
    if entry.run.pipeline != pipeline {
        let (stage, pipeline) = (&entry.run.stage, &entry.run.pipeline);
        return Ok(format!("computed as `{stage}` of the pipeline `{pipeline}`"));
    }
    let Some(other) = session.cache.closest_of_stage(pipeline, name, &entry.record)? else {
        return Ok("first result of this stage".to_owned());
    };
    let differences = entry.record.differences(&other.record);
    let mut parts: Vec<_> = differences.iter().take(DIFFERENCES).map(Difference::line).collect();
    if differences.len() > DIFFERENCES {
        parts.push(format!("and {} more", differences.len() - DIFFERENCES));
    }
    Ok(format!("differs from its closest other result: {}", parts.join(", ")))
}

fn after(session: &Session, on: &[StageIndex]) -> String {
    let first = on.first().map_or("", |&input| session.plan.stages()[input].name.as_str());
    match on.len() {
        0 | 1 => format!("waits for {first}"),
        more => format!("waits for {first} and {} more", more - 1),
    }
}

fn making(entry: &Entry) -> Making {
    let run = &entry.run;
    Making {
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
    for name in reader.files().keys() {
        if let Some(shown) = name_in_folder(stage, name) {
            found.push(Attachment { name: shown, bytes: reader.read(name)? });
        }
    }
    Ok(found)
}

/// Reads a figure's titles whatever its kind: each has them under the same names.
fn figure(stage: &str, reader: &ArtifactReader) -> Result<FigureFacts, ArtifactError> {
    let content: Value = reader.read_json("figure.json")?;
    let inner = content.as_object().and_then(|kinds| kinds.values().next());
    let text = |name: &str| {
        inner.and_then(|inner| inner[name].as_str()).map_or_else(String::new, str::to_owned)
    };
    Ok(FigureFacts {
        stage: stage.to_owned(),
        label: text("label"),
        caption: text("caption"),
        files: attachments(stage, reader)?,
    })
}

/// Tells of stages without a result.
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
