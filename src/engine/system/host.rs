//! What the machine is, as far as it tells: for the records of runs, never for keys.

use std::sync::LazyLock;
use std::{fs, thread};

/// Asked once: to answer, files of the system are read.
static CORES: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

/// Returns what the system calls the processor; empty if it doesn't tell.
pub(crate) fn processor() -> String {
    fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model_name(&text)).unwrap_or_default()
}

/// Returns the name of the machine.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns how many processor cores this process may use.
pub fn cores() -> usize {
    *CORES
}

/// Returns the environment that a process computes in with so many threads.
///
/// Allocators give a large block back to the system soon after it is free, and a training asks for the
/// next one at once: clearing it took half of libtorch's time (which uses the system's allocator) and a
/// tenth of ours (mimalloc). With these settings a process keeps its blocks.
pub fn worker_variables(threads: usize) -> [(&'static str, String); 4] {
    const LARGEST_KEPT: u64 = 1 << 30;
    const MOST_KEPT: u64 = 1 << 36;
    const NEVER_GIVEN_BACK: &str = "-1";
    [
        ("RAYON_NUM_THREADS", threads.to_string()),
        ("MALLOC_MMAP_THRESHOLD_", LARGEST_KEPT.to_string()),
        ("MALLOC_TRIM_THRESHOLD_", MOST_KEPT.to_string()),
        ("MIMALLOC_PURGE_DELAY", NEVER_GIVEN_BACK.to_owned()),
    ]
}

/// Finds the first processor's name in the system's own list.
fn model_name(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(':')?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_as_the_system_names_it() {
        let text = "processor\t: 0\nmodel name\t: Some  Processor @ 2.0GHz\nmodel name\t: other\n";
        assert_eq!(model_name(text).unwrap(), "Some Processor @ 2.0GHz");
        assert_eq!(model_name("processor\t: 0\n"), None);
    }
}
