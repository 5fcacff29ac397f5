//! What the text of a cell means: a number, a gap, a date.

/// Words that stand for a missing number, in lower case.
const GAPS: [&str; 11] = ["", "na", "n/a", "nan", "null", "none", "<na>", "#n/a", "?", "-", "."];

/// English months, by their first letters.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns whether a cell stands for a missing value.
pub(super) fn is_gap(text: &str) -> bool {
    GAPS.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Reads a cell as a number with this decimal mark.
pub(super) fn number(text: &str, decimal: char) -> Option<f64> {
    let text = text.trim();
    if decimal == '.' {
        return text.parse().ok();
    }
    // A point here could only group digits, or be another mark: better no number than a wrong one.
    if text.contains('.') { None } else { text.replacen(decimal, ".", 1).parse().ok() }
}

/// Returns whether the digits of a cell may be grouped by commas, as in `1,234`.
pub(super) fn may_be_grouped(text: &str) -> bool {
    let mut groups = text.trim().trim_start_matches(['-', '+']).split(',');
    let is_number = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let is_first =
        |group: &str| (1..=3).contains(&group.len()) && !group.starts_with('0') && is_number(group);
    groups.next().is_some_and(is_first) && groups.all(|group| group.len() == 3 && is_number(group))
}

/// Returns whether a cell holds true or false.
pub(super) fn is_boolean(text: &str) -> bool {
    ["true", "false"].contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Returns whether a cell holds a date, a time, or both.
pub(super) fn is_date(text: &str) -> bool {
    let text = text.trim();
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    let is_year = |part: &str| part.len() == 4 && is_digits(part);
    let is_short = |part: &str| (1..=2).contains(&part.len()) && is_digits(part);
    let is_month = |part: &str| {
        let start = part.get(..3).unwrap_or_default().to_ascii_lowercase();
        part.len() >= 3 && MONTHS.contains(&start.as_str())
    };
    for mark in ['-', '/', '.'] {
        if let [first, second, third] = day.split(mark).collect::<Vec<_>>()[..] {
            let starts = is_year(first) && is_short(third);
            let ends = is_short(first) && (is_year(third) || third.len() == 2 && is_short(third));
            return (starts || ends) && (is_short(second) || is_month(second));
        }
    }
    is_time(day)
}

/// Returns whether a number is a date without marks, as in 20240301.
pub(super) fn is_compact_date(value: f64) -> bool {
    let (year, month, day) =
        ((value / 1e4).floor(), (value / 100.0).floor() % 100.0, value % 100.0);
    value.fract() == 0.0
        && (1900.0..=2100.0).contains(&year)
        && (1.0..=12.0).contains(&month)
        && (1.0..=31.0).contains(&day)
}

/// Returns whether a text is a time of day.
fn is_time(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let is_part = |part: &&str| (1..=2).contains(&part.len()) && is_digits(part);
    match parts[..] {
        [hours, minutes] => [hours, minutes].iter().all(is_part),
        [hours, minutes, seconds] => {
            let whole = seconds.split('.').next().unwrap_or_default();
            [hours, minutes, whole].iter().all(is_part)
        }
        _ => false,
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_decimal_mark_alone() {
        assert_eq!(number(" 3.5 ", '.').unwrap(), 3.5);
        assert_eq!(number("-3,5e2", ',').unwrap(), -350.0);
        assert_eq!(number("7", ',').unwrap(), 7.0);
        for (text, decimal) in [("3,5", '.'), ("3.5", ','), ("1.234,5", ','), ("1,2,3", ',')] {
            assert_eq!(number(text, decimal), None, "{text}");
        }
    }

    #[test]
    fn dates_and_times_are_told_from_numbers_and_text() {
        for date in [
            "2024-03-01",
            "2024-03-01T08:00:00Z",
            "2024-03-01 08:00:00+00:00",
            "01.03.2024",
            "3/1/24",
            "1-Mar-2024",
            "08:00",
            "8:00:01.5",
        ] {
            assert!(is_date(date), "{date}");
        }
        for other in ["1.2.3", "3.14", "1:2:3:4", "a-b-c", "2024", "12-34", "x", "-1"] {
            assert!(!is_date(other), "{other}");
        }
        assert!(is_compact_date(20_240_301.0) && !is_compact_date(20_241_301.0));
    }

    #[test]
    fn digits_in_groups_of_three_may_be_thousands() {
        for text in ["1,234", "-12,345,678", "1,000"] {
            assert!(may_be_grouped(text), "{text}");
        }
        for text in ["0,123", "1,23", "1234,567", "12,3456", ",123"] {
            assert!(!may_be_grouped(text), "{text}");
        }
    }
}
