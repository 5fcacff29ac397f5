//! The same small work for many items, on all cores.

use std::thread;

use super::host;

/// Items that are worth a thread of their own.
const SHARE: usize = 64;

/// Maps items, in their order.
pub(super) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = host::cores().min(items.len() / SHARE);
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    thread::scope(|scope| {
        let work = &work;
        let shares: Vec<_> = items
            .chunks(items.len().div_ceil(threads))
            .map(|share| scope.spawn(move || share.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let done = shares.into_iter().flat_map(|share| match share.join() {
            Ok(results) => results,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.collect()
    })
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
