//! Memory that threads share while they decode: large pictures wait for their turn, small ones
//! never do.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::numerics::memory;

/// Bytes that may be taken at a time.
pub(super) struct Budget {
    most: u64,
    taken: Mutex<u64>,
    freed: Condvar,
}

impl Budget {
    /// Shares out half of the memory that there is.
    pub(super) fn of_this_machine() -> Self {
        Self::new(memory::available().map_or(u64::MAX, |available| available / 2))
    }

    fn new(most: u64) -> Self {
        Self { most, taken: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until there is room; what is larger than all of it waits until it is alone.
    pub(super) fn take(&self, bytes: u64) -> Share<'_> {
        let has_to_wait = |taken: &mut u64| *taken > 0 && taken.saturating_add(bytes) > self.most;
        let taken = self.freed.wait_while(self.taken(), has_to_wait);
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_add(bytes);
        Share { budget: self, bytes }
    }

    fn taken(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that have been taken, until this goes.
pub(super) struct Share<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut taken = self.budget.taken();
        *taken = taken.saturating_sub(self.bytes);
        drop(taken);
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn threads_never_hold_more_than_there_is_unless_one_alone_does() {
        let budget = Budget::new(100);
        let (held, alone) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for thread in 0..8 {
                let (budget, held, alone) = (&budget, &held, &alone);
                scope.spawn(move || {
                    for round in 0..200 {
                        let bytes = if (thread + round) % 5 == 0 { 300 } else { 40 };
                        let _share = budget.take(bytes);
                        let now = held.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        assert!(now <= 100 || now == 300, "{now}");
                        alone.fetch_add(u64::from(now == 300), Ordering::SeqCst);
                        held.fetch_sub(bytes, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(alone.load(Ordering::SeqCst), 8 * 40);
        assert_eq!(*budget.taken(), 0);
    }
}
