//! `pcae-run site`: what belongs to this machine, and where each value is written.

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::output::terminal::{self, Tone, paint};
use crate::engine::site::{self, Origin, SiteValue};

/// Values longer than this do not widen their column.
const LONGEST: usize = 48;

/// Shows every value of the site that applies here, or a site file to start from.
pub(super) fn site(common: &Common, example: bool) {
    if example {
        terminal::line(site::EXAMPLE.trim_end());
        return;
    }
    let site = &common.site;
    let values = values(common);
    if common.json {
        terminal::json(
            &json!({"site": site.name, "file": site.file(), "chosen": site.chosen_by()}),
        );
        for value in &values {
            let (file, line) = match &value.origin {
                Origin::File { path, line } => (Some(path), Some(line)),
                Origin::Default | Origin::Option(_) => (None, None),
            };
            terminal::json(&json!({
                "setting": value.name, "value": value.json, "file": file, "line": line,
            }));
        }
        return;
    }
    let width = |text: fn(&SiteValue) -> usize| values.iter().map(text).max().unwrap_or(0);
    let (names, texts) = (width(|value| value.name.len()), width(|value| value.text.len()));
    for value in &values {
        let origin = paint(Tone::Faint, &value.origin.to_string());
        let texts = texts.min(LONGEST);
        terminal::line(&format!("{:<names$}  {:<texts$}  {origin}", value.name, value.text));
    }
    if let Some(file) = site.file() {
        let (name, file, why) = (&site.name, file.display(), site.chosen_by());
        terminal::note(&format!("site `{name}` of {file}: {why}"));
    } else {
        let place = site::default_file().map(|file| file.display().to_string());
        let place = place.as_deref().unwrap_or("sites.ron");
        terminal::note(&format!(
            "no site file applies here; `pcae-run site --example > {place}` writes one to start from"
        ));
    }
}

/// Returns the values of the site, or what the command line has in their place.
fn values(common: &Common) -> Vec<SiteValue> {
    let mut values = common.site.values();
    let given = [("cache", "--cache", &common.given_cache), ("data", "--data", &common.given_data)];
    for (name, option, path) in given {
        let value = values.iter_mut().find(|value| value.name == name);
        if let Some((value, path)) = value.zip(path.as_ref()) {
            value.text = path.display().to_string();
            (value.json, value.origin) = (json!(path), Origin::Option(option));
        }
    }
    values
}
