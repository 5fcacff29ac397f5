//! `pcae-run init`: looks at data and writes a pipeline that estimates their dimension.
//!
//! `look.rs` finds out what the data are (`array.rs`, `table.rs`, `pictures.rs`, `measure.rs`),
//! `settings.rs` chooses settings that suit them, `write.rs` puts both into the text of a pipeline.

mod array;
mod look;
mod measure;
mod pictures;
mod settings;
mod table;
mod write;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf, absolute};

use serde_json::json;

use self::look::Seen;
use self::settings::Settings;
use super::args::Common;
use super::failure::Failure;
use super::terminal::{self, Tone, paint};
use crate::data::SampleForm;

/// Writes a pipeline for a file or a folder.
pub(super) fn init(common: &Common, data: &Path, out: Option<&Path>) -> Result<(), Failure> {
    let data = absolute(data).map_err(Failure::usage)?;
    let out = match out {
        Some(out) => out.to_owned(),
        None => PathBuf::from(format!("{}.ron", stem(&data))),
    };
    // Told before the data are looked at, which may take a while.
    if out.exists() {
        return Err(taken(&out));
    }
    let seen = look::look(&data).map_err(Failure::usage)?;
    let settings = Settings::of(&seen);
    let place = place_from(&out, &data)?;
    let text = write::pipeline(&stem(&data), &place, &seen, &settings);
    let file = OpenOptions::new().write(true).create_new(true).open(&out);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|cause| {
        if cause.kind() == ErrorKind::AlreadyExists {
            taken(&out)
        } else {
            Failure::usage(format!("{}: {cause}", out.display()))
        }
    })?;
    tell(common, &seen, &settings, &out);
    Ok(())
}

fn taken(out: &Path) -> Failure {
    let out = out.display();
    Failure::usage(format!(
        "`{out}` is already there and stays as it is: choose another name with `--out FILE`"
    ))
}

/// Says what was seen and what was written.
fn tell(common: &Common, seen: &Seen, settings: &Settings, out: &Path) {
    if common.json {
        terminal::json(&json!({
            "file": out, "kind": seen.kind, "samples": seen.count, "form": seen.form,
            "classes": seen.classes, "notes": seen.notes,
        }));
        return;
    }
    terminal::note(&summary(seen));
    for note in &seen.notes {
        terminal::note(&format!("{} {note}", paint(Tone::Busy, "note:")));
    }
    let Settings { train, test, .. } = settings;
    terminal::note(&format!("learns from {train} samples, reports on {test} others"));
    let name = out.display();
    terminal::note(&format!(
        "wrote {name}; run it: {}",
        paint(Tone::Good, &format!("pcae-run {name}"))
    ));
    terminal::line(&name.to_string());
}

/// Returns one line on what the data are.
fn summary(seen: &Seen) -> String {
    let count = seen.count;
    let samples = match seen.form {
        SampleForm::Image(shape) => {
            let colors = match shape.channels {
                1 => "gray".to_owned(),
                3 => "color".to_owned(),
                channels => format!("{channels}-channel"),
            };
            format!("{count} {colors} images of {} x {} pixels", shape.height, shape.width)
        }
        SampleForm::Vector { width } => format!("{count} vectors of {width} values"),
    };
    let classes = match seen.classes {
        0 => String::new(),
        1 => ", 1 class".to_owned(),
        classes => format!(", {classes} classes"),
    };
    let (low, high) = (seen.measure.low, seen.measure.high);
    format!("{}: {samples}{classes}, from {} to {}", seen.kind, rounded(low), rounded(high))
}

/// Returns a number with at most four digits that count.
fn rounded(value: f64) -> String {
    let digits = format!("{value:.3e}");
    digits.parse::<f64>().map_or(digits, |value| value.to_string())
}

/// Returns the data's name, with signs only that a pipeline's name may have.
fn stem(data: &Path) -> String {
    let name = if data.is_dir() { data.file_name() } else { data.file_stem() };
    let name = name.and_then(|name| name.to_str()).unwrap_or("data");
    let fits = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    let stem: String = name.chars().map(|sign| if fits(sign) { sign } else { '-' }).collect();
    let stem = stem.trim_matches(['-', '.']);
    if stem.is_empty() { "data".to_owned() } else { stem.to_owned() }
}

/// Returns where the data lie, seen from the pipeline's folder: both can then be moved together.
fn place_from(out: &Path, data: &Path) -> Result<String, Failure> {
    let folder = absolute(out).map_err(Failure::usage)?;
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
        Failure::usage(format!(
            "`{data}`: a pipeline can't name this path: rename it without braces"
        ))
    })
}
