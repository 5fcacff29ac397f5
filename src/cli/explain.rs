//! `pcae-run explain`: what a stage kind or any other setting does, with examples and fields.
//!
//! The text is the documentation in the source files, so it can't fall behind.

use super::failure::Failure;
use super::settings::{self, Settings};
use super::terminal;
use crate::engine::diagnostic::nearest;
use crate::stages::{SETTINGS, SOURCES};

/// Prints the documentation of a kind or of settings, or the list of kinds.
pub(super) fn explain(name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else {
        let widest = SOURCES.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, source) in SOURCES {
            let summary = header(source).lines().next().unwrap_or_default().to_owned();
            terminal::line(&format!(
                "{name:<widest$} {}",
                summary.replace(&format!("`{name}`: "), "")
            ));
        }
        return Ok(());
    };
    let is_kind = |(kind, _): &&(&str, &str)| kind.eq_ignore_ascii_case(name);
    let kind = SOURCES.iter().find(is_kind);
    if let Some((kind, source)) = kind {
        terminal::line(header(source).trim_end());
        terminal::line("\nFields (`pcae-run explain TYPE` tells more of a type of settings):");
        if let Some(settings) = settings::find(&[source], kind) {
            list(&settings);
        }
    }
    // `Table` is a stage kind and a source of data: both are told.
    match settings::find(SETTINGS, name) {
        Some(settings) => {
            if kind.is_some() {
                terminal::line("");
            }
            terminal::line(&settings.about);
            terminal::line(if settings.is_choice { "\nOne of:" } else { "\nFields:" });
            list(&settings);
        }
        None if kind.is_none() => return Err(unknown(name)),
        None => {}
    }
    Ok(())
}

fn list(settings: &Settings) {
    for entry in &settings.entries {
        let indent = "    ".repeat(entry.depth);
        let optional =
            if entry.is_optional && !settings.is_choice { " (may be left out)" } else { "" };
        terminal::line(&format!("  {indent}{}{optional}", entry.text));
        terminal::line(&format!("      {indent}{}", entry.about));
    }
}

fn unknown(name: &str) -> Failure {
    let kinds = SOURCES.iter().map(|(kind, _)| (*kind).to_owned());
    let all: Vec<String> = kinds.chain(SETTINGS.iter().flat_map(|s| settings::names(s))).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let hint = nearest(name, &all).map_or_else(
        || {
            let kinds: Vec<_> = SOURCES.iter().map(|(kind, _)| *kind).collect();
            format!("kinds: {}", kinds.join(", "))
        },
        |name| format!("did you mean `{name}`?"),
    );
    Failure::usage(format!("there is no stage kind or setting `{name}`; {hint}"))
}

/// Returns the comment that opens a file.
fn header(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_summary_and_fields() {
        for (name, source) in SOURCES {
            assert!(header(source).starts_with(&format!("`{name}`: ")), "{name}");
            assert!(!settings::find(&[source], name).unwrap().entries.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_source_of_data_and_every_step_can_be_explained() {
        for name in ["Array", "Table", "ImageFolder", "Manifold", "Mnist", "CelebA", "Dsprites"] {
            assert!(
                settings::find(SETTINGS, name).is_some_and(|s| !s.entries.is_empty()),
                "{name}"
            );
        }
        let table = settings::find(SETTINGS, "Table").unwrap();
        assert!(table.entries.iter().any(|entry| entry.text.starts_with("separator")));
        for name in [
            "Choice",
            "Levels",
            "Division",
            "Step",
            "Value",
            "MetricSpec",
            "Resize",
            "ManifoldShape",
            "Variance",
            "Spectrum",
            "LearningCurves",
        ] {
            assert!(
                settings::find(SETTINGS, name).is_some_and(|s| !s.entries.is_empty()),
                "{name}"
            );
        }
    }
}
