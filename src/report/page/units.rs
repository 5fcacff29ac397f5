//! Times, dates and sizes for people.

use std::time::Duration;

/// Returns a duration: `0.04 s`, `21 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.2} s") } else { whole_duration(seconds) }
}

/// Returns a duration without fractions.
pub(crate) fn whole_duration(seconds: f64) -> String {
    let whole = Duration::from_secs_f64(seconds.min(1e9)).as_secs();
    match (whole / 3600, whole % 3600 / 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Returns a size in megabytes.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

/// Returns the date and time of a number of seconds since 1970, in UTC.
pub(in crate::report) fn date(seconds: u64) -> String {
    let (year, month, day) = calendar(seconds / 86_400);
    let (hour, minute) = (seconds % 86_400 / 3600, seconds % 3600 / 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Returns the same for programs, by ISO 8601.
pub(in crate::report) fn timestamp(seconds: u64) -> String {
    let (year, month, day) = calendar(seconds / 86_400);
    let (hour, minute, second) = (seconds % 86_400 / 3600, seconds % 3600 / 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}

/// Returns year, month and day of a number of days since 1970.
fn calendar(mut days: u64) -> (u64, usize, u64) {
    let mut year = 1970;
    while days >= days_in_year(year) {
        days -= days_in_year(year);
        year += 1;
    }
    let february = days_in_year(year) - 337;
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

const fn days_in_year(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_827_696), "2000-02-29 12:34 UTC");
        assert_eq!(date(1_709_251_199), "2024-02-29 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
        assert_eq!(timestamp(951_827_696), "2000-02-29T12:34:56+00:00");
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(duration(0.041), "0.04 s");
        assert_eq!(duration(200.4), "3 min 20 s");
        assert_eq!(duration(7501.0), "2 h 5 min");
    }
}
