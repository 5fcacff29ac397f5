//! Printing: to standard output for data, to standard error for people, in color where welcome.
//!
//! Whatever is printed may quote a file, a program or a command line, so control characters in it are
//! made visible. Our own colors are marked by characters that Unicode leaves to programs
//! (noncharacters), and become escape sequences only when all else has been cleaned.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::cli::error::CommandError;
use crate::engine::pipeline::diagnostic::{Diagnostic, Style, draw_warnings};
use crate::engine::pipeline::source::Source;
use crate::engine::system::clock;
use crate::engine::system::printable::printable;

pub(crate) use crate::report::page::units::{duration, whole_duration};

/// Prints a line of data; a closed pipe is not an error.
pub(crate) fn line(text: &str) {
    let _ = writeln!(io::stdout(), "{}", shown(text, style()));
}

/// Prints a value as one line of JSON, which has its own way to write control characters.
pub(crate) fn json(value: &impl Serialize) {
    let text = serde_json::to_string(value).unwrap_or_default();
    let _ = writeln!(io::stdout(), "{text}");
}

/// Prints a line for the person at the terminal.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", shown(text, style()));
}

/// Prints why a command could not do what was asked, and what may help.
pub(crate) fn error(error: &CommandError) {
    match error.drawing(style()) {
        // What it quotes was cleaned before it was colored.
        Some(drawing) => drop(writeln!(io::stderr(), "{drawing}")),
        None => note(&format!("{} {error}", paint(Tone::Bad, "error:"))),
    }
    hints(error);
}

/// Prints an error that does not stop the command, and what may help.
pub(crate) fn warning(error: &CommandError) {
    note(&format!("{} {error}", paint(Tone::Busy, "warning:")));
    hints(error);
}

/// Prints warnings of a pipeline file with their places; what they quote is cleaned as it is drawn.
pub(crate) fn warnings(source: &Source, warnings: &[Diagnostic]) {
    if !warnings.is_empty() {
        let _ = write!(io::stderr(), "{}", draw_warnings(source, warnings, style()));
    }
}

fn hints(error: &CommandError) {
    for hint in error.hints() {
        note(&format!("{} {hint}", paint(Tone::Good, "help:")));
    }
}

/// What a painted word means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    /// Fine.
    Good,
    /// Wrong.
    Bad,
    /// In between.
    Busy,
    /// Of little weight.
    Faint,
}

/// Colors a word, if it is printed where colors are shown.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    let start = match tone {
        Tone::Good => MARKS[0].0,
        Tone::Bad => MARKS[1].0,
        Tone::Busy => MARKS[2].0,
        Tone::Faint => MARKS[3].0,
    };
    format!("{start}{text}{}", MARKS[4].0)
}

/// The marks of [`paint`] in the order of the tones, then the one of the end, with what they become.
const MARKS: [(char, &str); 5] = [
    ('\u{fdd0}', "\u{1b}[32m"),
    ('\u{fdd1}', "\u{1b}[31m"),
    ('\u{fdd2}', "\u{1b}[33m"),
    ('\u{fdd3}', "\u{1b}[2m"),
    ('\u{fdd4}', "\u{1b}[0m"),
];

/// Returns a text as a terminal may get it: control characters made visible, painted words in color.
pub(crate) fn shown(text: &str, style: Style) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match MARKS.iter().find(|(mark, _)| *mark == c) {
            None => shown.push(c),
            Some((_, code)) if style == Style::Colored => shown.push_str(code),
            Some(_) => {}
        }
    }
    shown
}

/// Returns whether standard error shows colors.
pub(crate) fn style() -> Style {
    #[expect(clippy::disallowed_methods, reason = "how output looks, never what it says")]
    let refused = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
    if !refused && io::stderr().is_terminal() { Style::Colored } else { Style::Plain }
}

/// Returns how many columns standard output shows; as many as there may be if it is no terminal.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(usize::MAX)
}

/// Returns a size for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Returns how long ago something ended.
pub(crate) fn age(finished: u64) -> String {
    let seconds = clock::now().saturating_sub(finished);
    match seconds {
        0..120 => "just now".to_owned(),
        120..7200 => format!("{} minutes ago", seconds / 60),
        7200..172_800 => format!("{} hours ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Returns a count with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_colors_survive_and_the_escapes_of_others_do_not() {
        let text = format!("{} \u{1b}[31mnot ours\u{7}", paint(Tone::Good, "ours\u{1b}[2J"));
        let colored = shown(&text, Style::Colored);
        assert_eq!(colored, "\u{1b}[32mours␛[2J\u{1b}[0m ␛[31mnot ours␇");
        assert_eq!(shown(&text, Style::Plain), "ours␛[2J ␛[31mnot ours␇");
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_400_000_000), "1.4 GB");
        assert_eq!(count(1, "stage"), "1 stage");
    }
}
