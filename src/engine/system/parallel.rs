//! The same small work for many items, on several cores.

use std::sync::LazyLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::host;

/// Items that are worth a thread of their own.
const SHARE: usize = 64;

/// Items that a thread takes at least at once: to take one costs something, too.
const HANDFUL: usize = 8;

/// Threads that are worth their start: most of the work is over in milliseconds.
const MOST_THREADS: usize = 8;

/// Started when first needed; without it everything is done on the thread that asks.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    ThreadPoolBuilder::new().num_threads(host::cores().min(MOST_THREADS)).build().ok()
});

/// Returns the pool if so many items are worth it.
fn pool_for(items: usize) -> Option<&'static ThreadPool> {
    if items < 2 * SHARE || host::cores() == 1 { None } else { POOL.as_ref() }
}

/// Maps items, in their order.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    match pool_for(items.len()) {
        Some(pool) => pool.install(|| items.par_iter().with_min_len(HANDFUL).map(&work).collect()),
        None => items.iter().map(work).collect(),
    }
}

/// Works on this thread while others help with what it hands out, `items` of it; then helps, too.
pub(crate) fn with_help<R>(items: usize, own: impl FnOnce() -> R, help: impl Fn() + Sync) -> R {
    let Some(pool) = pool_for(items) else {
        let done = own();
        help();
        return done;
    };
    pool.in_place_scope(|scope| {
        for _ in 1..pool.current_num_threads().min(items / SHARE) {
            scope.spawn(|_| help());
        }
        let done = own();
        help();
        done
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::{map, with_help};

    #[test]
    fn results_stand_in_the_order_of_their_items() {
        for count in [0, 1, 63, 64, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| 2 * item).collect();
            assert_eq!(map(&items, |item| 2 * item), doubled);
        }
    }

    #[test]
    fn everything_that_is_handed_out_is_done() {
        for count in [0, 1, 1000] {
            let (sender, receiver) = mpsc::channel();
            let (waiting, done) = (Mutex::new(receiver), Mutex::new(Vec::new()));
            let own = move || (0..count).for_each(|item: usize| sender.send(item).unwrap());
            with_help(count, own, || {
                while let Ok(item) = waiting.lock().unwrap().recv() {
                    done.lock().unwrap().push(item);
                }
            });
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert!(done.into_iter().eq(0..count));
        }
    }
}
