//! Links the program at a fixed address where that is possible: every stage is a process of its own,
//! and to move all addresses in a program of this size takes half of its start. The program's own
//! code and constants are then at the same place in every process; its memory and libraries are not.

#![expect(clippy::disallowed_methods, reason = "nothing else tells a build script its target")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_static = target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if target("OS") == "linux" && target("ENV") == "gnu" && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
