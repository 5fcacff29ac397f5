//! Whether a table of distances fits into memory: told before hours are spent on it, not after.

use std::fs;

use super::GeometryError;

/// Refuses a table between so many points if the system says that it has no room for it.
pub(super) fn check_table(points: usize) -> Result<(), GeometryError> {
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    available.map_or(Ok(()), |available| check(points, available))
}

fn check(points: usize, available: u64) -> Result<(), GeometryError> {
    let needed = (points as u64).saturating_mul(points as u64).saturating_mul(4);
    if needed > available {
        return Err(GeometryError::TooLarge { points, needed, available });
    }
    Ok(())
}

/// Returns the bytes that Linux says new programs could use.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_does_not_fit_is_refused_with_its_size() {
        assert_eq!(check(10_000, 400_000_000), Ok(()));
        assert_eq!(
            check(64_512, 8_000_000_000).unwrap_err().to_string(),
            "distances between 64512 points take 16.6 GB, but 8.0 GB of memory is available: \
             use `anchors`, or fewer of them"
        );
        assert!(check(usize::MAX, u64::MAX - 1).is_err());
    }

    #[test]
    fn what_linux_tells_of_its_memory_is_understood() {
        let text = "MemTotal:       24689516 kB\nMemFree:  5 kB\nMemAvailable:   21000000 kB\n";
        assert_eq!(available(text), Some(21_504_000_000));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
