//! Splits RON text into tokens with their places.
//!
//! It serves what RON's own parser can't: replacing `Axis(..)` before the typed parse, and finding
//! a field's place after it. It judges nothing; whether the text is valid RON is the parser's word.

use super::source::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier, a number or any other run of plain characters.
    Word,
    /// A string literal, quotes included.
    Text,
    /// One of `( ) [ ] { } , :`.
    Mark(u8),
}

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

impl Token {
    /// Returns the token's text.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        &source[self.span.range()]
    }

    /// Returns whether the token is this mark.
    pub fn is(&self, mark: u8) -> bool {
        self.kind == TokenKind::Mark(mark)
    }

    /// Returns whether the token opens a bracket.
    pub fn opens(&self) -> bool {
        self.is(b'(') || self.is(b'[') || self.is(b'{')
    }

    /// Returns whether the token closes a bracket.
    pub fn closes(&self) -> bool {
        self.is(b')') || self.is(b']') || self.is(b'}')
    }
}

/// Returns the tokens of a text; comments and white space are left out.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                at = comment_end(bytes, at);
                continue;
            }
            mark @ (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b':') => {
                at += 1;
                TokenKind::Mark(mark)
            }
            b'"' => {
                at = quoted_end(bytes, at);
                TokenKind::Text
            }
            b'r' if raw_string_end(bytes, at).is_some() => {
                at = raw_string_end(bytes, at).unwrap_or(bytes.len());
                TokenKind::Text
            }
            _ => {
                at = word_end(bytes, at);
                TokenKind::Word
            }
        };
        found.push(Token { kind, span: Span::new(start, at) });
    }
    found
}

fn comment_end(bytes: &[u8], start: usize) -> usize {
    if bytes[start + 1] == b'/' {
        return bytes[start..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| start + n);
    }
    // Block comments nest in RON.
    let (mut depth, mut at) = (0_usize, start);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn raw_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let hashes = bytes[start + 1..].iter().take_while(|&&b| b == b'#').count();
    let open = start + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    let found = bytes[open + 1..].windows(close.len()).position(|window| window == close);
    Some(found.map_or(bytes.len(), |n| open + 1 + n + close.len()))
}

fn word_end(bytes: &[u8], start: usize) -> usize {
    if bytes[start] == b'\'' {
        // A character literal may hold a mark or a quote.
        let close = start + if bytes.get(start + 1) == Some(&b'\\') { 3 } else { 2 };
        if bytes.get(close) == Some(&b'\'') {
            return close + 1;
        }
    }
    bytes[start + 1..]
        .iter()
        .position(|b| b.is_ascii_whitespace() || b"()[]{},:\"/".contains(b))
        .map_or(bytes.len(), |n| start + 1 + n)
}

/// Returns the place where brackets nest deeper than `limit`, if they do.
pub fn too_deep(tokens: &[Token], limit: usize) -> Option<Span> {
    let mut depth = 0_usize;
    for token in tokens {
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth = depth.saturating_sub(1);
        }
        if depth > limit {
            return Some(token.span);
        }
    }
    None
}

/// A `name: value` pair somewhere in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: Span,
    /// The value, without the comma behind it.
    pub value: Span,
    /// How many brackets surround it.
    pub depth: usize,
}

/// Returns every `name: value` pair of a text, outer ones before the ones inside them.
pub fn fields(tokens: &[Token]) -> Vec<Field> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth = depth.saturating_sub(1);
        } else if token.is(b':') && at > 0 && at + 1 < tokens.len() {
            let end = value_end(tokens, at + 1);
            let value = Span::new(tokens[at + 1].span.start, end);
            found.push(Field { name: tokens[at - 1].span, value, depth });
        }
    }
    found
}

fn value_end(tokens: &[Token], first: usize) -> usize {
    let mut depth = 0_usize;
    let mut end = tokens[first].span.start;
    for token in &tokens[first..] {
        if depth == 0 && (token.is(b',') || token.closes()) {
            break;
        }
        if token.opens() {
            depth += 1;
        } else if token.closes() {
            depth -= 1;
        }
        end = token.span.end;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| token.text(text)).collect()
    }

    #[test]
    fn comments_and_strings_hide_their_marks() {
        let text = "A(b: \"x,)\\\"\", /* ( /* nested */ */ c: r#\"a\"b\"#) // tail (";
        assert_eq!(
            words(text),
            ["A", "(", "b", ":", "\"x,)\\\"\"", ",", "c", ":", "r#\"a\"b\"#", ")"]
        );
    }

    #[test]
    fn fields_know_their_value_and_depth() {
        let text = "A(b: C(d: 1), e: [2, 3])";
        let found = fields(&tokens(text));
        let seen: Vec<_> = found
            .iter()
            .map(|f| (&text[f.name.range()], &text[f.value.range()], f.depth))
            .collect();
        assert_eq!(seen, [("b", "C(d: 1)", 1), ("d", "1", 2), ("e", "[2, 3]", 1)]);
    }

    #[test]
    fn unfinished_text_ends_quietly() {
        for text in ["\"open", "r#\"open", "/* open", "A(b:", "'", "r", "((((", "/"] {
            let _ = fields(&tokens(text));
        }
    }

    #[test]
    fn depth_beyond_the_limit_has_a_place() {
        assert_eq!(too_deep(&tokens("[[[]]]"), 3), None);
        assert_eq!(too_deep(&tokens("[[[]]]"), 2), Some(Span::new(2, 3)));
    }
}
