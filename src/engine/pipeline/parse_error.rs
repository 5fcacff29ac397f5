//! Turns an error of RON's parser into a diagnostic in our own voice.

use ron::error::{Error, SpannedError};

use super::diagnostic::Diagnostic;
use super::lexer::{self, Token, TokenKind};
use super::source::{Span, offset_of};

/// Returns the bytes of `text` that a parse error is about.
pub fn place(text: &str, error: &SpannedError) -> Span {
    let start = offset_of(text, error.span.start.line, error.span.start.col);
    let end = offset_of(text, error.span.end.line, error.span.end.col);
    let (start, end) = (start.min(text.len()), end.min(text.len()));
    let span = trimmed(text, Span::new(start, end.max(start)));
    if !matches!(error.code, Error::IntegerOutOfBounds | Error::InvalidValueForType { .. }) {
        return span;
    }
    // These point behind the value or at its last character: take the whole of it.
    token_at(text, span).map_or(span, |token| token.span)
}

/// Returns the value that a place is in or touches, if there is one.
fn token_at(text: &str, place: Span) -> Option<Token> {
    let tokens = lexer::tokens(text);
    let holds = |token: &&Token| token.span.start <= place.start && place.start <= token.span.end;
    let value = |token: &&Token| !matches!(token.kind, TokenKind::Mark(_));
    tokens.iter().filter(value).find(holds).copied()
}

/// Explains a value that the parser stopped in the middle of.
fn expected_comma(text: &str, error: &SpannedError, locate: impl Fn(Span) -> Span) -> Diagnostic {
    let at = place(text, error);
    if let Some(found) = token_at(text, at).filter(|token| token.span.start < at.start) {
        let word = found.text(text);
        if word.parse::<f64>().is_ok() {
            let message = format!("expected a whole number, found `{word}`");
            return Diagnostic::new(locate(found.span), message);
        }
        if word.contains('-') {
            return Diagnostic::new(locate(found.span), format!("`{word}` is not a value"))
                .help(format!("put names in quotes: `\"{word}\"`"));
        }
    }
    Diagnostic::new(locate(at), "expected a comma").help("separate values and fields with `,`")
}

/// Explains a parse error of `text`; `locate` maps a span of `text` to one of the pipeline file.
pub fn explain(
    text: &str,
    error: &SpannedError,
    what: &str,
    locate: impl Fn(Span) -> Span,
) -> Diagnostic {
    let at = locate(place(text, error));
    let inside = |outer: &Option<String>| {
        outer.as_ref().map_or_else(|| what.to_owned(), |name| format!("`{name}`"))
    };
    let wanted = |what: &str| match token_at(text, place(text, error)) {
        Some(found) => {
            let message = format!("expected {what}, found `{}`", found.text(text));
            Diagnostic::new(locate(found.span), message)
        }
        None => Diagnostic::new(at, format!("expected {what}")),
    };
    match &error.code {
        Error::NoSuchStructField { expected, found, outer } => {
            Diagnostic::new(at, format!("{} has no field `{found}`", inside(outer)))
                .label("unknown field")
                .suggest(found, expected)
        }
        Error::NoSuchEnumVariant { expected, found, outer } => {
            let group = outer.as_ref().map_or_else(|| what.to_owned(), |name| words(name));
            Diagnostic::new(at, format!("`{found}` is not a known {group}"))
                .label("unknown name")
                .suggest(found, expected)
        }
        Error::MissingStructField { field, outer } => {
            Diagnostic::new(at, format!("{} is missing the field `{field}`", inside(outer)))
                .label("add it before this")
                .help(format!("add `{field}: ..`"))
        }
        Error::DuplicateStructField { field, outer } => {
            Diagnostic::new(at, format!("{} has the field `{field}` twice", inside(outer)))
                .help("delete one of them")
        }
        Error::InvalidValueForType { expected, found } => {
            Diagnostic::new(at, format!("expected {}, found {}", plain(expected), plain(found)))
        }
        Error::IntegerOutOfBounds => Diagnostic::new(at, "this whole number is out of range here")
            .help("counts, sizes and seeds are not negative"),
        Error::ExpectedComma => expected_comma(text, error, &locate),
        Error::UnexpectedChar('#') => {
            Diagnostic::new(at, "unexpected `#`").help("comments start with `//`")
        }
        Error::ExpectedNamedStructLike("Each") => {
            Diagnostic::new(at, "expected a family of stages").help("write `Each(\"name-{axis}\")`")
        }
        Error::ExpectedNamedStructLike("Pipeline") => {
            Diagnostic::new(at, "expected `Pipeline(..)`")
                .help("a pipeline file is `Pipeline(name: \"..\", stages: { .. })`")
        }
        Error::ExpectedInteger => wanted("a whole number"),
        Error::ExpectedFloat => wanted("a number"),
        Error::ExpectedBoolean => wanted("`true` or `false`"),
        Error::ExpectedString => wanted("a string in quotes"),
        Error::ExpectedChar => wanted("one character in single quotes, such as `';'`"),
        Error::ExpectedIdentifier => wanted("a name without quotes, such as `Train`"),
        Error::InvalidIdentifier(_) | Error::SuggestRawIdentifier(_) => {
            wanted("a name").help("fields are named: `Resize(size: 32)`, not `Resize(32)`")
        }
        Error::ExpectedStructLike => {
            wanted("`(`").help("write the settings in parentheses, even if empty: `Mnist()`")
        }
        Error::ExpectedArray => wanted("a list in `[ ]`"),
        Error::ExpectedMap => wanted("a map in `{ }`"),
        Error::ExpectedDifferentLength { expected, found } => {
            let expected = expected.replace("tuple variant ", "").replace("::", " ");
            Diagnostic::new(at, format!("expected {expected}, found {found}"))
        }
        Error::ExceededRecursionLimit => {
            Diagnostic::new(at, "brackets are nested too deeply").help("flatten this value")
        }
        Error::Eof => {
            Diagnostic::new(at, "unexpected end of file").help("close every bracket and quote")
        }
        other => Diagnostic::new(at, lower_first(&other.to_string())),
    }
}

/// Puts the parser's words for numbers into the user's.
fn plain(words: &str) -> String {
    words
        .replace("a nonzero usize", "a whole number of at least 1")
        .replace("the unsigned integer ", "")
        .replace("the signed integer ", "")
        .replace("the floating point number ", "")
}

/// Turns a type's name into words: `AnyStage` is a stage kind, `ModelSpec` a model.
fn words(type_name: &str) -> String {
    if type_name == "AnyStage" || type_name == "Stage" {
        return "stage kind".to_owned();
    }
    let name = type_name.strip_suffix("Spec").unwrap_or(type_name);
    let mut text = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Cuts white space off a span, keeping at least one byte where there is one.
fn trimmed(text: &str, span: Span) -> Span {
    let slice = &text[span.range()];
    let inner = slice.trim();
    if inner.is_empty() {
        // Nothing there: the next sign after white space, if any, is what the parser stumbled on.
        let rest = &text[span.start..];
        let start = span.start + (rest.len() - rest.trim_start().len());
        let length = text[start..].chars().next().map_or(0, char::len_utf8);
        return Span::new(start, start + length);
    }
    let lead = slice.len() - slice.trim_start().len();
    Span::new(span.start + lead, span.start + lead + inner.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_read_as_words() {
        assert_eq!(words("AnyStage"), "stage kind");
        assert_eq!(words("EstimatorSpec"), "estimator");
        assert_eq!(words("DataSource"), "data source");
    }
}
