//! The places in a text where something is put in: `Axis(x)`, `Axis(x, y)`, `Shared(x)`, `AtScale(x)`,
//! `{x}`, `{x.y}`.

use super::lexer::{self, Token, TokenKind};
use super::source::{Source, Span};

/// What a call can be of.
const CALLS: [&str; 3] = ["Axis", "Shared", "AtScale"];

/// `Axis(name)`, `Axis(name, field)`, `Shared(name)` or `AtScale(name)`.
pub(super) struct Call<'t> {
    /// `Axis`, `Shared` or `AtScale`.
    pub(super) word: &'t str,
    pub(super) name: Token,
    pub(super) field: Option<Token>,
    /// How many tokens it takes up.
    pub(super) tokens: usize,
}

impl<'t> Call<'t> {
    /// Matches a call at the head of the tokens.
    pub(super) fn at(text: &'t str, tokens: &[Token]) -> Option<Self> {
        let [word, open, name, rest @ ..] = tokens else {
            return None;
        };
        let word = word.text(text);
        let opens = CALLS.contains(&word) && open.is(b'(');
        if !opens || name.kind != TokenKind::Word {
            return None;
        }
        match rest {
            [close, ..] if close.is(b')') => {
                Some(Self { word, name: *name, field: None, tokens: 4 })
            }
            [comma, field, close, ..]
                if word == "Axis"
                    && comma.is(b',')
                    && field.kind == TokenKind::Word
                    && close.is(b')') =>
            {
                Some(Self { word, name: *name, field: Some(*field), tokens: 6 })
            }
            _ => None,
        }
    }
}

/// Matches a call at the head of the tokens whose name is in quotes; returns its word and the name.
pub(super) fn quoted_call<'t>(text: &'t str, tokens: &[Token]) -> Option<(&'t str, Token)> {
    let [word, open, name, ..] = tokens else {
        return None;
    };
    let word = word.text(text);
    let is_call = CALLS.contains(&word) && open.is(b'(') && name.kind == TokenKind::Text;
    is_call.then_some((word, *name))
}

/// `{axis}` or `{axis.field}` in a string.
pub(super) struct Label {
    pub(super) axis: usize,
    /// Where the field stands.
    pub(super) field: Option<Span>,
    /// With its braces.
    pub(super) at: Span,
}

/// Returns the placeholders inside a string literal; `axis` finds an axis by its name, and other braces
/// are the user's own.
pub(super) fn labels(
    axis: impl Fn(&str) -> Option<usize>,
    text: &str,
    literal: Span,
) -> Vec<Label> {
    let mut found = Vec::new();
    let mut from = literal.start;
    // From the closing brace back: of `{{{x}` only the innermost can be one.
    while let Some(close) = text[from..literal.end].find('}').map(|n| from + n) {
        if let Some(open) = text[from..close].rfind('{').map(|n| from + n) {
            let inside = &text[open + 1..close];
            let at = Span::new(open, close + 1);
            if let Some(axis) = axis(inside) {
                found.push(Label { axis, field: None, at });
            } else if let Some((name, field)) = inside.rsplit_once('.')
                && let Some(axis) = axis(name)
            {
                let field = Some(Span::new(close - field.len(), close));
                found.push(Label { axis, field, at });
            }
        }
        from = close + 1;
    }
    found
}

/// Returns the fields of a value such as `(a: 1, b: 2)`.
pub(crate) fn fields(source: &Source, span: Span) -> impl Iterator<Item = lexer::Field> {
    let tokens = lexer::tokens(source.slice(span));
    let own = lexer::fields(&tokens).into_iter().filter(|field| field.depth == 1);
    let absolute = move |inner: Span| Span::new(span.start + inner.start, span.start + inner.end);
    own.map(move |field| lexer::Field {
        name: absolute(field.name),
        value: absolute(field.value),
        ..field
    })
}
