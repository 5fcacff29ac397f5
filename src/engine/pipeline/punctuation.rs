//! Mistakes of typing that the parser would explain by what it missed next: quotes of a word processor,
//! `=` for `:`, braces for parentheses, and brackets that do not match.

use super::diagnostic::Diagnostic;
use super::lexer::{Token, TokenKind};
use super::source::{Source, Span};

/// Returns the mistakes of typing in a file, in its order.
pub(super) fn mistakes(source: &Source, tokens: &[Token]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    found.extend(typographic_quotes(source, tokens));
    found.extend(equal_signs(source, tokens));
    found.extend(other_brackets(source, tokens));
    if found.is_empty() {
        found.extend(unmatched(source, tokens));
    }
    found
}

/// Returns the words of a file, without single characters in quotes.
fn words<'a>(source: &'a Source, tokens: &'a [Token]) -> impl Iterator<Item = (Span, &'a str)> {
    let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    let words = words.map(|token| (token.span, token.text(source.text())));
    words.filter(|(_, word)| !word.starts_with('\''))
}

/// Explains the quotes that word processors and chat programs put in place of straight ones, once for all
/// of them.
fn typographic_quotes(source: &Source, tokens: &[Token]) -> Option<Diagnostic> {
    const QUOTES: [char; 8] = ['“', '”', '„', '«', '»', '‘', '’', '″'];
    let places = words(source, tokens).flat_map(|(span, word)| {
        let quotes = word.match_indices(QUOTES);
        quotes.map(move |(at, quote)| {
            let start = span.start + at;
            (Span::new(start, start + quote.len()), quote)
        })
    });
    let places: Vec<_> = places.collect();
    let (&(first, quote), others) = places.split_first()?;
    let mut mistake = Diagnostic::new(first, format!("`{quote}` is not a quotation mark here"))
        .help("use straight quotation marks: `\"name\"`");
    mistake.context = others.iter().map(|(at, _)| (*at, String::new())).collect();
    Some(mistake)
}

/// Explains every `name = value`.
fn equal_signs(source: &Source, tokens: &[Token]) -> Vec<Diagnostic> {
    let signs = words(source, tokens).filter_map(|(span, word)| {
        let start = span.start + word.find('=')?;
        Some(Span::new(start, start + 1))
    });
    let explain = |at| {
        Diagnostic::new(at, "expected `:`, found `=`").help("fields are written `name: value`")
    };
    signs.map(explain).collect()
}

/// Explains every `Name{..}` and `Name[..]`.
fn other_brackets(source: &Source, tokens: &[Token]) -> Vec<Diagnostic> {
    let pairs = tokens.windows(2).filter_map(|pair| {
        let [word, open] = pair else {
            return None;
        };
        let name = word.text(source.text());
        let is_name = word.kind == TokenKind::Word && name.starts_with(char::is_uppercase);
        (is_name && (open.is(b'{') || open.is(b'['))).then_some((name, open.span))
    });
    let explain = |(name, at): (&str, Span)| {
        let found = source.slice(at);
        Diagnostic::new(at, format!("expected `(` after `{name}`, found `{found}`"))
            .help(format!("settings are written in parentheses: `{name}(..)`"))
    };
    pairs.map(explain).collect()
}

/// How far brackets match.
enum Match {
    /// All of them do.
    Whole,
    /// This one closes something else than what is open, or nothing.
    Wrong { token: usize, open: Vec<usize> },
    /// The file ends before these are closed.
    Unclosed(Vec<usize>),
}

/// Follows brackets from a token on, where some are open already.
fn follow(tokens: &[Token], from: usize, mut open: Vec<usize>) -> Match {
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if token.opens() {
            open.push(at);
        } else if token.closes() {
            match open.last() {
                Some(&last) if is_pair(tokens[last], *token) => drop(open.pop()),
                _ => return Match::Wrong { token: at, open },
            }
        }
    }
    if open.is_empty() { Match::Whole } else { Match::Unclosed(open) }
}

fn is_pair(open: Token, close: Token) -> bool {
    [(b'(', b')'), (b'[', b']'), (b'{', b'}')].iter().any(|(a, b)| open.is(*a) && close.is(*b))
}

/// Explains the first bracket that does not match.
fn unmatched(source: &Source, tokens: &[Token]) -> Option<Diagnostic> {
    let text = |at: usize| tokens[at].text(source.text());
    let span = |at: usize| tokens[at].span;
    match follow(tokens, 0, Vec::new()) {
        Match::Whole => None,
        Match::Unclosed(open) => {
            let last = *open.last()?;
            let message = format!("this `{}` is not closed", text(last));
            let end = tokens.last()?.span;
            Some(
                Diagnostic::new(span(last), message)
                    .context(end, "the file ends here")
                    .help("close every bracket and quote"),
            )
        }
        Match::Wrong { token, open } => {
            let Some(&last) = open.last() else {
                let message = format!("this `{}` closes nothing", text(token));
                return Some(Diagnostic::new(span(token), message).help("delete it"));
            };
            let (wrong, opened) = (text(token), text(last));
            // Either this one is too many, or one was forgotten before it: whichever mends the rest.
            let without = matches!(follow(tokens, token + 1, open.clone()), Match::Whole);
            let closed = open.iter().rposition(|&at| is_pair(tokens[at], tokens[token]));
            let with = closed.is_some_and(|at| {
                matches!(follow(tokens, token + 1, open[..at].to_vec()), Match::Whole)
            });
            Some(if with && !without {
                Diagnostic::new(span(last), format!("this `{opened}` is not closed"))
                    .context(span(token), format!("before this `{wrong}`"))
                    .help(format!("add `{}`", counterpart(opened)))
            } else {
                Diagnostic::new(span(token), format!("this `{wrong}` closes nothing"))
                    .context(span(last), format!("`{opened}` is open here"))
                    .help(format!("delete it, or close the `{opened}` first"))
            })
        }
    }
}

fn counterpart(open: &str) -> &'static str {
    match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pipeline::lexer;

    fn found(text: &str) -> Vec<(String, usize)> {
        let source = Source::new("p.ron", text);
        let mistakes = mistakes(&source, &lexer::tokens(text)).into_iter();
        mistakes.map(|mistake| (mistake.message, mistake.at.start)).collect()
    }

    fn one(message: &str, at: usize) -> Vec<(String, usize)> {
        vec![(message.to_owned(), at)]
    }

    #[test]
    fn brackets_that_do_not_match_are_found_where_they_are_wrong() {
        assert_eq!(found("P(a: [1, 2], b: {\"c\": D()})"), []);
        assert_eq!(found("P(a: {\"b\": C())})"), one("this `)` closes nothing", 14));
        assert_eq!(found("P(a: 1))"), one("this `)` closes nothing", 7));
        assert_eq!(found("P(a: {\"b\": C(d: [1)})"), one("this `[` is not closed", 16));
        assert_eq!(found("P(a: {\"b\": C(d: 1})"), one("this `(` is not closed", 12));
        assert_eq!(found("P(a: {"), one("this `{` is not closed", 5));
    }

    #[test]
    fn what_is_in_quotes_or_comments_is_left_alone() {
        assert_eq!(found("P(a: \"x = “y” B{\", b: '=', c: '”') // ) = “"), []);
        assert_eq!(found("P(a = 1)"), one("expected `:`, found `=`", 4));
        assert_eq!(found("P(a: B{c: 1})"), one("expected `(` after `B`, found `{`", 6));
        assert_eq!(found("P(a: “b”)"), one("`“` is not a quotation mark here", 5));
    }
}
