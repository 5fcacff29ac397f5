//! Durations and sizes as they are written in a site file: `"1d12h"`, `"512MB"`.

use std::fmt::Write as _;
use std::time::Duration;

use super::problem::Problem;

/// Sixty seconds.
pub const MINUTE: Duration = Duration::from_mins(1);
/// Sixty minutes.
pub const HOUR: Duration = Duration::from_hours(1);
/// 10^9 bytes.
pub const GIGABYTE: u64 = 1_000_000_000;

/// Units of time from large to small, in milliseconds.
const TIMES: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

/// Units of size from large to small; those of powers of two after those of ten.
const SIZES: [(&str, u64); 9] = [
    ("TB", 1_000_000_000_000),
    ("GB", GIGABYTE),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// Reads a duration such as `90s`, `2min`, `24h`, `2d` or `1d12h`.
pub fn duration(text: &str) -> Result<Duration, Problem> {
    let wrong = |message: String, help: &str| Err(Problem::new(message, help));
    if text.contains(':') || text.trim().split_once('-').is_some_and(|(days, _)| is_count(days)) {
        let message = format!("`{text}` is a time of Slurm");
        return wrong(message, "write it with units: `24:00:00` is `24h`, `1-12:00:00` is `1d12h`");
    }
    let mut total = 0.0;
    let mut smallest = u64::MAX;
    for (number, unit) in parts(text, "duration", "90s")? {
        let Some((_, factor)) = TIMES.iter().find(|(name, _)| *name == unit) else {
            let message = format!("`{unit}` is not a unit of time");
            return wrong(
                message,
                match unit {
                    "m" | "M" => "minutes are `min`; the others are `ms`, `s`, `h` and `d`",
                    _ => "units are `ms`, `s`, `min`, `h` and `d`",
                },
            );
        };
        if *factor >= smallest {
            let message =
                format!("`{text}` has its units in the wrong order, or one of them twice");
            return wrong(message, "write each unit once, from large to small: `1d12h30min`");
        }
        smallest = *factor;
        total += number * *factor as f64;
    }
    if total > LONGEST {
        return wrong(format!("`{text}` is too long"), "a duration has at most 10000 days");
    }
    Ok(Duration::from_millis(total.round() as u64))
}

/// Milliseconds of the longest duration.
const LONGEST: f64 = 86_400_000.0 * 10_000.0;

/// Reads a size such as `4GB`, `512MB`, `1.5TB` or `16GiB`, in bytes.
pub fn size(text: &str) -> Result<u64, Problem> {
    let parts = parts(text, "size", "4GB")?;
    let [(number, unit)] = parts[..] else {
        let message = format!("`{text}` has several units");
        return Err(Problem::new(message, "write one of them: `1.5TB`"));
    };
    let known = SIZES.iter().find(|(name, _)| *name == unit || (unit, *name) == ("KB", "kB"));
    let Some((_, factor)) = known else {
        let message = format!("`{unit}` is not a unit of size");
        let letter = unit.trim_end_matches(['B', 'b', 'i']).to_uppercase();
        let help = if ["K", "M", "G", "T"].contains(&letter.as_str()) {
            format!(
                "write `{}B`, or `{letter}iB` for powers of 1024",
                if letter == "K" { "k" } else { &letter }
            )
        } else {
            "units are `kB`, `MB`, `GB` and `TB`, and `KiB` to `TiB` for powers of 1024".to_owned()
        };
        return Err(Problem::new(message, help));
    };
    let bytes = (number * *factor as f64).round();
    if bytes > LARGEST {
        let message = format!("`{text}` is too large");
        return Err(Problem::new(message, "a size has at most 1000000TB"));
    }
    Ok(bytes as u64)
}

/// Bytes of the largest size.
const LARGEST: f64 = 1e18;

/// Splits a text into numbers and their units.
fn parts<'a>(text: &'a str, what: &str, example: &str) -> Result<Vec<(f64, &'a str)>, Problem> {
    let wrong = |message: String, help: String| Err(Problem::new(message, help));
    let mut found = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return wrong(format!("a {what} is missing"), format!("write `{example}`"));
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let Ok(number) = number.parse::<f64>() else {
            let message = format!("`{text}` is not a {what}");
            return wrong(message, format!("write a number and a unit: `{example}`"));
        };
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        if unit.is_empty() {
            let message = format!("`{text}` has no unit");
            return wrong(message, format!("write a number and a unit: `{example}`"));
        }
        found.push((number, unit));
        rest = after.trim_start();
    }
    Ok(found)
}

fn is_count(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a duration as it is written in a site file.
pub fn duration_text(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, factor) in TIMES {
        if rest >= factor {
            let _ = write!(text, "{}{unit}", rest / factor);
            rest %= factor;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Returns a size as it is written in a site file: in the unit that needs the fewest digits.
pub fn size_text(bytes: u64) -> String {
    let exact =
        SIZES.iter().filter(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    match exact.min_by_key(|(_, factor)| (bytes / factor).to_string().len()) {
        Some((unit, factor)) if bytes / factor < 100_000 => format!("{}{unit}", bytes / factor),
        _ => {
            let largest = SIZES.iter().take(4).find(|(_, factor)| bytes >= *factor);
            let (unit, factor) = largest.copied().unwrap_or(("B", 1));
            format!("{:.1}{unit}", bytes as f64 / factor as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_alike() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("2min", 120.0),
            ("24h", 86_400.0),
            ("2d", 172_800.0),
            ("1d12h", 129_600.0),
            ("1 d 12 h", 129_600.0),
            ("1.5h", 5400.0),
            ("300ms", 0.3),
            ("0s", 0.0),
        ] {
            let read = duration(text).unwrap();
            assert_eq!(read, Duration::from_secs_f64(seconds), "{text}");
            assert_eq!(duration(&duration_text(read)), Ok(read), "{text}");
        }
        assert_eq!(duration_text(Duration::from_hours(36)), "1d12h");
        assert_eq!(duration_text(Duration::from_secs(90)), "1min30s");
    }

    #[test]
    fn what_is_no_duration_is_told_what_to_write() {
        for (text, message, help) in [
            ("90", "`90` has no unit", "write a number and a unit: `90s`"),
            ("", "a duration is missing", "write `90s`"),
            ("5m", "`m` is not a unit of time", "minutes are `min`"),
            ("2 weeks", "`weeks` is not a unit of time", "units are"),
            ("24:00:00", "`24:00:00` is a time of Slurm", "`24:00:00` is `24h`"),
            ("1-12", "`1-12` is a time of Slurm", "with units"),
            ("12h1d", "`12h1d` has its units in the wrong order", "from large to small"),
            ("1h1h", "`1h1h` has its units in the wrong order, or one", "once"),
            ("soon", "`soon` is not a duration", "write a number and a unit"),
            ("-5s", "`-5s` is not a duration", "write a number and a unit"),
            ("1e9d", "`e` is not a unit of time", "units are"),
            ("99999d", "`99999d` is too long", "at most"),
        ] {
            let wrong = duration(text).unwrap_err();
            assert!(wrong.message.starts_with(message), "{text}: {wrong:?}");
            assert!(wrong.help.contains(help), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn sizes_are_read_and_written_alike() {
        for (text, bytes) in [
            ("4GB", 4_000_000_000),
            ("512MB", 512_000_000),
            ("1.5TB", 1_500_000_000_000),
            ("16GiB", 16 << 30),
            ("100 kB", 100_000),
            ("100KB", 100_000),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
            assert_eq!(size(&size_text(bytes)), Ok(bytes), "{text}");
        }
        assert_eq!(size_text(4_000_000_000), "4GB");
        assert_eq!(size_text(16 << 30), "16GiB");
        assert_eq!(size_text(1_500_000_000_000), "1500GB");
        assert_eq!(size_text(1_234_567_891), "1.2GB");
    }

    #[test]
    fn what_is_no_size_is_told_what_to_write() {
        for (text, message, help) in [
            ("4", "`4` has no unit", "write a number and a unit: `4GB`"),
            ("4G", "`G` is not a unit of size", "write `GB`, or `GiB`"),
            ("4gb", "`gb` is not a unit of size", "write `GB`, or `GiB`"),
            ("4k", "`k` is not a unit of size", "write `kB`, or `KiB`"),
            ("4h", "`h` is not a unit of size", "units are"),
            ("1GB500MB", "`1GB500MB` has several units", "1.5TB"),
            ("much", "`much` is not a size", "`4GB`"),
        ] {
            let wrong = size(text).unwrap_err();
            assert!(wrong.message.starts_with(message), "{text}: {wrong:?}");
            assert!(wrong.help.contains(help), "{text}: {wrong:?}");
        }
    }
}
