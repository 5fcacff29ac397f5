//! Environment variables in the folders of a site: `$NAME`, `${NAME}` and a leading `~/`.

use std::env;
use std::path::PathBuf;

/// Why a path can't be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// A `$` that names nothing.
    #[error("`$` is not followed by the name of an environment variable")]
    NoName,
    /// `${` without `}`.
    #[error("`${{` is not closed")]
    Unclosed,
    /// The variable is not set, or is no text.
    #[error("the environment variable `{0}` is not set")]
    Unset(String),
}

/// Expands a path by the environment of this process.
pub fn expand(path: &str) -> Result<PathBuf, VariableError> {
    let set = |name: &str| env::var_os(name).and_then(|value| value.into_string().ok());
    expand_by(path, &set).map(PathBuf::from)
}

/// Checks how a path is written, whatever is set.
pub(super) fn check(path: &str) -> Result<(), VariableError> {
    expand_by(path, &|_| Some(String::new())).map(drop)
}

fn expand_by(path: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, VariableError> {
    let find = |name: &str| value(name).ok_or_else(|| VariableError::Unset(name.to_owned()));
    let mut rest = path;
    let mut expanded = String::new();
    if path == "~" || path.starts_with("~/") {
        expanded.push_str(&find("HOME")?);
        rest = &path[1..];
    }
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let (name, after) = if let Some(inside) = after.strip_prefix('{') {
            inside.split_once('}').ok_or(VariableError::Unclosed)?
        } else {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len()))
        };
        if name.is_empty() {
            return Err(VariableError::NoName);
        }
        expanded.push_str(&find(name)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_the_home_folder_are_put_in() {
        let value = |name: &str| match name {
            "USER" => Some("me".to_owned()),
            "HOME" => Some("/home/me".to_owned()),
            _ => None,
        };
        let expanded = |path| expand_by(path, &value);
        assert_eq!(expanded("/local/$USER/x").unwrap(), "/local/me/x");
        assert_eq!(expanded("/local/${USER}x").unwrap(), "/local/mex");
        assert_eq!(expanded("~/cache").unwrap(), "/home/me/cache");
        assert_eq!(expanded("/a/~/b").unwrap(), "/a/~/b");
        assert_eq!(expanded("/a/$WORK"), Err(VariableError::Unset("WORK".to_owned())));
        assert_eq!(expanded("/a/$"), Err(VariableError::NoName));
        assert_eq!(expanded("/a/${USER"), Err(VariableError::Unclosed));
    }
}
