//! Text of others, made fit to be printed.
//!
//! Captions, file names and what programs say may hold characters that a terminal obeys: to clear it,
//! to rename its window, to show words in another order. Each is shown as a character that stands for
//! it instead.

use std::borrow::Cow;

/// Returns a text in which only newlines and tabs are control characters.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_fine = |c: char| matches!(c, '\n' | '\t') || stand_in(c).is_none();
    if text.chars().all(is_fine) {
        return Cow::Borrowed(text);
    }
    // The line ends of other systems are no more than that.
    let lines = text.replace("\r\n", "\n");
    let shown = |c: char| if is_fine(c) { c } else { stand_in(c).unwrap_or(c) };
    Cow::Owned(lines.chars().map(shown).collect())
}

/// Returns the character that is shown for one that would be obeyed.
fn stand_in(c: char) -> Option<char> {
    match c {
        '\0'..='\u{1f}' => char::from_u32('\u{2400}' as u32 + c as u32),
        '\u{7f}' => Some('\u{2421}'),
        // Control characters of eight bits, and those that turn the direction of text around.
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(char::REPLACEMENT_CHARACTER)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(printable("a\u{1b}[2Jb\u{7}\u{7f}"), "a␛[2Jb␇␡");
        assert_eq!(printable("\u{9b}31m \u{202e}abc\u{2066}"), "\u{fffd}31m \u{fffd}abc\u{fffd}");
        assert_eq!(printable("one\r\ntwo\r"), "one\ntwo␍");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "a\tb\nc", "größe 中文 ± 🙂", "שלום\u{200f}"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
