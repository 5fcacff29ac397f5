//! Packs the program's relative relocations where the C library can read them: every stage is a
//! process of its own, and a table of 24 bytes for each address to move is read at every start.

#![expect(clippy::disallowed_methods, reason = "nothing else tells a build script its target")]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    if is_native && target("OS") == "linux" && target("ENV") == "gnu" && glibc() >= Some((2, 36)) {
        // Linkers that do not know the option say so and go on.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of the C library; 2.36 was the first to read packed relocations.
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let answer = String::from_utf8(answer.stdout).ok()?;
    let (major, minor) = answer.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
