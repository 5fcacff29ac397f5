//! Numbers and lists as sentences write them.

use super::evidence::Interval;

/// Whether a verb is of one or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Singular,
    Plural,
}

impl Verb {
    /// Returns the number of so many subjects.
    pub(super) const fn of(subjects: usize) -> Self {
        if subjects == 1 { Self::Singular } else { Self::Plural }
    }

    /// Returns the form of a regular verb.
    pub(super) fn form(self, infinitive: &str) -> String {
        match self {
            Self::Singular => format!("{infinitive}s"),
            Self::Plural => infinitive.to_owned(),
        }
    }
}

/// Joins names: `A, B and C`.
pub(super) fn list<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// Writes a dimension with one decimal, which whole numbers don't need.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Writes a count of samples.
pub(super) fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<&str> = Vec::new();
    if first > 0 {
        groups.push(&digits[..first]);
    }
    let rest = digits.as_bytes()[first..].chunks(3);
    groups.extend(rest.filter_map(|group| std::str::from_utf8(group).ok()));
    groups.join(",")
}

/// Writes an interval.
pub(super) fn interval_text(interval: &Interval) -> String {
    match interval.high {
        Some(high) if number(high) == number(interval.low) => number(high),
        Some(high) => format!("{} to {}", number(interval.low), number(high)),
        None => format!("at least {}", number(interval.low)),
    }
}

/// Writes the counts of several runs.
pub(super) fn count_range(counts: &[f64]) -> String {
    let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
    let most = counts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least < most { format!("{} to {}", number(least), number(most)) } else { number(least) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_read_well() {
        assert_eq!(list(&["A", "B", "C"]), "A, B and C");
        assert_eq!(list(&["A"]), "A");
        assert_eq!(
            (number(4.04), number(3.96), number(4.26)),
            ("4".into(), "4".into(), "4.3".into())
        );
        assert_eq!((thousands(999), thousands(100_000)), ("999".into(), "100,000".into()));
        assert_eq!(count_range(&[4.0, 4.0]), "4");
        assert_eq!(count_range(&[6.0, 4.0]), "4 to 6");
        assert_eq!(interval_text(&Interval { low: 7.25, high: None }), "at least 7.2");
        assert_eq!(interval_text(&Interval { low: 4.0, high: Some(4.0) }), "4");
        assert_eq!(Verb::of(1).form("agree"), "agrees");
    }
}
