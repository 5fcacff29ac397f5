//! Names of files in a bundle: such that unpacking them writes where it should on any file system.

use std::collections::BTreeSet;

use super::bounds::{DEEPEST, LONGEST_NAME, LONGEST_PART};

/// Returns what is wrong with a name, if anything.
pub(super) fn problem(name: &str) -> Option<String> {
    let shown = || name.escape_debug().to_string();
    if name.is_empty() {
        return Some("a file has no name".to_owned());
    }
    if name.len() > LONGEST_NAME {
        let start: String = name.chars().take(40).collect();
        return Some(format!("a name has {} bytes: `{}..`", name.len(), start.escape_debug()));
    }
    if name.starts_with('/') {
        return Some(format!("`{}` is an absolute path", shown()));
    }
    if name.chars().any(is_special) {
        return Some(format!("`{}` has characters that names may not have", shown()));
    }
    if name.split('/').count() > DEEPEST {
        return Some(format!("`{}` is in too many folders", shown()));
    }
    let bad = name.split('/').find(|part| !is_plain(part))?;
    Some(match bad {
        "" => format!("`{}` is a folder or has an empty part", shown()),
        "." | ".." => format!("`{}` leads elsewhere", shown()),
        _ => format!(
            "`{}` has the part `{}`, which not every system takes",
            shown(),
            bad.escape_debug()
        ),
    })
}

/// Returns whether a character is not itself everywhere: control characters, what turns text around,
/// and what other systems take for a separator.
fn is_special(c: char) -> bool {
    c.is_control()
        || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff0}'..='\u{ffff}')
}

fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && part.len() <= LONGEST_PART
        && !part.ends_with(['.', ' '])
        && !part.starts_with(' ')
}

/// Returns the first name that another one hides or that is a folder of another one, also where upper
/// and lower case are the same.
pub(super) fn clash<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Option<String> {
    let mut known = BTreeSet::new();
    for name in names.clone() {
        if !known.insert(name.to_lowercase()) {
            return Some(format!("`{}` is there twice", name.escape_debug()));
        }
    }
    for name in names {
        let name = name.to_lowercase();
        let mut folders = name.match_indices('/').map(|(end, _)| &name[..end]);
        if let Some(folder) = folders.find(|folder| known.contains(*folder)) {
            return Some(format!("`{}` is a file and a folder", folder.escape_debug()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_taken() {
        for name in ["README.md", "cache/objects/ab/cd", "pipeline/Müller & Söhne (2).csv", ".x"]
        {
            assert_eq!(problem(name), None, "{name}");
        }
        assert_eq!(clash(["a", "b/a", "b/c"].into_iter()), None);
        assert!(clash(["a/b", "A/B"].into_iter()).unwrap().contains("twice"));
        assert!(clash(["a/b/c", "A/b"].into_iter()).unwrap().contains("file and a folder"));
    }
}
