//! The documentation of settings, read from the sources that declare them.
//!
//! Only as much Rust is understood as our own settings use: structs with public fields, enums with
//! plain, tuple and struct-like variants, `///` comments above each.

/// A struct or enum of settings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// What it is for.
    pub(super) about: String,
    /// Whether one of the entries is chosen; else all are given.
    pub(super) is_choice: bool,
    /// Its fields or variants.
    pub(super) entries: Vec<Entry>,
}

/// A field, a variant, or a field of a variant.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// How deep it lies: fields of variants are one deeper.
    pub(super) depth: usize,
    /// Its name with its type, as in the source.
    pub(super) text: String,
    /// What it is for.
    pub(super) about: String,
    /// Whether it may be left out.
    pub(super) is_optional: bool,
}

impl Entry {
    /// Returns the name of the variant or field.
    fn name(&self) -> &str {
        self.text.split([':', '(', ' ']).next().unwrap_or_default()
    }

    /// Returns the type in a variant's brackets.
    fn inner(&self) -> Option<&str> {
        self.text.split_once('(')?.1.strip_suffix(')')
    }
}

/// Finds settings by what a pipeline file calls them, a variant's name, or by their type's name.
pub(super) fn find(sources: &[&str], name: &str) -> Option<Settings> {
    let by_type = |name: &str| sources.iter().find_map(|source| declared(source, name));
    let by_variant = sources.iter().flat_map(|source| names(source)).find_map(|choice| {
        let settings = by_type(&choice).filter(|settings| settings.is_choice)?;
        let fits = |entry: &&Entry| entry.depth == 0 && entry.name().eq_ignore_ascii_case(name);
        let inner = settings.entries.iter().find(fits)?.inner().and_then(by_type);
        Some(inner.unwrap_or(settings))
    });
    by_variant.or_else(|| by_type(name))
}

/// Returns the names of all settings that a source declares.
pub(super) fn names(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_read = false;
    for line in source.lines() {
        if line.starts_with("#[derive(") {
            is_read = line.contains("Deserialize");
        }
        let rest = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        if let Some(name) = rest.filter(|_| is_read) {
            found.push(name.trim_end_matches(" {").to_owned());
            is_read = false;
        }
    }
    found
}

fn declared(source: &str, name: &str) -> Option<Settings> {
    let lines: Vec<&str> = source.lines().collect();
    let starts = |line: &&str, word: &str| {
        let rest = line.strip_prefix(word).and_then(|rest| rest.strip_suffix(" {"));
        rest.is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    let is_start = |line: &&str| starts(line, "pub struct ") || starts(line, "pub enum ");
    let above = |start: usize| {
        let is_head = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
        lines[..start].iter().rev().take_while(is_head)
    };
    let renamed = format!("rename = \"{}\"", name.to_lowercase());
    let is_renamed = |start: usize| above(start).any(|line| line.to_lowercase().contains(&renamed));
    let is_type = |line: &str| line.starts_with("pub struct ") || line.starts_with("pub enum ");
    let start = (0..lines.len())
        .filter(|&at| is_start(&lines[at]) || is_type(lines[at]) && is_renamed(at))
        .find(|&at| above(at).any(|line| line.contains("Deserialize")))?;
    let mut about: Vec<_> = above(start).filter_map(|line| line.strip_prefix("///")).collect();
    about.reverse();
    let about = about.iter().map(|line| line.strip_prefix(' ').unwrap_or(line));
    let body = lines[start + 1..].iter().take_while(|line| **line != "}");
    Some(Settings {
        about: about.filter(|line| !line.starts_with("```")).collect::<Vec<_>>().join("\n"),
        is_choice: lines[start].starts_with("pub enum "),
        entries: entries(body.copied()),
    })
}

fn entries<'a>(body: impl Iterator<Item = &'a str>) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut next = Entry::default();
    for line in body {
        let depth = (line.len() - line.trim_start().len()) / 4;
        let line = line.trim();
        if let Some(about) = line.strip_prefix("///") {
            next.about = format!("{}{about}", next.about);
        } else if line.starts_with("#[") {
            next.is_optional |= line.contains("default");
        } else if !line.is_empty() && !line.starts_with("//") && !line.starts_with('}') {
            let text = line.trim_start_matches("pub ").trim_end_matches([',', '{', ' ']);
            let about = next.about.trim().to_owned();
            found.push(Entry { depth: depth.max(1) - 1, text: text.to_owned(), about, ..next });
            next = Entry::default();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// How to choose.
#[derive(Clone, Deserialize)]
pub enum Choice {
    /// All of them.
    #[default]
    All,
    /// As described.
    Some(Detail),
    /// A few.
    Few {
        /// How many.
        count: usize,
    },
}

/// What exactly.
#[derive(Deserialize)]
pub struct Detail {
    /// Its size.
    #[serde(default)]
    pub size: usize,
}
";

    #[test]
    fn variants_and_their_fields_are_listed_with_what_they_are_for() {
        let choice = find(&[SOURCE], "choice").unwrap();
        assert_eq!((choice.about.as_str(), choice.is_choice), ("How to choose.", true));
        let listed: Vec<_> =
            choice.entries.iter().map(|e| (e.depth, e.text.as_str(), e.about.as_str())).collect();
        assert_eq!(
            listed,
            [
                (0, "All", "All of them."),
                (0, "Some(Detail)", "As described."),
                (0, "Few", "A few."),
                (1, "count: usize", "How many."),
            ]
        );
    }

    #[test]
    fn a_variant_leads_to_the_settings_it_stands_for() {
        let detail = find(&[SOURCE], "some").unwrap();
        assert_eq!(detail.about, "What exactly.");
        assert!(detail.entries[0].is_optional);
        assert!(find(&[SOURCE], "few").unwrap().is_choice, "else to its list");
        assert_eq!(find(&[SOURCE], "nothing"), None);
        assert_eq!(names(SOURCE), ["Choice", "Detail"]);
    }
}
