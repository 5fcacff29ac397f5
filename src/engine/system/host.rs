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

/// Returns the class of the processor: its architecture, and the level of its vector instructions, by which
/// numeric code chooses how it adds up.
pub fn processor_class() -> String {
    let architecture = std::env::consts::ARCH;
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let wide = has!("avx512f") && has!("avx512bw") && has!("avx512cd") && has!("avx512dq");
        let level = match () {
            () if wide && has!("avx512vl") => 4,
            () if has!("avx2") && has!("fma") && has!("bmi2") => 3,
            () => 2,
        };
        format!("{architecture}-v{level}")
    }
    #[cfg(not(target_arch = "x86_64"))]
    architecture.to_owned()
}

/// Returns the name of the machine.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the names by which this machine may be known, its own first: the system may call it `login1`
/// where people write `login1.lab.example`, or the other way around.
pub fn names() -> Vec<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    names_of(&name(), &read("/etc/resolv.conf"), &read("/etc/hosts"))
}

/// Returns a host's name, the one without its domain, and those with a domain that the system knows.
fn names_of(name: &str, resolver: &str, hosts: &str) -> Vec<String> {
    let short = name.split('.').next().unwrap_or(name);
    let mut names = vec![name.to_owned(), short.to_owned()];
    let code = |line: &str| line.split('#').next().unwrap_or_default().to_owned();
    for line in resolver.lines().map(code) {
        let mut words = line.split_whitespace();
        if matches!(words.next(), Some("search" | "domain")) && short == name {
            names.extend(words.map(|domain| format!("{short}.{domain}")));
        }
    }
    for line in hosts.lines().map(code) {
        let own = line.split_whitespace().skip(1).filter(|alias| {
            alias.strip_prefix(short).is_some_and(|domain| domain.starts_with('.'))
        });
        names.extend(own.map(str::to_owned));
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Returns what tells this start of this machine, and the processes that can be seen from here, from every
/// other: nothing that another machine or a container could have, too.
pub fn identity() -> String {
    static IDENTITY: LazyLock<String> = LazyLock::new(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let processes = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        format!("{} {} {}", name(), boot.trim(), processes.display())
    });
    IDENTITY.clone()
}

/// Returns the number of the user that this process is of.
pub fn user() -> u32 {
    rustix::process::getuid().as_raw()
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
    fn a_host_is_known_with_and_without_its_domain() {
        let resolver = "nameserver 10.0.0.1\nsearch lab.example example # ours\n";
        let hosts = "127.0.0.1 localhost\n10.0.0.7 login1.cluster login1 # login10.x\n";
        let names = |name: &str| names_of(name, resolver, hosts);
        let expected = ["login1", "login1.lab.example", "login1.example", "login1.cluster"];
        assert_eq!(names("login1"), expected);
        assert_eq!(names("login2.other.example"), ["login2.other.example", "login2"]);
    }

    #[test]
    fn the_processor_is_named_as_the_system_names_it() {
        let text = "processor\t: 0\nmodel name\t: Some  Processor @ 2.0GHz\nmodel name\t: other\n";
        assert_eq!(model_name(text).unwrap(), "Some Processor @ 2.0GHz");
        assert_eq!(model_name("processor\t: 0\n"), None);
    }
}
