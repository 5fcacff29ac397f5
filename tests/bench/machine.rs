//! What the machine is, how busy it is, how much memory a process takes (from `/proc`), and how many
//! operations it can do at most.

use std::fs;
use std::time::Instant;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// Returns one line about the machine.
pub(crate) fn description() -> String {
    let cpu = field("/proc/cpuinfo", "model name").map_or("unknown processor".to_owned(), |text| {
        text.trim_start_matches(':').trim().to_owned()
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let gigabytes = kilobytes("/proc/meminfo", "MemTotal:") / 1024.0 / 1024.0;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("unknown");
    let simd = if is_wide() { " with AVX-512" } else { "" };
    format!("{cpu}{simd}, {cores} cores, {gigabytes:.0} GiB, load average at the start {load}")
}

/// Returns a number that Linux keeps of this process's memory, in MB.
pub(crate) fn memory_mb(name: &str) -> f64 {
    kilobytes("/proc/self/status", name) * 1024.0 / 1e6
}

fn is_wide() -> bool {
    field("/proc/cpuinfo", "flags").is_some_and(|flags| flags.contains(" avx512f"))
}

fn kilobytes(file: &str, name: &str) -> f64 {
    let number = field(file, name).and_then(|text| text.trim_end_matches("kB").trim().parse().ok());
    number.unwrap_or(f64::NAN)
}

/// Returns the rest of the first line that starts with a name.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned())
}

/// Measures how many billion operations with single-precision numbers all cores do in a second, when
/// they do nothing but multiply and add in registers.
pub(crate) fn peak_giga_operations() -> f64 {
    const TRIES: usize = 5;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let once = || {
        let start = Instant::now();
        let done: f64 = (0..cores).into_par_iter().map(|_| Arch::new().dispatch(Chains)).sum();
        done / 1e9 / start.elapsed().as_secs_f64()
    };
    (0..TRIES).map(|_| once()).fold(0.0, f64::max)
}

/// Sums that don't wait for each other; returns how many operations they took.
struct Chains;

impl WithSimd for Chains {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        // Enough to keep the units busy while each waits for its own last result.
        const SUMS: usize = 12;
        const ROUNDS: usize = 5_000_000;
        let factor = simd.splat_f32s(std::hint::black_box(0.999));
        let mut sums = [simd.splat_f32s(std::hint::black_box(1.0)); SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, factor, factor);
            }
        }
        std::hint::black_box(sums.map(|sum| simd.reduce_sum_f32s(sum)));
        (2 * ROUNDS * SUMS * S::F32_LANES) as f64
    }
}
