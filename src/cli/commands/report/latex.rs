//! A report as a document for LaTeX.

use std::path::Path;

use crate::cli::output::terminal;
use crate::report::document::{Document, DocumentFigure, DocumentKey, DocumentVerdict};
use crate::report::{
    FigureFacts, ReportContent, StageFacts, TableFacts, measured_number, published_number,
};

/// Digits of a key that are shown.
const KEY_DIGITS: usize = 8;

/// Returns the document of a content.
pub(super) fn document(content: &ReportContent) -> Document {
    let tables = content.tables.iter();
    let notes = content.notes.iter();
    Document {
        title: format!("Report on the pipeline {}", content.pipeline),
        introduction: vec![format!(
            "Made by {} from {}: {}.",
            content.program,
            content.file,
            terminal::count(content.stages.len(), "stage")
        )],
        conclusions: content
            .conclusions
            .iter()
            .map(|facts| (facts.conclusion.paragraph(), facts.conclusion.next.clone()))
            .collect(),
        tables: tables.map(|facts| (facts.stage.clone(), facts.table.clone())).collect(),
        verdicts: content.tables.iter().flat_map(verdicts).collect(),
        figures: content.figures.iter().filter_map(figure).collect(),
        notes: notes.map(|note| (note.title.clone(), note.items.clone())).collect(),
        settings: vec![(content.file.clone(), content.text.clone())],
        hardware: hardware(content),
        keys: content.stages.iter().filter_map(key).collect(),
    }
}

fn verdicts(facts: &TableFacts) -> impl Iterator<Item = DocumentVerdict> {
    let table = &facts.table;
    facts.verdicts.iter().map(|badge| {
        let (row, column) = (&table.rows[badge.row], &table.columns[badge.column]);
        let cell = &row.cells[badge.column];
        let titles = row.labels.iter().chain(&column.labels).chain([&column.value]);
        let place =
            [table.label.as_str()].into_iter().chain(titles.map(|label| label.title.as_str()));
        let measured = |mean| measured_number(mean, cell.std, column.digits);
        let published = |(mean, spread)| published_number(mean, spread, column.digits);
        DocumentVerdict {
            place: place.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
            published: cell.published.map(published).unwrap_or_default(),
            ours: cell.mean.map_or_else(|| "–".to_owned(), measured),
            text: badge.text.clone(),
        }
    })
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

fn hardware(content: &ReportContent) -> Vec<(String, String)> {
    let works = content.machines().into_iter();
    let line = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    works
        .map(|(machine, work)| {
            let name = format!(
                "{}, {}, device {}",
                line(&machine.processor),
                terminal::count(machine.cores, "core"),
                line(&machine.device)
            );
            let minutes = work.seconds / 60.0;
            let results = terminal::count(work.stages, "result");
            (name, format!("{results}, {minutes:.1} minutes of compute time"))
        })
        .collect()
}

fn key(stage: &StageFacts) -> Option<DocumentKey> {
    let key = stage.key.as_ref()?;
    Some(DocumentKey {
        stage: stage.name.clone(),
        kind: stage.kind.clone(),
        key: key.chars().take(KEY_DIGITS).collect(),
        seconds: stage.run.as_ref().map(|run| run.seconds),
    })
}
