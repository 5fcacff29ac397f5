//! Printing: to standard output for data, to standard error for people, in color where welcome.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::cli::error::CommandError;
use crate::engine::pipeline::diagnostic::Style;

pub(crate) use crate::report::page::units::{duration, whole_duration};

/// Prints a line of data; a closed pipe is not an error.
pub(crate) fn line(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// Prints a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) {
    line(&serde_json::to_string(value).unwrap_or_default());
}

/// Prints a line for the person at the terminal.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints why a command could not do what was asked, and what may help.
pub(crate) fn error(error: &CommandError) {
    let drawing = error.drawing(style());
    note(&drawing.unwrap_or_else(|| format!("{} {error}", paint(Tone::Bad, "error:"))));
    hints(error);
}

/// Prints an error that does not stop the command, and what may help.
pub(crate) fn warning(error: &CommandError) {
    note(&format!("{} {error}", paint(Tone::Busy, "warning:")));
    hints(error);
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

/// Colors a word if standard error shows colors.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Good => 32,
        Tone::Bad => 31,
        Tone::Busy => 33,
        Tone::Faint => 2,
    };
    match style() {
        Style::Colored => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        Style::Plain => text.to_owned(),
    }
}

/// Returns whether standard error shows colors.
pub(crate) fn style() -> Style {
    #[expect(clippy::disallowed_methods, reason = "how output looks, never what it says")]
    let refused = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
    if !refused && io::stderr().is_terminal() { Style::Colored } else { Style::Plain }
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

/// Returns a count with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_400_000_000), "1.4 GB");
        assert_eq!(count(1, "stage"), "1 stage");
    }
}
