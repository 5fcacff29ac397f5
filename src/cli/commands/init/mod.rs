//! `pcae-run init`: inspects data and writes a pipeline that estimates their dimension.
//!
//! `inspect.rs` finds out what the data are (`array.rs`, `table.rs` with `columns.rs`, `images.rs`,
//! `statistics.rs`), `settings.rs` chooses settings that suit them, `write.rs` puts both into the text
//! of a pipeline (`classes.rs`: the part for each class).

mod array;
mod classes;
mod columns;
mod images;
mod inspect;
mod settings;
mod statistics;
mod table;
mod write;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf, absolute};

use serde_json::json;

use self::columns::Columns;
use self::inspect::Inspection;
use self::settings::Settings;
use crate::cli::args::{Common, MissingCells, TableArgs};
use crate::cli::error::CommandError;
use crate::cli::output::terminal::{self, Tone, paint};
use crate::data::{Missing, SampleForm};

/// Writes a pipeline for a file or a folder.
pub(super) fn init(
    common: &Common,
    data: &Path,
    out: Option<&Path>,
    table: TableArgs,
) -> Result<(), CommandError> {
    let data = absolute(data).map_err(CommandError::usage)?;
    let out = match out {
        Some(out) => out.to_owned(),
        None => PathBuf::from(format!("{}.ron", stem(&data))),
    };
    // Checked before the data are inspected, which may take a while.
    if out.exists() {
        return Err(already_exists(&out));
    }
    let missing = match table.missing {
        MissingCells::Drop => Missing::Drop,
        MissingCells::Mean => Missing::Mean,
        MissingCells::Median => Missing::Median,
    };
    let inspection = inspect::inspect(&data, missing)?;
    let settings = Settings::of(&inspection, table.no_standardize);
    let place = relative_path(&out, &data)?;
    let text = write::pipeline(&stem(&data), &place, &inspection, &settings);
    let file = OpenOptions::new().write(true).create_new(true).open(&out);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|cause| {
        if cause.kind() == ErrorKind::AlreadyExists {
            already_exists(&out)
        } else {
            CommandError::usage(format!("{}: {cause}", out.display()))
        }
    })?;
    print(common, &inspection, &settings, &out);
    Ok(())
}

fn already_exists(out: &Path) -> CommandError {
    let out = out.display();
    let error = CommandError::usage(format!("`{out}` already exists"));
    error.hint("choose another name with `--out FILE`")
}

/// Prints what was found and what was written.
fn print(common: &Common, inspection: &Inspection, settings: &Settings, out: &Path) {
    if common.json {
        terminal::json(&json!({
            "file": out, "kind": inspection.kind, "samples": inspection.count, "form": inspection.form,
            "classes": inspection.classes, "range": inspection.range,
            "duplicates": inspection.statistics.duplicates, "columns": inspection.columns,
            "standardized": settings.is_standardized, "notes": inspection.notes,
        }));
        return;
    }
    terminal::note(&summary(inspection));
    if let Some(columns) = &inspection.columns {
        print_columns(columns, out);
    }
    for note in &inspection.notes {
        terminal::note(&format!("{} {note}", paint(Tone::Busy, "note:")));
    }
    if settings.is_standardized {
        let coordinate = if inspection.columns.is_some() { "column" } else { "coordinate" };
        terminal::note(&format!(
            "standardized: each {coordinate} gets mean 0 and standard deviation 1"
        ));
    }
    let Settings { train, test, .. } = settings;
    terminal::note(&format!("trains on {train} samples, tests on {test} others"));
    let name = out.display();
    terminal::note(&format!(
        "wrote {name}; to run it: {}",
        paint(Tone::Good, &format!("pcae-run {name}"))
    ));
    terminal::line(&name.to_string());
}

/// Prints which columns of a table are used, and which are not.
fn print_columns(columns: &Columns, out: &Path) {
    let count = terminal::count(columns.taken.len(), "column");
    terminal::note(&format!("{count} taken: {}", columns.taken_in_words()));
    if let Some(class) = &columns.class {
        terminal::note(&format!("class: `{class}`"));
    }
    for column in columns.left_out_in_words() {
        terminal::note(&format!("{} {column}", paint(Tone::Busy, "left out:")));
    }
    let out = out.display();
    if let Some(few) = columns.few_valued_in_words() {
        let what = paint(Tone::Busy, "few different whole numbers:");
        terminal::note(&format!(
            "{what} {few}; if these are categories, delete them from `columns` in {out}"
        ));
    }
    if columns.has_usable() {
        terminal::note(&format!(
            "to use a column of numbers after all, add it to `columns` in {out}"
        ));
    }
}

/// Returns one line on what the data are.
fn summary(inspection: &Inspection) -> String {
    let count = inspection.count;
    let samples = match inspection.form {
        SampleForm::Image(shape) => {
            let colors = match shape.channels {
                1 => "gray".to_owned(),
                3 => "color".to_owned(),
                channels => format!("{channels}-channel"),
            };
            format!("{count} {colors} images of {} x {} pixels", shape.height, shape.width)
        }
        SampleForm::Vector { width } => {
            format!("{count} vectors of {}", terminal::count(width, "value"))
        }
    };
    let classes = match inspection.classes {
        0 => String::new(),
        1 => ", 1 class".to_owned(),
        classes => format!(", {classes} classes"),
    };
    let (low, high) = inspection.range;
    format!("{}: {samples}{classes}, range {}", inspection.kind, range(low, high))
}

/// Returns the ends of a range with at most four digits that count beside its larger end.
fn range(low: f64, high: f64) -> String {
    let largest = low.abs().max(high.abs()).max(1e-300);
    let decimals = 3 - largest.log10().floor() as i32;
    let rounded = |value: f64| {
        let scale = 10_f64.powi(decimals);
        let digits = format!("{:.3e}", (value * scale).round() / scale);
        // A rounded zero has no sign.
        digits.parse::<f64>().map_or(digits, |value| (value + 0.0).to_string())
    };
    format!("{} to {}", rounded(low), rounded(high))
}

/// Returns the data's name, with other characters than a pipeline's name may have replaced.
fn stem(data: &Path) -> String {
    let name = if data.is_dir() { data.file_name() } else { data.file_stem() };
    let name = name.and_then(|name| name.to_str()).unwrap_or("data");
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let stem: String = name.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    let stem = stem.trim_matches(['-', '.']);
    if stem.is_empty() { "data".to_owned() } else { stem.to_owned() }
}

/// Returns the path of the data from the pipeline's folder: both can then be moved together.
fn relative_path(out: &Path, data: &Path) -> Result<String, CommandError> {
    let folder = absolute(out).map_err(CommandError::usage)?;
    let folder = folder.parent().map(Path::to_owned).unwrap_or_default();
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (folder, data) = (resolved(&folder), resolved(data));
    let shared = folder.components().zip(data.components()).take_while(|(a, b)| a == b).count();
    let mut place = PathBuf::new();
    if folder.components().take(shared).any(|part| matches!(part, Component::Normal(_))) {
        let up = folder.components().count() - shared;
        place.extend(std::iter::repeat_n("..", up));
        place.extend(data.components().skip(shared));
    } else {
        place.clone_from(&data);
    }
    let text = place.to_str().filter(|text| !table::has_braces(text)).map(str::to_owned);
    text.ok_or_else(|| {
        let data = data.display();
        let error = CommandError::usage(format!("a pipeline can't refer to the path `{data}`"));
        error.hint("rename it: it must be UTF-8 and have no braces, which mark axes in a pipeline")
    })
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_range_has_the_digits_that_count_beside_its_larger_end() {
        assert_eq!(range(2.7e-9, 1.0), "0 to 1");
        assert_eq!(range(-1e-9, 0.123_456), "0 to 0.1235");
        assert_eq!(range(-3.0, 254.96), "-3 to 255");
        assert_eq!(range(12_345.6, 123_456.0), "12300 to 123500");
        assert_eq!(range(0.0, 0.0), "0 to 0");
    }
}
