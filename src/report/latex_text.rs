//! Any text, made safe for LaTeX.
//!
//! Names, captions and notes are plain text that a person wrote, in any script. Here it becomes
//! LaTeX that compiles with every engine, font encoding and input encoding: specials are escaped,
//! letters with accents and well-known symbols become commands, and what the standard fonts lack
//! is told by its number (`[U+4E2D]`) rather than left to break the document.

use std::fmt::Write as _;

/// A long word may be broken after this many characters.
const LONGEST_WORD: usize = 24;

/// Makes any text safe to set in LaTeX: specials escaped, known symbols as math.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        push_escaped(&mut escaped, c);
    }
    escaped
}

/// Makes a text safe that has long names in it, which may be broken between lines.
pub(in crate::report) fn escape_breakable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut since_break = 0;
    for c in text.chars() {
        push_escaped(&mut escaped, c);
        since_break = if c == ' ' { 0 } else { since_break + 1 };
        if matches!(c, '-' | '_' | '/' | '=' | ',' | '.') || since_break >= LONGEST_WORD {
            escaped.push_str(r"\allowbreak{}");
            since_break = 0;
        }
    }
    escaped
}

/// Returns a text in ASCII, for listings and names.
pub(in crate::report) fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' | '\n' => plain.push(c),
            '\t' => plain.push_str("    "),
            '–' | '—' | '−' => plain.push('-'),
            '±' => plain.push_str("+-"),
            '²' => plain.push_str("^2"),
            '³' => plain.push_str("^3"),
            '×' => plain.push('x'),
            '≤' => plain.push_str("<="),
            '≥' => plain.push_str(">="),
            '→' => plain.push_str("->"),
            '‘' | '’' => plain.push('\''),
            '“' | '”' => plain.push('"'),
            c if c.is_control() || c.is_whitespace() => plain.push(' '),
            c => match (accented(c), math_command(c)) {
                (Some((_, base)), _) => plain.push(base),
                (None, Some(command)) => plain.push_str(command),
                (None, None) => push_number(&mut plain, c),
            },
        }
    }
    plain
}

fn push_escaped(escaped: &mut String, c: char) {
    match c {
        '\\' => escaped.push_str(r"\textbackslash{}"),
        '~' => escaped.push_str(r"\textasciitilde{}"),
        '^' => escaped.push_str(r"\textasciicircum{}"),
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
            escaped.push('\\');
            escaped.push(c);
        }
        // In LaTeX's default font encoding these three would print as other glyphs.
        '<' => escaped.push_str(r"\textless{}"),
        '>' => escaped.push_str(r"\textgreater{}"),
        '|' => escaped.push_str(r"\textbar{}"),
        // Two of these in a row would become one longer dash or a quotation mark.
        '-' | '\'' | '`' if escaped.ends_with(c) => {
            escaped.push_str("{}");
            escaped.push(c);
        }
        '–' => escaped.push_str("--"),
        '−' => escaped.push_str("$-$"),
        '—' => escaped.push_str("---"),
        '‘' => escaped.push_str("`{}"),
        '’' => escaped.push_str("'{}"),
        '²' => escaped.push_str(r"\textsuperscript{2}"),
        '³' => escaped.push_str(r"\textsuperscript{3}"),
        '“' => escaped.push_str("``{}"),
        '”' => escaped.push_str("''{}"),
        '…' => escaped.push_str(r"\ldots{}"),
        '†' => escaped.push_str(r"\dag{}"),
        '‡' => escaped.push_str(r"\ddag{}"),
        '§' => escaped.push_str(r"\S{}"),
        '¶' => escaped.push_str(r"\P{}"),
        'ß' => escaped.push_str(r"\ss{}"),
        'æ' => escaped.push_str(r"\ae{}"),
        'Æ' => escaped.push_str(r"\AE{}"),
        'ø' => escaped.push_str(r"\o{}"),
        'Ø' => escaped.push_str(r"\O{}"),
        'å' => escaped.push_str(r"\aa{}"),
        'Å' => escaped.push_str(r"\AA{}"),
        'ł' => escaped.push_str(r"\l{}"),
        'Ł' => escaped.push_str(r"\L{}"),
        ' '..='~' => escaped.push(c),
        c if c.is_control() || c.is_whitespace() => escaped.push(' '),
        c => match (accented(c), math_command(c)) {
            (Some((accent, base)), _) => {
                let _ = write!(escaped, r"\{accent}{{{base}}}");
            }
            (None, Some(command)) => {
                let _ = write!(escaped, r"$\{command}$");
            }
            (None, None) => push_number(escaped, c),
        },
    }
}

fn push_number(text: &mut String, c: char) {
    let _ = write!(text, "[U+{:04X}]", u32::from(c));
}

/// Returns the accent command of a letter and the letter below it.
fn accented(c: char) -> Option<(char, char)> {
    const LETTERS: [(char, &str, &str); 8] = [
        ('`', "ÀÈÌÒÙàèìòù", "AEIOUaeiou"),
        ('\'', "ÁÉÍÓÚÝáéíóúýĆćŃńŚśŹź", "AEIOUYaeiouyCcNnSsZz"),
        ('^', "ÂÊÎÔÛâêîôû", "AEIOUaeiou"),
        ('"', "ÄËÏÖÜäëïöüÿ", "AEIOUaeiouy"),
        ('~', "ÃÑÕãñõ", "ANOano"),
        ('c', "ÇçŞş", "CcSs"),
        ('v', "ČčŠšŽžŘřĚěŇňĎĽ", "CcSsZzRrEeNnDL"),
        ('H', "ŐőŰű", "OoUu"),
    ];
    LETTERS.iter().find_map(|(accent, letters, bases)| {
        let at = letters.chars().position(|letter| letter == c)?;
        Some((*accent, bases.chars().nth(at)?))
    })
}

const fn math_command(symbol: char) -> Option<&'static str> {
    Some(match symbol {
        '±' => "pm",
        '×' => "times",
        '·' => "cdot",
        '≤' => "leq",
        '≥' => "geq",
        '≠' => "neq",
        '≈' => "approx",
        '∞' => "infty",
        '→' => "to",
        '←' => "leftarrow",
        '↑' => "uparrow",
        '↓' => "downarrow",
        '√' => "surd",
        '∈' => "in",
        '‖' => "parallel",
        'Δ' => "Delta",
        'Σ' => "Sigma",
        'Φ' => "Phi",
        'Ω' => "Omega",
        'α' => "alpha",
        'β' => "beta",
        'γ' => "gamma",
        'δ' => "delta",
        'ε' => "varepsilon",
        'ζ' => "zeta",
        'η' => "eta",
        'θ' => "theta",
        'κ' => "kappa",
        'λ' => "lambda",
        'μ' | 'µ' => "mu",
        'ν' => "nu",
        'ξ' => "xi",
        'π' => "pi",
        'ρ' => "rho",
        'σ' => "sigma",
        'τ' => "tau",
        'φ' => "varphi",
        'χ' => "chi",
        'ψ' => "psi",
        'ω' => "omega",
        'ℓ' => "ell",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn every_special_character_is_escaped() {
        assert_eq!(
            escape(r"50% of $x_1 & {y}# a~b^c \d <|> τ ± –"),
            concat!(
                r"50\% of \$x\_1 \& \{y\}\# a\textasciitilde{}b\textasciicircum{}c ",
                r"\textbackslash{}d \textless{}\textbar{}\textgreater{} $\tau$ $\pm$ --"
            )
        );
    }

    #[test]
    fn letters_with_accents_are_kept_and_unknown_ones_are_told() {
        assert_eq!(escape("Hölder é 中"), r#"H\"{o}lder \'{e} [U+4E2D]"#);
        assert_eq!(ascii("Hölder τ ≤ 中\t|"), "Holder tau <= [U+4E2D]    |");
    }

    #[test]
    fn options_of_programs_keep_their_two_dashes() {
        assert_eq!(escape("--jobs ''x''"), "-{}-jobs '{}'x'{}'");
    }

    #[test]
    fn a_long_name_may_be_broken_between_lines() {
        assert_eq!(escape_breakable("a-b_c"), r"a-\allowbreak{}b\_\allowbreak{}c");
        let long = escape_breakable(&"x".repeat(50));
        assert_eq!(long.matches("allowbreak").count(), 2);
    }

    /// Removes everything `escape` may produce for a special character or symbol.
    fn without_escapes(escaped: &str) -> String {
        let words = ["textbackslash", "textasciitilde", "textasciicircum", "ldots", "ss", "ae"];
        let words = words.into_iter().chain(["textless", "textgreater", "textbar"]);
        let words = words.chain(["AE", "o", "O", "aa", "AA", "l", "L", "dag", "ddag", "S", "P"]);
        let mut rest =
            words.fold(escaped.to_owned(), |rest, word| rest.replace(&format!("\\{word}{{}}"), ""));
        for symbol in ('\u{80}'..'\u{3000}').filter(|c| math_command(*c).is_some()) {
            rest = rest.replace(&format!("$\\{}$", math_command(symbol).unwrap()), "");
        }
        for (accent, base) in ('\u{80}'..'\u{3000}').filter_map(accented) {
            rest = rest.replace(&format!("\\{accent}{{{base}}}"), "");
        }
        for digit in ["2", "3"] {
            rest = rest.replace(&format!("\\textsuperscript{{{digit}}}"), "");
        }
        for special in ["&", "%", "$", "#", "_", "{", "}"] {
            rest = rest.replace(&format!("\\{special}"), "");
        }
        rest.replace("$-$", "").replace("{}", "")
    }

    proptest! {
        #[test]
        fn no_text_leaves_a_special_character_unescaped(text in any::<String>()) {
            let rest = without_escapes(&escape(&text));
            assert!(!rest.contains(['\\', '{', '}', '$', '&', '#', '^', '_', '~', '%']), "{rest}");
            assert!(rest.is_ascii() && !rest.contains(char::is_control), "{rest}");
        }

        #[test]
        fn dense_special_characters_are_escaped_too(text in r"[\\{}$&#^_~%a<|>±τ]{0,24}") {
            let rest = without_escapes(&escape(&text));
            assert!(rest.chars().all(|c| c == 'a'), "{rest}");
        }

        #[test]
        fn a_listing_is_ascii_and_keeps_its_lines(text in any::<String>()) {
            let plain = ascii(&text);
            assert!(plain.chars().all(|c| matches!(c, ' '..='~' | '\n')), "{plain}");
            assert_eq!(plain.matches('\n').count(), text.matches('\n').count());
        }
    }
}
