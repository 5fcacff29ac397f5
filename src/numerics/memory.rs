//! The memory that is left: asked before a file or a table is held, not found out after.
//!
//! Sizes in headers are claims. A claim that does not fit into memory is refused with its size; one
//! that does fit still takes memory only as fast as values arrive.

use std::fs;

use thiserror::Error;

/// So much is taken without asking.
const HARMLESS: u64 = 64 << 20;

/// Says that something does not fit into the memory that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "would take {:.1} GB of memory, but only {:.1} GB is available",
    gigabytes(*needed), gigabytes(*available)
)]
pub struct TooLarge {
    /// Bytes that it would take.
    pub needed: u64,
    /// Bytes that can be had.
    pub available: u64,
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// Refuses to take so many bytes if the system says that it does not have them.
pub fn check(needed: u64) -> Result<(), TooLarge> {
    #[cfg(test)]
    if let Some(available) = pretended::available() {
        return compare(needed, available);
    }
    if needed <= HARMLESS {
        return Ok(());
    }
    available().map_or(Ok(()), |available| compare(needed, available))
}

/// Refuses to hold so many values of a type if the system says that it has no room for them.
pub fn check_values<T>(count: usize) -> Result<(), TooLarge> {
    check(bytes_of::<T>(count))
}

const fn bytes_of<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

/// Returns the bytes that can be had, where the system tells.
pub fn available() -> Option<u64> {
    #[cfg(test)]
    if let Some(available) = pretended::available() {
        return Some(available);
    }
    fs::read_to_string("/proc/meminfo").ok().and_then(|text| told(&text))
}

/// Refuses what is larger than what there is.
const fn compare(needed: u64, available: u64) -> Result<(), TooLarge> {
    if needed > available { Err(TooLarge { needed, available }) } else { Ok(()) }
}

/// Returns the bytes that Linux says new programs could use.
fn told(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Makes room for so many values, if the system says that it has it. Memory is taken only as values
/// arrive, so that a claim takes none by itself; and it is never copied, as a list that grows is.
pub fn room_for<T>(count: usize) -> Result<Vec<T>, TooLarge> {
    check_values::<T>(count)?;
    let mut values = Vec::new();
    let needed = bytes_of::<T>(count);
    // Refused all the same: the process itself is limited.
    values.try_reserve_exact(count).map_err(|_| TooLarge { needed, available: 0 })?;
    Ok(values)
}

/// Another amount of memory than there is, for tests.
#[cfg(test)]
pub(crate) mod pretended {
    use std::cell::Cell;

    thread_local! {
        static AVAILABLE: Cell<Option<u64>> = const { Cell::new(None) };
    }

    pub(super) fn available() -> Option<u64> {
        AVAILABLE.get()
    }

    /// Runs something on this thread as if there were so many bytes of memory.
    pub(crate) fn with_available<R>(bytes: u64, run: impl FnOnce() -> R) -> R {
        let before = AVAILABLE.replace(Some(bytes));
        let result = run();
        AVAILABLE.set(before);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::pretended::with_available;
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_its_size_and_what_there_is() {
        let refused = compare(8_000_000_000, 3_200_000_000).unwrap_err().to_string();
        assert_eq!(refused, "would take 8.0 GB of memory, but only 3.2 GB is available");
        assert_eq!(compare(5, 5), Ok(()));
        assert!(check(u64::MAX).is_err(), "no system has so much");
        assert!(check_values::<u64>(usize::MAX).is_err());
        assert_eq!(check(HARMLESS), Ok(()));
    }

    #[test]
    fn what_linux_tells_of_its_memory_is_understood() {
        let text = "MemTotal:       24689516 kB\nMemFree:  5 kB\nMemAvailable:   21000000 kB\n";
        assert_eq!(told(text), Some(21_504_000_000));
        assert_eq!(told("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn room_is_made_for_exactly_what_is_to_come_or_not_at_all() {
        let values: Vec<u64> = with_available(80, || room_for(10)).unwrap();
        assert_eq!((values.len(), values.capacity()), (0, 10));
        let refused = with_available(79, || room_for::<u64>(10));
        assert_eq!(refused, Err(TooLarge { needed: 80, available: 79 }));
        let absurd = with_available(u64::MAX, || room_for::<u64>(usize::MAX));
        assert_eq!(absurd, Err(TooLarge { needed: u64::MAX, available: 0 }));
    }
}
