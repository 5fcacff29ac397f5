//! Any text, made fit for XML and HTML.
//!
//! XML has no way to write most control characters, not even escaped: one in a label makes the whole
//! figure unreadable. Each is shown as a character that stands for it.

/// Returns a document in which every character is one that XML allows and that turns no text around.
pub(in crate::report) fn printable(text: String) -> String {
    if text.chars().all(|c| stand_in(c).is_none()) {
        return text;
    }
    text.chars().map(|c| stand_in(c).unwrap_or(c)).collect()
}

/// Returns the character that is shown for one that can't be.
fn stand_in(c: char) -> Option<char> {
    match c {
        '\t' | '\n' | '\r' => None,
        '\0'..='\u{1f}' => char::from_u32('\u{2400}' as u32 + c as u32),
        '\u{7f}' => Some('\u{2421}'),
        '\u{80}'..='\u{9f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fffe}'
        | '\u{ffff}' => Some(char::REPLACEMENT_CHARACTER),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_all_else_stays() {
        let shown = printable("a\u{1b}[1m\u{0}\u{9b}\u{202e}\u{ffff}".to_owned());
        assert_eq!(shown, "a␛[1m␀\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(printable("größe\t±\n".to_owned()), "größe\t±\n");
    }
}
