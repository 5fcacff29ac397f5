//! The same small work for many items, on all cores.

use std::thread::{self, ScopedJoinHandle};

use super::host;

/// Items that are worth a thread of their own.
const SHARE: usize = 64;

/// Returns how many threads so many items are worth.
pub(super) fn threads_for(items: usize) -> usize {
    host::cores().min(items / SHARE).max(1)
}

/// Maps items, in their order.
pub(super) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let share = items.len().div_ceil(threads_for(items.len()));
    let (own, others) = items.split_at(share.min(items.len()));
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = others
            .chunks(share.max(1))
            .map(|share| scope.spawn(move || share.iter().map(work).collect::<Vec<R>>()))
            .collect();
        // This thread has memory at hand, which a new one has to get first.
        let mut done: Vec<R> = own.iter().map(work).collect();
        done.extend(others.into_iter().flat_map(joined));
        done
    })
}

/// Waits for a thread; its panic goes on here.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_stand_in_the_order_of_their_items() {
        for count in [0, 1, 63, 64, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| 2 * item).collect();
            assert_eq!(map(&items, |item| 2 * item), doubled);
        }
    }
}
