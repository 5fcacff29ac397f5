//! Each item's small version against plain loops: a ratio of times, never a time.

use std::time::Instant;

use crate::item::Item;

/// How far results may be apart, in parts of the number itself.
const TOLERANCE: f64 = 1e-5;

/// Fails if an item is less than its floor faster than plain loops, or has another result.
pub(crate) fn check(items: &[Box<dyn Item>], rounds: u32) -> Result<(), String> {
    let mut failures = Vec::new();
    for item in items {
        let Some(guard) = item.guard() else {
            continue;
        };
        let mut ratios = Vec::new();
        for _ in 0..rounds {
            let (found, ours) = timed(&guard.ours);
            let (expected, naive) = timed(&guard.naive);
            if !agree(&found, &expected) {
                failures.push(format!("`{}` has another result than plain loops", item.name()));
                break;
            }
            ratios.push(naive / ours);
        }
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios.get(ratios.len() / 2).copied().unwrap_or_default();
        println!("{:<20}{ratio:>7.1}x as fast as plain loops; floor {}x", item.name(), guard.floor);
        if ratio < guard.floor {
            failures.push(format!(
                "`{}` is {ratio:.1}x as fast as plain loops in the same process, below its floor \
                 of {}x: it became slower",
                item.name(),
                guard.floor
            ));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn timed(work: &dyn Fn() -> Vec<f64>) -> (Vec<f64>, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

fn agree(found: &[f64], expected: &[f64]) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * b.abs();
    found.len() == expected.len() && found.iter().zip(expected).all(near)
}
