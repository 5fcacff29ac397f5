//! From what a report tells to a document for LaTeX.

use std::path::Path;

use crate::report::document::{Document, DocumentFigure, DocumentKey};
use crate::report::{Dossier, FigureFacts, StageFacts};

/// Digits of a key that are shown.
const KEY_DIGITS: usize = 8;

/// Returns the document of a dossier.
pub(super) fn document(dossier: &Dossier) -> Document {
    let tables = dossier.tables.iter();
    let notes = dossier.notes.iter();
    Document {
        title: format!("Report of the pipeline {}", dossier.pipeline),
        introduction: vec![format!(
            "Made by {} from {}: {} stages.",
            dossier.program,
            dossier.file,
            dossier.stages.len()
        )],
        tables: tables.map(|facts| (facts.stage.clone(), facts.table.clone())).collect(),
        figures: dossier.figures.iter().filter_map(figure).collect(),
        notes: notes.map(|note| (note.title.clone(), note.items.clone())).collect(),
        settings: vec![(dossier.file.clone(), dossier.text.clone())],
        hardware: hardware(dossier),
        keys: dossier.stages.iter().filter_map(key).collect(),
    }
}

fn figure(facts: &FigureFacts) -> Option<DocumentFigure> {
    let picture = facts.files.iter().find(|file| is_png(&file.name))?;
    Some(DocumentFigure {
        stage: facts.stage.clone(),
        file: picture.name.clone(),
        caption: facts.caption.clone(),
        label: facts.label.clone(),
    })
}

fn is_png(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "png")
}

fn hardware(dossier: &Dossier) -> Vec<(String, String)> {
    let works = dossier.machines().into_iter();
    let line = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    works
        .map(|(machine, work)| {
            let name = format!(
                "{}, {} cores, device {}",
                line(&machine.processor),
                machine.cores,
                line(&machine.device)
            );
            let minutes = work.seconds / 60.0;
            (name, format!("{} results, {minutes:.1} minutes of stages", work.stages))
        })
        .collect()
}

fn key(stage: &StageFacts) -> Option<DocumentKey> {
    let key = stage.key.as_ref()?;
    Some(DocumentKey {
        stage: stage.name.clone(),
        kind: stage.kind.clone(),
        key: key.chars().take(KEY_DIGITS).collect(),
        seconds: stage.making.as_ref().map(|making| making.seconds),
    })
}
