//! What the machine is, how busy it is, and how much memory a process takes; from `/proc`.

use std::fs;

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
