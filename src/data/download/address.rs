//! Where a mirror is: an address on the web or a file, and where a redirect of one leads.
//!
//! Only `http:`, `https:` and `file:` are known. A redirect can reach the first two alone, so no
//! server can make this program read a file of the machine it runs on.

use std::path::PathBuf;

use ureq::http::Uri;

use super::pin::hex_value;

/// A mirror that can be asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Address {
    /// An address that starts with `http:` or `https:`.
    Web(Uri),
    /// A file of this machine.
    File(PathBuf),
}

impl Address {
    /// Reads a mirror, or says in one line why it is none.
    pub(super) fn parse(mirror: &str) -> Result<Self, String> {
        let wrong = |reason: &str| format!("mirror `{mirror}`: {reason}");
        match scheme(mirror).map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest)) {
            Some((scheme, _)) if scheme == "http" || scheme == "https" => web(mirror)
                .map(Self::Web)
                .ok_or_else(|| wrong("expected a URL such as `https://host/path`")),
            Some((scheme, rest)) if scheme == "file" => file(rest)
                .map(Self::File)
                .ok_or_else(|| wrong("expected an absolute path such as `file:///folder/name`")),
            Some((scheme, _)) => {
                Err(wrong(&format!("expected `https:`, `http:` or `file:`, found `{scheme}:`")))
            }
            None => Err(wrong("expected `https:`, `http:` or `file:` at its start")),
        }
    }

    /// Tells whether the path ends in `.gz`, whatever the query says.
    pub(super) fn is_packed(&self) -> bool {
        match self {
            Self::Web(address) => has_gzip_ending(address.path()),
            Self::File(path) => path.to_str().is_some_and(has_gzip_ending),
        }
    }
}

/// Tells whether a name says that the file is gzipped.
pub(super) fn has_gzip_ending(name: &str) -> bool {
    name.len() >= 3 && name.as_bytes()[name.len() - 3..].eq_ignore_ascii_case(b".gz")
}

/// Returns where a redirect leads, or why it is not followed.
pub(super) fn redirected(from: &Uri, location: &str) -> Result<Uri, String> {
    let location = location.split('#').next().unwrap_or_default();
    let wrong = || format!("redirects to `{location}`, which is not a valid URL");
    if let Some((scheme, _)) = scheme(location) {
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(format!("redirects to `{scheme}:`, only http and https are followed"));
        }
        return web(location).ok_or_else(wrong);
    }
    let scheme = from.scheme_str().unwrap_or("http");
    let host = from.authority().map_or("", |authority| authority.as_str());
    let target = if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{host}{}", without_dots(location))
    } else if location.is_empty() || location.starts_with('?') {
        format!("{scheme}://{host}{}{location}", from.path())
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{host}{}", without_dots(&format!("{folder}/{location}")))
    };
    web(&target).ok_or_else(wrong)
}

/// Splits `scheme:rest`.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut characters = scheme.chars();
    let plausible = characters.next()?.is_ascii_alphabetic()
        && characters
            .all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    plausible.then_some((scheme, rest))
}

/// Reads an absolute address with a host.
fn web(text: &str) -> Option<Uri> {
    let text = text.split('#').next()?;
    let address = text.parse::<Uri>().ok()?;
    let has_host = address.host().is_some_and(|host| !host.is_empty());
    (has_host && address.scheme().is_some()).then_some(address)
}

/// Reads what follows `file:`: an absolute path, with or without an empty host before it.
fn file(rest: &str) -> Option<PathBuf> {
    let path = match rest.strip_prefix("//") {
        Some(after) => after.strip_prefix("localhost").unwrap_or(after),
        None => rest,
    };
    let path = PathBuf::from(String::from_utf8(percent_decoded(path)?).ok()?);
    (path.is_absolute() && !path.as_os_str().as_encoded_bytes().contains(&0)).then_some(path)
}

/// Replaces every `%20` and its like by the byte that it stands for.
fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex_value(bytes.next()?)? * 16 + hex_value(bytes.next()?)?,
            byte => byte,
        });
    }
    Some(decoded)
}

/// Follows `.` and `..` in a path; a query stays as it is.
fn without_dots(path: &str) -> String {
    let (path, query) = match path.find('?') {
        Some(start) => path.split_at(start),
        None => (path, ""),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_base(location: &str) -> Result<String, String> {
        let base = "https://host:81/data/set/a.gz?key=1".parse().unwrap();
        redirected(&base, location).map(|address| address.to_string())
    }

    #[test]
    fn redirects_are_resolved_against_the_address_that_sent_them() {
        let cases = [
            ("http://other/b", "http://other/b"),
            ("HTTPS://other/b#part", "https://other/b"),
            ("//other/b", "https://other/b"),
            ("/b?x=/../y", "https://host:81/b?x=/../y"),
            ("b", "https://host:81/data/set/b"),
            ("./b", "https://host:81/data/set/b"),
            ("../../../b/./c/..", "https://host:81/b/"),
            ("?key=2", "https://host:81/data/set/a.gz?key=2"),
        ];
        for (location, expected) in cases {
            assert_eq!(from_base(location).as_deref(), Ok(expected), "{location}");
        }
    }

    #[test]
    fn a_redirect_never_leaves_the_web() {
        for location in ["file:///etc/passwd", "FILE:/etc/passwd", "ftp://h/a", "data:,x"] {
            let error = from_base(location).unwrap_err();
            assert!(error.contains("only http and https are followed"), "{error}");
        }
        assert!(from_base("http://").unwrap_err().contains("is not a valid URL"));
    }

    #[test]
    fn file_addresses_are_absolute_paths_of_this_machine() {
        for text in ["file:/a b/c", "file:///a%20b/c", "file://localhost/a b/c", "FILE:/a b/c"] {
            let parsed = Address::parse(text);
            assert_eq!(parsed, Ok(Address::File(PathBuf::from("/a b/c"))), "{text}");
        }
        for text in ["file:a", "file://host/a", "file:", "file:/a%0", "file:/a%00", "file:/%ff"] {
            assert!(Address::parse(text).is_err(), "{text} is accepted");
        }
    }

    #[test]
    fn other_addresses_are_named_with_what_was_expected() {
        let error = Address::parse("ftp://h/a").unwrap_err();
        assert!(error.ends_with("expected `https:`, `http:` or `file:`, found `ftp:`"), "{error}");
        for text in ["", "host/a", "https:", "http://", "https:///a", "http://a b/c", "1http://a"] {
            assert!(Address::parse(text).is_err(), "{text} is accepted");
        }
    }

    #[test]
    fn packing_is_told_by_the_path_alone() {
        for (text, packed) in [
            ("https://h/a.gz", true),
            ("https://h/a.GZ?download=1", true),
            ("https://h/a?name=b.gz", false),
            ("file:/a.gz", true),
            ("file:/gz", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_packed(), packed, "{text}");
        }
    }
}
