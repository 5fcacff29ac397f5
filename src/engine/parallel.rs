//! The same small work for many items, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use super::host;

/// Items that are worth a thread of their own.
const SHARE: usize = 64;

/// Items that a thread takes at once: some are much more work than others.
const HANDFUL: usize = 16;

/// Returns how many threads so many items are worth.
pub(super) fn threads_for(items: usize) -> usize {
    host::cores().min(items / SHARE).max(1)
}

/// Maps items, in their order.
pub(super) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = threads_for(items.len());
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        items.chunks(HANDFUL).nth(at).map(|taken| (at, taken))
    };
    let share = || {
        let mut done = Vec::new();
        while let Some((at, taken)) = take() {
            done.push((at, taken.iter().map(&work).collect::<Vec<R>>()));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(share)).collect();
        let mut done = share();
        done.extend(others.into_iter().flat_map(joined));
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    let mut all = Vec::with_capacity(items.len());
    all.extend(done.into_iter().flat_map(|(_, done)| done));
    all
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
