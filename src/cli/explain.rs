//! `pcae-run explain`: what a stage kind does, an example, and its fields.
//!
//! The text is the kind's own documentation in its source file, so it can't fall behind.

use super::failure::Failure;
use super::terminal;
use crate::engine::diagnostic::nearest;
use crate::stages::SOURCES;

/// Prints the documentation of a kind, or the list of kinds.
pub(super) fn explain(kind: Option<&str>) -> Result<(), Failure> {
    let Some(kind) = kind else {
        for (name, source) in SOURCES {
            let summary = header(source).lines().next().unwrap_or_default().to_owned();
            terminal::line(&format!("{name:<10} {}", summary.replace(&format!("`{name}`: "), "")));
        }
        return Ok(());
    };
    let found = SOURCES.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind));
    let Some((name, source)) = found else {
        let names: Vec<_> = SOURCES.iter().map(|(name, _)| *name).collect();
        let hint = nearest(kind, &names).map_or_else(
            || format!("kinds: {}", names.join(", ")),
            |name| format!("did you mean `{name}`?"),
        );
        return Err(Failure::usage(format!("there is no stage kind `{kind}`; {hint}")));
    };
    terminal::line(header(source).trim_end());
    terminal::line("\nFields:");
    for field in fields(source, name) {
        terminal::line(&field);
    }
    Ok(())
}

/// Returns the comment that opens a file.
fn header(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Returns one line per field of a kind's settings.
fn fields(source: &str, kind: &str) -> Vec<String> {
    let start = format!("pub struct {kind} {{");
    let body = source.split_once(&start).map_or("", |(_, rest)| rest);
    let body = body.split_once("\n}").map_or(body, |(body, _)| body);
    let mut found = Vec::new();
    let (mut docs, mut optional) = (Vec::new(), "");
    for line in body.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("/// ") {
            docs.push(doc);
        } else if line.starts_with("#[serde(default") {
            optional = " (may be left out)";
        } else if let Some(field) = line.strip_prefix("pub ") {
            let (name, kind) = field.trim_end_matches(',').split_once(": ").unwrap_or((field, ""));
            found.push(format!("  {name}: {kind}{optional}\n      {}", docs.join(" ")));
            (docs, optional) = (Vec::new(), "");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_summary_and_fields() {
        for (name, source) in SOURCES {
            assert!(header(source).starts_with(&format!("`{name}`: ")), "{name}");
            assert!(!fields(source, name).is_empty(), "{name}");
        }
    }

    #[test]
    fn fields_tell_their_type_and_whether_they_may_be_left_out() {
        let source =
            "pub struct X {\n    /// How many.\n    #[serde(default)]\n    pub n: usize,\n}";
        assert_eq!(fields(source, "X"), ["  n: usize (may be left out)\n      How many."]);
    }
}
