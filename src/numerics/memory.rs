//! The memory that is left: asked before a file or a table is held, not found out after.
//!
//! Sizes in headers are claims. A claim that does not fit into memory is refused with its size;
//! one that does fit still takes memory only as fast as values arrive.

use std::collections::TryReserveError;
use std::fs;

use thiserror::Error;

/// So much is taken without asking.
const HARMLESS: u64 = 64 << 20;

/// What a list of values is given at first, in bytes.
const FIRST: usize = 16 << 20;

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
    check((count as u64).saturating_mul(size_of::<T>() as u64))
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

/// Makes room for the next values of a list that is said to become `total` long. Room doubles up to
/// exactly that, so that it follows what has arrived and is never copied at a larger size than
/// the finished list.
pub fn grow<T>(values: &mut Vec<T>, more: usize, total: usize) -> Result<(), TryReserveError> {
    let needed = values.len().saturating_add(more);
    if needed <= values.capacity() {
        return Ok(());
    }
    let least = needed.max(FIRST / size_of::<T>().max(1)).max(1);
    let mut room = total;
    while room / 2 >= least {
        room = room.div_ceil(2);
    }
    values.try_reserve_exact(room.max(needed) - values.len())
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
    fn room_follows_what_has_arrived_and_ends_at_the_total() {
        let mut claimed: Vec<u64> = Vec::new();
        grow(&mut claimed, 10, 1 << 50).unwrap();
        assert!(claimed.capacity() * 8 <= 2 * FIRST, "{}", claimed.capacity());
        let total = 5 * FIRST + 3;
        let mut bytes: Vec<u8> = Vec::new();
        let mut rooms = Vec::new();
        while bytes.len() < total {
            let more = (total - bytes.len()).min(FIRST / 3);
            grow(&mut bytes, more, total).unwrap();
            bytes.resize(bytes.len() + more, 1);
            rooms.push(bytes.capacity());
        }
        rooms.dedup();
        assert_eq!(bytes.capacity(), total);
        assert!(rooms.windows(2).all(|pair| pair[1] <= 2 * pair[0]), "{rooms:?}");
    }
}
